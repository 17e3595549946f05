// SPDX-License-Identifier: Apache-2.0
// The embedded images: TERN_KERNELS_IMAGE is the path of a fatbin, TERN_KERNELS_LEGACY_IMAGE of a
// second, by an older nvcc.
#include "cuda/kernels/image.hpp"

#include "kernels_built.hpp"

#define TERN_EMBED(symbol, file)                                        \
  asm(".pushsection .rodata\n.balign 64\n" #symbol ":\n.incbin \"" file \
      "\"\n.byte 0\n.popsection\n");                                    \
  extern "C" [[gnu::visibility("hidden")]] const char symbol[]

#if defined(TERN_KERNELS_IMAGE)
TERN_EMBED(tern_kernels_image, TERN_KERNELS_IMAGE);
#endif
#if defined(TERN_KERNELS_LEGACY_IMAGE)
TERN_EMBED(tern_kernels_legacy_image, TERN_KERNELS_LEGACY_IMAGE);
#endif

namespace tern::cuda {

std::span<const KernelImage> embedded_kernels() noexcept {
#if defined(TERN_KERNELS_LEGACY_IMAGE)
  static const KernelImage images[] = {{tern_kernels_image, TERN_KERNELS_WORDS},
                                       {tern_kernels_legacy_image, TERN_KERNELS_LEGACY_WORDS}};
  return images;
#elif defined(TERN_KERNELS_IMAGE)
  static const KernelImage images[] = {{tern_kernels_image, TERN_KERNELS_WORDS}};
  return images;
#else
  return {};
#endif
}

std::string kernels_in_words() {
#if defined(TERN_KERNELS_LEGACY_IMAGE)
  return TERN_KERNELS_WORDS "; if these do not load, " TERN_KERNELS_LEGACY_WORDS;
#else
  return TERN_KERNELS_WORDS;
#endif
}

}  // namespace tern::cuda

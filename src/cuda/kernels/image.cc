// SPDX-License-Identifier: Apache-2.0
// The embedded image. TERN_KERNELS_IMAGE is the fatbin's path, where configure found nvcc.
#include "cuda/kernels/image.hpp"

#include "kernels_built.hpp"

#if defined(TERN_KERNELS_IMAGE)
asm(R"(
  .pushsection .rodata
  .balign 64
tern_kernels_image:
  .incbin ")" TERN_KERNELS_IMAGE R"("
  .byte 0
  .popsection
)");
extern "C" [[gnu::visibility("hidden")]] const char tern_kernels_image[];
#endif

namespace tern::cuda {

#if defined(TERN_KERNELS_IMAGE)
const void* embedded_kernels() noexcept { return tern_kernels_image; }
#else
const void* embedded_kernels() noexcept { return nullptr; }
#endif

std::string kernels_in_words() { return TERN_KERNELS_WORDS; }

}  // namespace tern::cuda

// SPDX-License-Identifier: Apache-2.0
// If the driver refuses the first kernel image, like a CUDA 13 image on sm_70, Tern loads the
// second and names the image with TERN_EXPLAIN. Other errors end the search.
// ranks: 2
// configurations: 4-peers
// env: TERN_EXPLAIN=1 TERN_GPU_ENGINE=kernel
// env: SOFTCUDA_FAULT=cuLibraryLoadData:1:209
// variant: ptx
//   env: TERN_EXPLAIN=1 TERN_GPU_ENGINE=kernel
//   env: SOFTCUDA_FAULT=cuLibraryLoadData:1:222
// variant: other
//   env: TERN_EXPLAIN=1 TERN_GPU_ENGINE=kernel
//   env: SOFTCUDA_FAULT=cuLibraryLoadData:1:2
//   args: none
#include <cstdlib>
#include <string>

#include "said.hpp"
#include "settings.hpp"
#include "stream.hpp"

using namespace tern::test;

int main(int argc, char** argv) {
  const char* const image = std::getenv("SOFTCUDA_KERNELS");
  if (image == nullptr) FAIL("SOFTCUDA_KERNELS is not set");
  set_for_test("cuda_kernels", std::string(image) + ":" + image);
  Heard heard;
  begin(&argc, &argv);
  start_cuda();
  {
    const OnStream on;
    check_allreduce(on, 1000);
  }
  const bool is_none = argc > 1;
  const bool ran = heard.has("by the kernel engine") || heard.has("by the push engine");
  if (rank == 0 && ran == is_none)
    FAIL("kernels ran: expected %s", is_none ? "none" : "those of the second image");
  if (rank == 0 && !is_none &&
      !heard.has("kernel image 2 (cuda_kernels in TERN_TEST), because the driver refused the "
                 "previous image: "))
    FAIL("the loaded image is not named");
  return end();
}

// SPDX-License-Identifier: Apache-2.0
// Pool memory makes Tern set CU_CTX_SYNC_MEMOPS. TERN_EXPLAIN names the flag once, and MPI_Finalize
// restores the flag, unless the program has set the flag.
// ranks: 2
// configurations: 1 2-apart
// env: TERN_EXPLAIN=1
// variant: reset
//   args: reset
#include "allocators.hpp"
#include "said.hpp"

using namespace tern::test;

extern "C" CUresult cuCtxGetFlags(unsigned* flags);
extern "C" CUresult cuCtxSetFlags(unsigned flags);
extern "C" CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);

namespace {

constexpr unsigned kSyncMemops = 0x80;
constexpr int kBytes = 100'000;

unsigned flags() {
  unsigned now = 0;
  CU(cuCtxGetFlags(&now));
  return now;
}

void exchange() {
  const Area out = default_pool(kBytes), in = default_pool(kBytes);
  for (int i = 0; i < 3; ++i)
    OK(MPI_Sendrecv(out.address(), kBytes, MPI_BYTE, 1 - rank, 0, in.address(), kBytes, MPI_BYTE,
                    1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

int flag_of_new_context_stays() {
  exchange();
  CUdevice device = 0;
  CU(cuCtxGetDevice(&device));
  CU(cuDevicePrimaryCtxReset_v2(device));
  CUcontext context = nullptr;
  CU(cuDevicePrimaryCtxRetain(&context, device));
  CU(cuCtxSetCurrent(context));
  CU(cuCtxSetFlags(kSyncMemops));
  OK(MPI_Finalize());
  if ((flags() & kSyncMemops) == 0) FAIL("the program's flag is gone: %#x", flags());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  if (argc > 1) return flag_of_new_context_stays();
  const bool own = rank == 1;
  if (own) CU(cuCtxSetFlags(flags() | kSyncMemops));
  const unsigned before = flags();
  {
    const Heard heard;
    exchange();
    const std::string said = heard.text();
    const size_t first = said.find("CU_CTX_SYNC_MEMOPS");
    if ((first == std::string::npos) != own) FAIL("rank %d says: %s", rank, said.c_str());
    if (!own && said.find("CU_CTX_SYNC_MEMOPS", first + 1) != std::string::npos)
      FAIL("the flag is named twice: %s", said.c_str());
  }
  if ((flags() & kSyncMemops) == 0) FAIL("the context is not synchronous");
  OK(MPI_Finalize());
  if (flags() != before) FAIL("the flags are %#x, before MPI %#x", flags(), before);
  return 0;
}

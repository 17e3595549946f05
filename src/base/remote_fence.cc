// SPDX-License-Identifier: Apache-2.0
#include "base/remote_fence.hpp"

#include <linux/membarrier.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tern {
namespace {

bool call(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

bool heeds_remote_fences() noexcept {
  static const bool heeds =
      __libc_single_threaded != 0 && call(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
  return heeds;
}

bool remote_fence() noexcept { return call(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }

}  // namespace tern

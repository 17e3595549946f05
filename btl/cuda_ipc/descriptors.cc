// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/descriptors.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace tern::btl::cuda_ipc {

Fd take_descriptor(int pid, int descriptor, std::string* why_not) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  Fd taken;
  if (process.valid())
    taken = Fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), descriptor, 0)));
  if (!taken.valid())
    *why_not = strf("its descriptor %d cannot be taken from process %d: %s", descriptor, pid,
                    std::strerror(errno));
  return taken;
}

}  // namespace tern::btl::cuda_ipc

// SPDX-License-Identifier: Apache-2.0
// Cma: system calls, repeated after short copies.
#include "btl/sm/cma.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/process_file.hpp"
#include "base/shared_file.hpp"

namespace tern::btl::sm {
namespace {

using CopyFunction = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                 unsigned long);
constexpr size_t kMostPieces = 1024;
constexpr size_t kMostBytes = 0x7ffff000;

struct Walk {
  const iovec* pieces;
  size_t count;
  size_t inside = 0;  // finished bytes of the first piece

  // window() returns the number of pieces.
  size_t window(iovec* window, size_t limit, size_t* bytes) const noexcept {
    size_t used = 0, skip = inside;
    *bytes = 0;
    for (size_t i = 0; i < count && used < kMostPieces && *bytes < limit; ++i, skip = 0) {
      const size_t length = std::min(pieces[i].iov_len - skip, limit - *bytes);
      if (length == 0) continue;
      window[used++] = {static_cast<char*>(pieces[i].iov_base) + skip, length};
      *bytes += length;
    }
    return used;
  }
  void advance(size_t bytes) noexcept {
    while (count > 0 && bytes >= pieces->iov_len - inside) {
      bytes -= pieces->iov_len - inside;
      inside = 0;
      ++pieces;
      --count;
    }
    inside += bytes;
  }
};

int copy(CopyFunction call, pid_t pid, const iovec* local, size_t locals, const iovec* remote,
         size_t remotes) noexcept {
  Walk here{local, locals}, there{remote, remotes};
  iovec near[kMostPieces], far[kMostPieces];
  bool by_later_thread = false;
  for (;;) {
    size_t near_bytes = 0, far_bytes = 0;
    const size_t near_count = here.window(near, kMostBytes, &near_bytes);
    const size_t far_count = there.window(far, kMostBytes, &far_bytes);
    if (near_count == 0 || far_count == 0) return 0;
    const ssize_t done = call(pid, near, near_count, far, far_count, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == ESRCH && !by_later_thread) {  // the first thread may have ended alone
      by_later_thread = true;
      const pid_t later = later_thread_of(pid);
      if (later == 0) return ESRCH;
      pid = later;
      continue;
    }
    if (done < 0) return errno;
    if (done == 0) return EFAULT;
    here.advance(static_cast<size_t>(done));
    there.advance(static_cast<size_t>(done));
  }
}

// A pair of single blocks needs no window.
int get_or_put(CopyFunction call, pid_t pid, const iovec* local, size_t locals, const iovec* remote,
               size_t remotes) noexcept {
  if (locals == 1 && remotes == 1) {
    const size_t bytes = std::min(local->iov_len, remote->iov_len);
    if (bytes <= kMostBytes && call(pid, local, 1, remote, 1, 0) == static_cast<ssize_t>(bytes))
      return 0;
  }
  return copy(call, pid, local, locals, remote, remotes);
}

}  // namespace

int cma_get(pid_t pid, const iovec* local, size_t locals, const iovec* remote,
            size_t remotes) noexcept {
  return get_or_put(::process_vm_readv, pid, local, locals, remote, remotes);
}

int cma_put(pid_t pid, const iovec* local, size_t locals, const iovec* remote,
            size_t remotes) noexcept {
  return get_or_put(::process_vm_writev, pid, local, locals, remote, remotes);
}

int cma_probe(pid_t pid, const void* address, unsigned long expected) noexcept {
  unsigned long word = ~expected;
  const iovec local{&word, sizeof word};
  const iovec remote{const_cast<void*>(address), sizeof word};
  const int error = cma_get(pid, &local, 1, &remote, 1);
  if (error != 0) return error;
  return word == expected ? 0 : ESRCH;  // another process has this pid
}

const char* cma_cure() noexcept {
  return needs_keeper()
             ? "a common user namespace for all ranks of the host, and a readable, dumpable program"
             : "allow ptrace among processes of one user (sysctl "
               "kernel.yama.ptrace_scope=0, docker --cap-add=SYS_PTRACE)";
}

void cma_allow(pid_t launcher) noexcept {
  if (launcher > 0) ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(launcher), 0, 0, 0);
}

}  // namespace tern::btl::sm

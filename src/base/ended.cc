// SPDX-License-Identifier: Apache-2.0
// has_ended: asks the kernel, and reads the state of a possible zombie.
#include "base/ended.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/fd.hpp"

namespace tern {

bool has_ended(pid_t pid) noexcept {
  if (pid <= 0) return false;
  if (::kill(pid, 0) != 0) return errno == ESRCH;
  char path[32], line[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t bytes = ::read(file.get(), line, sizeof line - 1);
  line[std::max<ssize_t>(bytes, 0)] = '\0';
  const char* name_end = std::strrchr(line, ')');
  char state = '\0';
  int threads = 0;
  // In proc_pid_stat(5) field 3 is the first thread's state, field 20 the number of threads. The
  // first thread may end before others (pthread_exit).
  if (name_end == nullptr ||
      std::sscanf(name_end + 1,
                  " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d", &state,
                  &threads) != 2)
    return false;
  return state == 'X' || (state == 'Z' && threads <= 1);
}

}  // namespace tern

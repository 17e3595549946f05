// SPDX-License-Identifier: Apache-2.0
// open_of_process: by /proc/PID/fd, or a later thread's.
#include "base/process_file.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace tern {
namespace {

class LaterThreads {
 public:
  explicit LaterThreads(pid_t pid) noexcept : pid_(pid) {
    char path[32];
    std::snprintf(path, sizeof path, "/proc/%d/task", pid);
    folder_ = ::opendir(path);
  }
  LaterThreads(const LaterThreads&) = delete;
  LaterThreads& operator=(const LaterThreads&) = delete;
  ~LaterThreads() {
    if (folder_ != nullptr) ::closedir(folder_);
  }
  pid_t next() noexcept {
    while (folder_ != nullptr) {
      const dirent* const entry = ::readdir(folder_);
      if (entry == nullptr) break;
      const pid_t thread = std::atoi(entry->d_name);
      if (thread > 0 && thread != pid_) return thread;
    }
    return 0;
  }

 private:
  const pid_t pid_;
  DIR* folder_ = nullptr;
};

}  // namespace

Fd open_of_process(pid_t pid, int fd, int flags) noexcept {
  flags |= O_CLOEXEC | O_NOCTTY;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
  const int found = ::open(path, flags);
  const int error = errno;
  if (found >= 0 || (error != ENOENT && error != EACCES)) return Fd(found);
  // After pthread_exit the first thread has no files; other threads still have them.
  LaterThreads threads(pid);
  while (const pid_t thread = threads.next()) {
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d", pid, thread, fd);
    if (const int other = ::open(path, flags); other >= 0) return Fd(other);
  }
  errno = error;
  return Fd(-1);
}

pid_t later_thread_of(pid_t pid) noexcept { return LaterThreads(pid).next(); }

}  // namespace tern

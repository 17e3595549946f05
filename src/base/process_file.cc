// SPDX-License-Identifier: Apache-2.0
// open_of_process: by /proc/PID/fd, or a later thread's, which has the same files.
#include "base/process_file.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <cstdio>

namespace tern {
namespace {

struct Folder {
  explicit Folder(const char* path) noexcept : open(::opendir(path)) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    if (open != nullptr) ::closedir(open);
  }
  DIR* const open;
};

}  // namespace

Fd open_of_process(pid_t pid, int fd, int flags) noexcept {
  flags |= O_CLOEXEC | O_NOCTTY;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
  const int found = ::open(path, flags);
  if (found >= 0 || errno != ENOENT) return Fd(found);
  // A first thread that has ended (pthread_exit) has no files any more; the others do.
  std::snprintf(path, sizeof path, "/proc/%d/task", pid);
  const Folder threads(path);
  while (threads.open != nullptr) {
    const dirent* const thread = ::readdir(threads.open);
    if (thread == nullptr) break;
    char file[320];
    std::snprintf(file, sizeof file, "%s/%s/fd/%d", path, thread->d_name, fd);
    if (const int other = ::open(file, flags); other >= 0) return Fd(other);
  }
  errno = ENOENT;
  return Fd(-1);
}

}  // namespace tern

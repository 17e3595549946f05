// SPDX-License-Identifier: Apache-2.0
#include "trace/claim.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::trace {
namespace {

Fd open_to_write(const std::string& path, const char* what) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666));
  if (!fd.valid())
    throw Error(MPI_ERR_ARG,
                strf("cannot write the %s %s: %s", what, path.c_str(), std::strerror(errno)));
  return fd;
}

/// Devices and pipes have any number of writers. Some file systems have no locks.
bool is_taken(const Fd& fd) noexcept {
  struct stat info {};
  return ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

Claim claim(const std::string& path, const char* what) {
  Claim made{open_to_write(path, what), path, {}};
  if (!is_taken(made.fd)) return made;
  const std::string own = strf("%s.%d", path.c_str(), ::getpid());
  return {open_to_write(own, what), own,
          strf("the %s %s is in use by another process; this one writes %s", what, path.c_str(),
               own.c_str())};
}

std::string write_profile(const Claim& claim, const std::string& text) {
  struct stat info {};
  bool good = ::fstat(claim.fd.get(), &info) == 0 &&
              (!S_ISREG(info.st_mode) || ::ftruncate(claim.fd.get(), 0) == 0);
  for (size_t at = 0; good && at < text.size();) {
    const ssize_t written = ::write(claim.fd.get(), text.data() + at, text.size() - at);
    if (written > 0) at += static_cast<size_t>(written);
    if (written < 0 && errno == EAGAIN) {  // a full pipe
      pollfd room{claim.fd.get(), POLLOUT, 0};
      good = ::poll(&room, 1, -1) > 0 || errno == EINTR;
    } else {
      good = written > 0 || errno == EINTR;
    }
  }
  if (good) return {};
  return strf("cannot write the profile %s: %s", claim.path.c_str(), std::strerror(errno));
}

}  // namespace tern::trace

// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/standard_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::mpirun {

Fd open_null() {
  Fd fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!fd.valid())
    throw Error(MPI_ERR_OTHER, strf("mpirun cannot open /dev/null: %s", std::strerror(errno)));
  return fd;
}

bool needs_feed(int fd) noexcept {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return false;
  return S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || ::isatty(fd) == 1;
}

Fd open_again(int fd) {
  Fd again(::open(strf("/proc/self/fd/%d", fd).c_str(), O_RDONLY | O_CLOEXEC));
  if (!again.valid())
    throw Error(MPI_ERR_OTHER, strf("--stdin all: mpirun cannot open its standard input again: %s",
                                    std::strerror(errno)));
  const off_t at = ::lseek(fd, 0, SEEK_CUR);
  if (at > 0) ::lseek(again.get(), at, SEEK_SET);
  return again;
}

}  // namespace tern::mpirun

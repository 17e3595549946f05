// SPDX-License-Identifier: Apache-2.0
// Shared memory files and their mappings.
#include "base/fd.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "base/error.hpp"
#include "base/last_words.hpp"
#include "mpi.h"

namespace tern {
namespace {

std::string memory_limits() {
  const int error = errno;
  char text[128];
  return error == ENOMEM ? memory_limits_in_words(text, sizeof text) : "";
}

/// ftruncate() that fails with EFBIG, without the signal that ends a process: ulimit -f counts
/// memory files, too.
int set_size(int fd, size_t bytes) noexcept {
  sigset_t limit, before, pending;
  ::sigemptyset(&limit);
  ::sigaddset(&limit, SIGXFSZ);
  ::sigpending(&pending);
  ::pthread_sigmask(SIG_BLOCK, &limit, &before);
  const int code = ::ftruncate(fd, static_cast<off_t>(bytes));
  const int error = errno;
  const timespec at_once{};
  if (code != 0 && ::sigismember(&pending, SIGXFSZ) == 0) ::sigtimedwait(&limit, nullptr, &at_once);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return code;
}

std::string file_limit() {
  rlimit limit{};
  if (errno != EFBIG || ::getrlimit(RLIMIT_FSIZE, &limit) != 0) return "";
  return strf(
      "; ulimit -f allows %llu KiB, and counts memory that ranks share, too: ulimit -f unlimited",
      static_cast<unsigned long long>(limit.rlim_cur / 1024));
}

}  // namespace

Mapping Mapping::shared(int fd, size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED)
    throw Error(MPI_ERR_NO_MEM, strf("cannot map %zu bytes of shared memory: %s%s", bytes,
                                     std::strerror(errno), memory_limits().c_str()));
  return {address, bytes};
}

Fd make_memfd(const char* name, size_t bytes) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid())
    throw Error(MPI_ERR_NO_MEM,
                strf("cannot create a shared memory file: %s", std::strerror(errno)));
  if (set_size(fd.get(), bytes) != 0)
    throw Error(MPI_ERR_NO_MEM, strf("cannot give a shared memory file %zu bytes: %s%s", bytes,
                                     std::strerror(errno), file_limit().c_str()));
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw Error(MPI_ERR_OTHER,
                strf("cannot seal the size of a shared memory file: %s", std::strerror(errno)));
  return fd;
}

bool has_sealed_size(int fd) noexcept {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

}  // namespace tern

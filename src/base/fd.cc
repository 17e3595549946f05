// SPDX-License-Identifier: Apache-2.0
#include "base/fd.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

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

/// Blocks SIGXFSZ, because ulimit -f also limits memory files.
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
  return strf("; ulimit -f allows %llu KiB, and also limits shared memory: ulimit -f unlimited",
              static_cast<unsigned long long>(limit.rlim_cur / 1024));
}

/// make_unlinked_in() sets errno and returns an invalid Fd on failure.
Fd make_unlinked_in(const std::string& folder, size_t bytes) noexcept {
  struct statvfs room {};
  if (::statvfs(folder.c_str(), &room) != 0) return Fd();
  if (uint64_t{room.f_bavail} * room.f_frsize < bytes) {
    errno = ENOSPC;
    return Fd();
  }
  Fd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600));
  if (fd.valid() || errno == EACCES || errno == EROFS || errno == ENOSPC) return fd;
  std::string name = folder + "/tern.XXXXXX";
  fd = Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (fd.valid()) ::unlink(name.c_str());
  return fd;
}

/// `refusal` is memfd_create's errno. The file needs free space for its whole size: a write to a
/// full file system ends the process (SIGBUS).
Fd make_unlinked(size_t bytes, int refusal) {
  const char* const named = std::getenv("TMPDIR");
  const std::string last = named != nullptr && *named == '/' ? named : "/tmp";
  std::string tried;
  for (const std::string& folder : {std::string("/dev/shm"), last}) {
    Fd fd = make_unlinked_in(folder, bytes);
    if (fd.valid()) return fd;
    tried += strf("%s%s: %s", tried.empty() ? "" : ", ", folder.c_str(), std::strerror(errno));
  }
  throw Error(MPI_ERR_NO_MEM,
              strf("cannot create a shared memory file of %zu bytes: memfd_create is refused (%s), "
                   "and no folder can hold the file (%s); allow memfd_create in the system call "
                   "filter (seccomp), or set TMPDIR to a folder with enough free space",
                   bytes, std::strerror(refusal), tried.c_str()));
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
  const int refusal = errno;
  const bool has_limit = !fd.valid() && (refusal == EMFILE || refusal == ENFILE);
  if (has_limit)
    throw Error(
        MPI_ERR_NO_MEM,
        strf(
            "cannot create a shared memory file: %s; ulimit -n limits the descriptors of a process",
            std::strerror(refusal)));
  const bool can_seal = fd.valid();
  if (!can_seal) fd = make_unlinked(bytes, refusal);
  if (set_size(fd.get(), bytes) != 0)
    throw Error(MPI_ERR_NO_MEM, strf("cannot give a shared memory file %zu bytes: %s%s", bytes,
                                     std::strerror(errno), file_limit().c_str()));
  if (can_seal && ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw Error(MPI_ERR_OTHER,
                strf("cannot seal the size of a shared memory file: %s", std::strerror(errno)));
  return fd;
}

// has_fixed_size() accepts sealed files, and nameless files, which no other user can shrink.
bool has_fixed_size(int fd) noexcept {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0) return true;
  struct stat about {};
  return ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 0 &&
         about.st_uid == ::geteuid() && (about.st_mode & 077) == 0;
}

}  // namespace tern

// SPDX-License-Identifier: Apache-2.0
// Shared memory files and their mappings.
#include "base/fd.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

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
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    throw Error(MPI_ERR_NO_MEM, strf("cannot give a shared memory file %zu bytes: %s", bytes,
                                     std::strerror(errno)));
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

// SPDX-License-Identifier: Apache-2.0
// Shared memory files and their mappings.
#include "base/fd.hpp"

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern {

Mapping Mapping::shared(int fd, size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED)
    throw Error(MPI_ERR_NO_MEM,
                strf("cannot map %zu bytes of shared memory: %s", bytes, std::strerror(errno)));
  return {address, bytes};
}

Fd make_memfd(const char* name, size_t bytes) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd.valid())
    throw Error(MPI_ERR_NO_MEM,
                strf("cannot create a shared memory file: %s", std::strerror(errno)));
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    throw Error(MPI_ERR_NO_MEM, strf("cannot give a shared memory file %zu bytes: %s", bytes,
                                     std::strerror(errno)));
  return fd;
}

}  // namespace tern

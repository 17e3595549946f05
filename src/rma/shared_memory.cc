// SPDX-License-Identifier: Apache-2.0
#include "rma/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "mpi.h"
#include "rma/control.hpp"

namespace tern::rma {
namespace {

constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;
constexpr uint64_t kMost = uint64_t{1} << 46;

size_t up(size_t bytes, size_t to) noexcept { return (bytes + to - 1) & ~(to - 1); }

}  // namespace

Plan::Plan(const std::vector<int64_t>& sizes, int ranks, bool contiguous, size_t alignment,
           size_t behind)
    : control_bytes_(Control::bytes_for(static_cast<size_t>(ranks)) + behind) {
  alignment = std::max(alignment, kPage);
  uint64_t next = up(control_bytes_ * sizes.size(), alignment);
  for (const int64_t size : sizes) {
    const auto bytes = static_cast<uint64_t>(size);
    if (bytes > kMost || next > kMost)
      throw Error(MPI_ERR_NO_MEM, "the window is larger than the address space of a process");
    if (!contiguous || places_.empty())
      next = up(next, bytes >= kHugePage ? std::max(alignment, kHugePage) : alignment);
    places_.push_back(next);
    next += bytes;
  }
  end_ = up(next, kPage);
}

MadeFile make_shared(size_t bytes, OfferedFile::Keep keep) {
  Fd fd = make_memfd("tern-window", bytes);
  OfferedFile offered(fd, keep);
  return {std::move(fd), std::move(offered)};
}

Mapping map_shared(const Fd& fd, size_t bytes) { return Mapping::shared(fd.get(), bytes); }

Mapping map_shared(const FileOffer& offer, int owner, size_t bytes) {
  const FoundFile found = open_offered(offer, O_RDWR);
  struct stat status {};
  if (!found.valid())
    throw Error(MPI_ERR_OTHER,
                strf("cannot map the window memory of rank %d (%s)", owner, found.why.c_str()));
  const Fd& fd = found.descriptors.front();
  if (::fstat(fd.get(), &status) != 0 || static_cast<uint64_t>(status.st_size) != bytes ||
      !has_fixed_size(fd.get()))
    throw Error(MPI_ERR_OTHER,
                strf("descriptor %d of process %d is not the window memory of rank %d", offer.fd,
                     offer.pid, owner));
  return map_shared(fd, bytes);
}

void advise(std::byte* memory, size_t bytes) noexcept {
  if (bytes >= kHugePage) (void)::madvise(memory, bytes, MADV_HUGEPAGE);
}

}  // namespace tern::rma

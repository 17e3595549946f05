// SPDX-License-Identifier: Apache-2.0
// Segment: creating and attaching.
#include "btl/sm/segment.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "base/ended.hpp"
#include "base/error.hpp"
#include "mpi.h"

namespace tern::btl::sm {
namespace {

constexpr uint64_t kMagic = 0x7465726e2d736d36;
constexpr size_t kPage = 4096;

size_t page_up(size_t bytes) noexcept { return (bytes + kPage - 1) & ~(kPage - 1); }

size_t bytes_of(const Shape& shape, core::Slabs::Size size) noexcept {
  return shape.all_slabs(size) * core::Slabs::bytes_of(size);
}

struct Offsets {
  size_t controls, claims, flags, rings, blocks, stranger_controls, stranger_rings, end;
  std::array<size_t, core::Slabs::kSizes> slabs;
  explicit Offsets(const Shape& shape) noexcept {
    controls = page_up(sizeof(SegmentHead));
    claims = controls + shape.all_rings() * sizeof(RingControl);
    flags = claims + shape.all_claims() * sizeof(SharedClaims);
    rings = page_up(flags + shape.all_blocks() * sizeof(BlockFlag));
    blocks = page_up(rings + size_t{shape.all_rings()} * shape.ring_lines * sizeof(Line));
    end = blocks + size_t{shape.all_blocks()} * kBlockBytes;
    for (size_t size = 0; size < slabs.size(); ++size) {
      slabs[size] = end;
      end = page_up(end + bytes_of(shape, static_cast<core::Slabs::Size>(size)));
    }
    const size_t strangers = size_t{shape.channels} * shape.stranger_rings();
    stranger_controls = end;
    stranger_rings = page_up(stranger_controls + strangers * sizeof(RingControl));
    end = page_up(stranger_rings + strangers * shape.ring_lines * sizeof(Line));
  }
};

/// A process without open files is dying, or /proc denies the list.
bool has_files(pid_t pid) {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/" + std::to_string(pid) + "/fd", error);
  return !error && files != std::filesystem::directory_iterator();
}

/// The caller waits 200 ms for a possibly dying process, to let the launcher report the cause
/// first.
bool ends_within_a_moment(pid_t pid) {
  constexpr int kLooks = 40;
  constexpr useconds_t kPause = 5000;
  bool ended = false;
  if (pid <= 0) return false;
  for (int look = 0; look < kLooks; ++look) {
    ended = ended || has_ended(pid);
    if (!ended && has_files(pid)) return false;
    ::usleep(kPause);
  }
  return ended;
}

Fd open_of_rank(const SmAddress& address, uint32_t rank) {
  FoundFile found = open_offered(address, O_RDWR);
  struct stat status {};
  if (!found.valid() && (found.error == EMFILE || found.error == ENFILE))
    throw Error(MPI_ERR_NO_MEM, strf("cannot attach the shared memory of rank %u: %s; ulimit -n "
                                     "shows the limit of a process",
                                     rank, std::strerror(found.error)));
  if (!found.valid() && ends_within_a_moment(address.pid_here()))
    throw Error(MPI_ERR_PROC_ABORTED,
                strf("rank %u (pid %d) has ended without MPI_Finalize", rank, address.pid));
  if (!found.valid())
    throw Error(MPI_ERR_OTHER,
                strf("cannot attach the shared memory of rank %u (%s); ranks of one host must run "
                     "as the same user, and see each other's processes (one PID and user "
                     "namespace), share a network namespace, or be started by Tern's mpirun",
                     rank, found.why.c_str()));
  Fd fd = std::move(found.descriptors.front());
  if (::fstat(fd.get(), &status) != 0 || static_cast<uint64_t>(status.st_size) < address.bytes ||
      address.bytes < sizeof(SegmentHead) || !has_fixed_size(fd.get()))
    throw Error(MPI_ERR_OTHER,
                strf("descriptor %d of process %d is not the shared memory that rank %u announced",
                     address.fd, address.pid, rank));
  return fd;
}

}  // namespace

size_t Shape::bytes() const noexcept { return Offsets(*this).end; }

size_t Shape::world_bytes() const noexcept { return Offsets(*this).stranger_controls; }

// A bound on the sizes prevents overflow; masks need powers of two.
bool Shape::sensible() const noexcept {
  constexpr uint32_t kMost = 1 << 20;
  return channels > 0 && channels <= kMostChannels && (channels & (channels - 1)) == 0 &&
         rings <= kMost && blocks <= kMost && ring_lines > 0 && ring_lines <= kMost &&
         (ring_lines & (ring_lines - 1)) == 0;
}

void Segment::lay_out(const Shape& shape) noexcept {
  const Offsets offsets(shape);
  shape_ = shape;
  controls_ = offsets.controls;
  claims_ = offsets.claims;
  flags_ = offsets.flags;
  rings_ = offsets.rings;
  blocks_ = offsets.blocks;
  slabs_ = offsets.slabs;
  stranger_controls_ = offsets.stranger_controls;
  stranger_rings_ = offsets.stranger_rings;
}

Segment Segment::create(const Shape& shape, uint32_t rank) {
  Segment segment;
  segment.fd_ = make_memfd("tern", shape.bytes());
  segment.offered_ = OfferedFile(segment.fd_, OfferedFile::Keep::kYes);
  segment.map_ = Mapping::shared(segment.fd_.get(), shape.bytes());
  segment.base_ = segment.map_.data();
  segment.lay_out(shape);
  SegmentHead& head = segment.head();
  head.channels = shape.channels;
  head.rings = shape.rings;
  head.ring_lines = shape.ring_lines;
  head.blocks = shape.blocks;
  head.rank = rank;
  head.magic = kMagic;
  return segment;
}

SmAddress Segment::address() const noexcept {
  return {offered_.offer(), shape_.world_bytes(), reinterpret_cast<uint64_t>(base_)};
}

Segment Segment::attach(const SmAddress& address, uint32_t rank, Part part) {
  Fd fd = open_of_rank(address, rank);
  Segment segment;
  if (address.is_own_process()) {
    segment.base_ = reinterpret_cast<std::byte*>(address.base);
  } else {
    segment.map_ = Mapping::shared(fd.get(), address.bytes);  // the mapping outlives the descriptor
    segment.base_ = segment.map_.data();
  }
  const SegmentHead& head = segment.head();
  const Shape shape{head.channels, head.rings, head.ring_lines, head.blocks};
  if (head.magic != kMagic || head.rank != rank || !shape.sensible() ||
      shape.world_bytes() != address.bytes)
    throw Error(MPI_ERR_OTHER,
                strf("the shared memory of rank %u is of another version of Tern", rank));
  if (part == Part::kWhole && !address.is_own_process()) {
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 || static_cast<size_t>(status.st_size) < shape.bytes())
      throw Error(MPI_ERR_OTHER,
                  strf("the shared memory of rank %u is too small for other worlds", rank));
    segment.map_ = Mapping::shared(fd.get(), shape.bytes());
    segment.base_ = segment.map_.data();
  }
  segment.lay_out(shape);
  return segment;
}

}  // namespace tern::btl::sm

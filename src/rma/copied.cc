// SPDX-License-Identifier: Apache-2.0
#include "rma/copied.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "btl/sm/cma.hpp"
#include "mpi.h"
#include "rma/path.hpp"

namespace tern::rma {
namespace {

using Call = int (*)(pid_t, const iovec*, size_t, const iovec*, size_t) noexcept;
constexpr size_t kMostPieces = 64, kStaged = 65536;

/// Each call copies as many bytes as the shorter list covers.
int copy_pieces(Call call, const core::Data& here, const TargetData& at, std::byte* address,
                int32_t pid) noexcept {
  iovec near[kMostPieces], far[kMostPieces];
  size_t near_bytes = 0, far_bytes = 0;
  for (size_t done = 0, total = here.bytes(); done < total; done += near_bytes) {
    const size_t far_count =
        at.type->pieces(address, at.count, done, total - done, far, kMostPieces, &far_bytes);
    const size_t near_count = here.type->pieces(here.address, here.count, done, far_bytes, near,
                                                kMostPieces, &near_bytes);
    const int error = call(pid, near, near_count, far, far_count);
    if (error != 0) return fail_copy(pid, error);
  }
  return MPI_SUCCESS;
}

int copy_host(Call call, const core::Data& here, const TargetData& at, std::byte* address,
              int32_t pid) noexcept {
  if (!here.type->contiguous() || !at.type->contiguous())
    return copy_pieces(call, here, at, address, pid);
  const iovec near{here.first(), here.bytes()}, far{address + at.type->true_lb(), near.iov_len};
  const int error = call(pid, &near, 1, &far, 1);
  return error == 0 ? MPI_SUCCESS : fail_copy(pid, error);
}

int copy_staged(Call call, std::byte* room, size_t bytes, const TargetData& at, size_t done,
                std::byte* address, int32_t pid) noexcept {
  iovec far[kMostPieces];
  for (size_t inside = 0, covered = 0; inside < bytes; inside += covered) {
    const size_t count = at.type->pieces(address, at.count, done + inside, bytes - inside, far,
                                         kMostPieces, &covered);
    const iovec near{room + inside, covered};
    const int error = call(pid, &near, 1, far, count);
    if (error != 0) return fail_copy(pid, error);
  }
  return MPI_SUCCESS;
}

}  // namespace

int try_copies(const Probe& probe) noexcept {
  uint64_t word = ~probe.word;
  const iovec near{&word, sizeof word}, far{reinterpret_cast<void*>(probe.address), sizeof word};
  const int error = btl::sm::cma_get(probe.pid, &near, 1, &far, 1);
  if (error != 0) return error;
  if (word != probe.word) return ESRCH;  // the pid now belongs to another process
  return btl::sm::cma_put(probe.pid, &near, 1, &far, 1);
}

int try_own_memory(const void* memory, size_t bytes) noexcept {
  if (bytes == 0) return 0;
  auto* const first = static_cast<std::byte*>(const_cast<void*>(memory));
  std::byte ends[2];
  const iovec near{ends, sizeof ends}, far[]{{first, 1}, {first + bytes - 1, 1}};
  return btl::sm::cma_get(::getpid(), &near, 1, far, 2);
}

int copy_there(core::Process& process, const core::Data& from, const TargetData& to,
               std::byte* address, int32_t pid) {
  const core::Data here = core::with_kind(from);
  if (TERN_LIKELY(!here.on_device())) return copy_host(btl::sm::cma_put, here, to, address, pid);
  const size_t total = here.bytes();
  std::vector<std::byte> room(std::min(total, kStaged));
  int code = MPI_SUCCESS;
  for (size_t done = 0, bytes = 0; done < total && code == MPI_SUCCESS; done += bytes) {
    bytes = std::min(room.size(), total - done);
    code = fail(core::pack(process, here, done, room.data(), bytes));
    if (code == MPI_SUCCESS)
      code = copy_staged(btl::sm::cma_put, room.data(), bytes, to, done, address, pid);
  }
  return code;
}

int copy_from_there(core::Process& process, const TargetData& from, std::byte* address, int32_t pid,
                    const core::Data& to) {
  const core::Data here = core::with_kind(to);
  if (TERN_LIKELY(!here.on_device())) return copy_host(btl::sm::cma_get, here, from, address, pid);
  const size_t total = here.bytes();
  std::vector<std::byte> room(std::min(total, kStaged));
  int code = MPI_SUCCESS;
  for (size_t done = 0, bytes = 0; done < total && code == MPI_SUCCESS; done += bytes) {
    bytes = std::min(room.size(), total - done);
    code = copy_staged(btl::sm::cma_get, room.data(), bytes, from, done, address, pid);
    if (code == MPI_SUCCESS) code = fail(core::unpack(process, here, done, room.data(), bytes));
  }
  return code;
}

int fail_copy(int32_t pid, int error) noexcept {
  return fail(MPI_ERR_OTHER, "the kernel does not copy memory of the target's process (pid %d): %s",
              pid, std::strerror(error));
}

}  // namespace tern::rma

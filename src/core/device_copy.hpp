// SPDX-License-Identifier: Apache-2.0
// Packs, unpacks and copies data in host and device memory.
#pragma once

#include <cstddef>
#include <vector>

#include "base/error.hpp"
#include "core/data.hpp"
#include "cuda/device.hpp"
#include "mpi.h"

namespace tern::core {

class Op;
class Process;

/// begin_job() orders the job after the application's writes. The job is invalid, with *why, if the
/// device is unusable.
[[nodiscard]] cuda::Job begin_job(Process& process, const void* address, Failure* why) noexcept;
[[nodiscard]] cuda::Job begin_job(Process& process, const Data& data, Failure* why,
                                  cuda::Memory* found = nullptr) noexcept;

/// pack() and unpack() handle the packed bytes [offset, offset + bytes); the block is in any
/// memory.
void pack(cuda::Job& job, const Data& data, size_t offset, void* out, size_t bytes) noexcept;
void unpack(cuda::Job& job, const Data& data, size_t offset, const void* in, size_t bytes) noexcept;

void copy(cuda::Job& job, const Data& from, const Data& to) noexcept;

/// pack() and unpack() without a job are complete on return. An unknown kind costs a lookup.
[[nodiscard]] Failure pack(Process& process, const Data& data, size_t offset, void* out,
                           size_t bytes,
                           cuda::MemoryKind block_kind = cuda::MemoryKind::kUnknown) noexcept;
[[nodiscard]] Failure unpack(Process& process, const Data& data, size_t offset, const void* in,
                             size_t bytes,
                             cuda::MemoryKind block_kind = cuda::MemoryKind::kUnknown) noexcept;
[[nodiscard]] Failure copy(Process& process, const Data& from, const Data& to) noexcept;
void copy_on_host(const Data& from, const Data& to) noexcept;

class OnHost {
 public:
  OnHost(Process& process, const Data& data);
  [[nodiscard]] Failure download() noexcept;
  [[nodiscard]] Failure upload() noexcept;
  [[nodiscard]] const Data& here() const noexcept { return here_; }

 private:
  Process& process_;
  const Data of_;
  Data here_;
  std::vector<std::byte> memory_;
};

/// same_data() compares memory and order, because addresses alone do not tell (MPI_BOTTOM).
[[nodiscard]] bool same_data(const Data& one, const Data& other) noexcept;

/// DeviceWork is asynchronous device work, polled by progress, so calls driving a collective do not
/// block.
/// Lifetime: one step of a schedule. The destructor waits.
class DeviceWork {
 public:
  explicit DeviceWork(Process& process) noexcept : process_(process) {}
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;
  /// copy() and reduce() start after earlier work, and return false, with nothing started, if no
  /// device can do the work alone.
  [[nodiscard]] bool copy(const Data& from, const Data& to) noexcept;
  [[nodiscard]] bool reduce(const Op& op, const Data* sources, int n, const Data& to) noexcept;
  [[nodiscard]] bool done() noexcept { return job_.done(); }
  [[nodiscard]] Failure finish() noexcept;
  [[nodiscard]] const char* what() const noexcept { return what_; }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

 private:
  [[nodiscard]] bool open(const Data& data) noexcept;
  [[nodiscard]] bool find_operands(const Data* sources, int n, const void** addresses) noexcept;
  void note(const char* what, size_t bytes) noexcept;

  Process& process_;
  std::vector<cuda::Block> blocks_;
  cuda::Job job_;
  Failure no_job_;
  const char* what_ = "";
  size_t bytes_ = 0;
};

/// to = sources[0] (op) (sources[1] (op) ...), up to cuda::kMostSources; the last may be `to`.
/// Types as in Op::apply. The host reduces, with one warning, if no kernel can.
[[nodiscard]] Failure reduce(Process& process, const Op& op, const Data* sources, int n,
                             const Data& to) noexcept;

}  // namespace tern::core

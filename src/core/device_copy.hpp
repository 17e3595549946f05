// SPDX-License-Identifier: Apache-2.0
// Packing, unpacking and copying of data wherever it lies.
// Why: a buffer of any call may be a device's, of any datatype; the layers above do not ask which
// copy it takes.
// Threads: any. See: core/datatype.hpp (host memory), cuda/device.hpp (Job),
// tests/gpu/mpi/pt2pt_kinds.cc, coll_kinds.cc.
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

/// A job on the device with the memory at `address`, ordered behind the application's writes to the
/// allocation; not valid, with *why, where the device or its memory cannot be used.
[[nodiscard]] cuda::Job begin_job(Process& process, const void* address, Failure* why) noexcept;
/// The same for all allocations of the data. *found: what is known of the first, where that is
/// asked for.
[[nodiscard]] cuda::Job begin_job(Process& process, const Data& data, Failure* why,
                                  cuda::Memory* found = nullptr) noexcept;

/// Begins to copy the bytes [offset, offset + bytes) of the packed form of data to or from a block,
/// which is of any memory.
void pack(cuda::Job& job, const Data& data, size_t offset, void* out, size_t bytes) noexcept;
void unpack(cuda::Job& job, const Data& data, size_t offset, const void* in, size_t bytes) noexcept;

/// Begins to copy; device memory on at least one side.
void copy(cuda::Job& job, const Data& from, const Data& to) noexcept;

/// The same, done on return, of data and blocks in any memory; kinds need not be known, but asking
/// costs.
[[nodiscard]] Failure pack(Process& process, const Data& data, size_t offset, void* out,
                           size_t bytes,
                           cuda::MemoryKind block_kind = cuda::MemoryKind::kUnknown) noexcept;
[[nodiscard]] Failure unpack(Process& process, const Data& data, size_t offset, const void* in,
                             size_t bytes,
                             cuda::MemoryKind block_kind = cuda::MemoryKind::kUnknown) noexcept;
/// The bytes of `from` into the layout of `to`, which has room for them.
[[nodiscard]] Failure copy(Process& process, const Data& from, const Data& to) noexcept;
/// The same of host memory.
void copy_on_host(const Data& from, const Data& to) noexcept;

/// A copy of data in host memory, laid out as its type says; the data itself if it is the host's.
/// A download goes from the device to the host, an upload back.
class OnHost {
 public:
  /// Throws std::bad_alloc. Nothing is copied yet.
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

/// The same memory in the same order. One address alone says nothing: types of absolute addresses
/// all count from MPI_BOTTOM, and those of one array from its begin.
[[nodiscard]] bool same_data(const Data& one, const Data& other) noexcept;

/// What was begun on a device and goes on by itself: asked by progress, and no call waits for it.
/// Why: a call that moves a collective on must not stand still while a device works for one step.
/// Lifetime: of one step of a schedule; waits for what is under way when it goes.
class DeviceWork {
 public:
  explicit DeviceWork(Process& process) noexcept : process_(process) {}
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;
  /// Begin to copy or to reduce, as the functions of these names do; what was begun before comes
  /// first. False where no device can do it alone: then nothing was begun.
  [[nodiscard]] bool copy(const Data& from, const Data& to) noexcept;
  [[nodiscard]] bool reduce(const Op& op, const Data* sources, int n, const Data& to) noexcept;
  [[nodiscard]] bool done() noexcept { return job_.done(); }
  /// Waits where it is not done.
  [[nodiscard]] Failure finish() noexcept;
  /// "copying" or "reducing", and so many bytes.
  [[nodiscard]] const char* what() const noexcept { return what_; }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

 private:
  [[nodiscard]] bool open(const Data& data) noexcept;
  [[nodiscard]] bool find_operands(const Data* sources, int n, const void** addresses) noexcept;
  void note(const char* what, size_t bytes) noexcept;

  Process& process_;
  std::vector<cuda::Block> blocks_;
  cuda::Job job_;  // ends before its blocks are given back
  Failure no_job_;
  const char* what_ = "";
  size_t bytes_ = 0;
};

/// to = sources[0] (op) (sources[1] (op) ...) element by element, of up to cuda::kMostSources, of
/// which the last may be `to`; the types as in Op::apply. By a kernel where the result lies on a
/// device and kernels know operation and type; else on the host, which is said once.
[[nodiscard]] Failure reduce(Process& process, const Op& op, const Data* sources, int n,
                             const Data& to) noexcept;

}  // namespace tern::core

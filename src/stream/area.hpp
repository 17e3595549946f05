// SPDX-License-Identifier: Apache-2.0
// Area: a buffer of an enqueued operation as packed bytes. The stream moves device memory, the CPU
// host memory.
// Why: the host's operations run on pinned memory, for any layout and memory kind.
// Lifetime: a Call's. Threads: copy_* by the caller; take and give by the proxy, or by the caller
// without a stream.
#pragma once

#include <memory>

#include "core/datatype_device.hpp"
#include "core/device_copy.hpp"
#include "core/object.hpp"
#include "stream/track.hpp"

namespace tern::stream {

class Area {
 public:
  Area() = default;
  /// With a null `stream`, the caller moves all data. Throws Error if the stream cannot move the
  /// buffer.
  Area(core::Process& process, const Stream* stream, void* address, MPI_Count count,
       core::Datatype& type);

  [[nodiscard]] size_t bytes() const noexcept { return there() ? data_.bytes() : 0; }
  [[nodiscard]] bool there() const noexcept { return data_.type != nullptr; }
  [[nodiscard]] bool by_stream() const noexcept { return by_stream_; }
  [[nodiscard]] const core::Data& data() const noexcept { return data_; }

  /// The stream copies device memory; copy_in() and copy_out() ignore host memory.
  void copy_in(Track& track, size_t offset, std::byte* to, size_t bytes) const noexcept {
    if (by_stream_) track.pack(data_, offset, to, bytes);
  }
  void copy_out(Track& track, size_t offset, const std::byte* from, size_t bytes) const noexcept {
    if (by_stream_) track.unpack(data_, offset, from, bytes);
  }
  /// The CPU copies host memory; take() and give() ignore data that the stream moves.
  [[nodiscard]] int take(size_t offset, std::byte* to, size_t bytes) const noexcept;
  [[nodiscard]] int give(size_t offset, const std::byte* from, size_t bytes) const noexcept;

 private:
  core::Data data_;
  core::Ref<core::Datatype> type_;
  std::shared_ptr<const cuda::LayoutProgram> program_;
  core::Process* process_ = nullptr;
  bool by_stream_ = false;
};

}  // namespace tern::stream

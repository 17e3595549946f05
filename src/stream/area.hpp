// SPDX-License-Identifier: Apache-2.0
// Area: one buffer of an enqueued operation, as the bytes of its packed form; moved by the stream
// where it is a device's, by the processor where it is the host's.
// Why: a collective or message is done on pinned memory, whatever the program's layout and memory.
// Lifetime: of a Call; its type is kept. Threads: copy_* in the caller's, take and give in that of
// the proxy, or in the caller's where there is no stream.
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
  /// `stream` null: all is done by the caller, wherever it lies. Throws Error: the stream cannot
  /// move it.
  Area(core::Process& process, const Stream* stream, void* address, MPI_Count count,
       core::Datatype& type);

  [[nodiscard]] size_t bytes() const noexcept { return there() ? data_.bytes() : 0; }
  [[nodiscard]] bool there() const noexcept { return data_.type != nullptr; }
  [[nodiscard]] bool by_stream() const noexcept { return by_stream_; }
  [[nodiscard]] const core::Data& data() const noexcept { return data_; }

  /// By the stream: nothing where that does not move it.
  void copy_in(Track& track, size_t offset, std::byte* to, size_t bytes) const noexcept {
    if (by_stream_) track.pack(data_, offset, to, bytes);
  }
  void copy_out(Track& track, size_t offset, const std::byte* from, size_t bytes) const noexcept {
    if (by_stream_) track.unpack(data_, offset, from, bytes);
  }
  /// By the processor: nothing where the stream moves it. An error class with fail() text.
  [[nodiscard]] int take(size_t offset, std::byte* to, size_t bytes) const noexcept;
  [[nodiscard]] int give(size_t offset, const std::byte* from, size_t bytes) const noexcept;

 private:
  core::Data data_;
  core::Ref<core::Datatype> type_;
  std::shared_ptr<const cuda::LayoutProgram> program_;  // in use as long as a graph may use it
  core::Process* process_ = nullptr;
  bool by_stream_ = false;
};

}  // namespace tern::stream

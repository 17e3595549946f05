// SPDX-License-Identifier: Apache-2.0
// Stream: what MPIX_Stream_create makes: a stream of a GPU, and the device that it belongs to.
// Why: the driver tells a stream's context, not the device and what it can do; that is asked once.
// Lifetime: reference counted: the user's handle, and the communicators made with it. The driver's
// stream is the program's own, and outlives them. Threads: immutable.
// See: man3/MPIX_Stream_create, src/stream/README.md.
#pragma once

#include "core/datatype.hpp"
#include "core/object.hpp"
#include "core/process.hpp"
#include "cuda/device.hpp"

namespace tern::stream {

class Stream final : public core::Object {
 public:
  static constexpr core::Kind kKind = core::Kind::kStream;
  /// Null device: a stream of the host, whose operations are done when their call returns.
  Stream(cuda::Device* device, CUstream queue) noexcept
      : Object(kKind), device_(device), queue_(queue) {}

  [[nodiscard]] bool on_gpu() const noexcept { return device_ != nullptr; }
  [[nodiscard]] cuda::Device& device() const noexcept { return *device_; }
  /// The driver's.
  [[nodiscard]] CUstream queue() const noexcept { return queue_; }

 private:
  cuda::Device* const device_;
  const CUstream queue_;
};

/// Of the program's stream: *made has the only reference. An error class with fail() text where the
/// stream cannot be used.
[[nodiscard]] int make_stream(core::Process& process, CUstream queue,
                              core::Ref<Stream>* made) noexcept;

/// Allocates device memory for pack kernels of one type, or of all committed types. May wait for
/// the device; does nothing while enqueued calls may wait for other ranks.
void prepare_type(cuda::Device& device, const core::Datatype& type) noexcept;
void prepare_types(core::Process& process, cuda::Device& device) noexcept;

/// What a stream records its work in, instead of doing it.
struct Capture {
  bool active = false;
  bool broken = false;   // nothing can be recorded in it any more
  bool unknown = false;  // the driver does not say: taken for broken
  uint64_t id = 0;
  CUgraph graph = nullptr;
};
[[nodiscard]] Capture capture_of(const Stream& stream) noexcept;

}  // namespace tern::stream

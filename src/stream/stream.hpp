// SPDX-License-Identifier: Apache-2.0
// Stream: the object of MPIX_Stream_create: a GPU stream and its device.
// Why: the driver does not report a stream's device and features, so one look-up keeps both.
// Lifetime: reference counted by the user's handle and by communicators. The driver's stream is the
// program's, and outlives both. Threads: immutable.
#pragma once

#include "core/datatype.hpp"
#include "core/object.hpp"
#include "core/process.hpp"
#include "cuda/device.hpp"

namespace tern::stream {

class Stream final : public core::Object {
 public:
  static constexpr core::Kind kKind = core::Kind::kStream;
  /// With a null device, the stream is the host's, and operations are complete on return.
  Stream(cuda::Device* device, CUstream queue) noexcept
      : Object(kKind), device_(device), queue_(queue) {}

  [[nodiscard]] bool on_gpu() const noexcept { return device_ != nullptr; }
  [[nodiscard]] cuda::Device& device() const noexcept { return *device_; }
  [[nodiscard]] CUstream queue() const noexcept { return queue_; }

 private:
  cuda::Device* const device_;
  const CUstream queue_;
};

/// *made has the only reference.
[[nodiscard]] int make_stream(core::Process& process, CUstream queue,
                              core::Ref<Stream>* made) noexcept;

/// prepare_type() allocates device memory for pack kernels of a type, prepare_types() of all
/// committed types. The calls may wait for the device, and do nothing while enqueued calls may wait
/// for other ranks.
void prepare_type(cuda::Device& device, const core::Datatype& type) noexcept;
void prepare_types(core::Process& process, cuda::Device& device) noexcept;

struct Capture {
  bool active = false;
  bool broken = false;   // nothing more can be recorded
  bool unknown = false;  // the driver does not say; implies broken
  uint64_t id = 0;
  CUgraph graph = nullptr;
};
[[nodiscard]] Capture capture_of(const Stream& stream) noexcept;

}  // namespace tern::stream

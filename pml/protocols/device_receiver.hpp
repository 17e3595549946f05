// SPDX-License-Identifier: Apache-2.0
// DeviceReceiver: base of the protocols "device mapped" and "device pieces": the receiver's device
// copies from mapped memory into any layout.
#pragma once

#include <memory>
#include <string>

#include "core/device_copy.hpp"
#include "pml/protocol.hpp"
#include "pml/protocols/awake.hpp"
#include "pml/requests.hpp"

namespace tern::pml {

/// Whether the application's early writes end within 2 ms.
[[nodiscard]] bool ends_soon(cuda::Job& job) noexcept;

class DeviceReceiver : public ReceiverHalf {
 public:
  DeviceReceiver(ProtocolContext& context, RecvRequest& request) noexcept
      : context_(context), request_(request) {}
  HalfStep advance() noexcept final;

 protected:
  [[nodiscard]] bool map(const btl::MemoryHandle& handle) noexcept;
  void take(size_t offset, const std::byte* from, size_t bytes) noexcept;
  [[nodiscard]] virtual bool copy_more() noexcept = 0;
  /// verify() runs after the last copy, and returns the reason if the data is invalid.
  [[nodiscard]] virtual std::string verify() noexcept { return {}; }
  void keep_awake() noexcept { awake_.begin(context_); }

  ProtocolContext& context_;
  RecvRequest& request_;
  std::unique_ptr<btl::MappedPeerMemory> mapped_;
  Awake awake_;
  bool is_afar_ = false;
  cuda::Block local_;
  cuda::Job job_;
};

}  // namespace tern::pml

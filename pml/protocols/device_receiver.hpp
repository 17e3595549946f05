// SPDX-License-Identifier: Apache-2.0
// DeviceReceiver: what device mapped and device pieces share: the receiver's device copies from
// mapped memory of the sender's, into whatever layout the receive has.
#pragma once

#include <memory>
#include <string>

#include "core/device_copy.hpp"
#include "pml/protocol.hpp"
#include "pml/protocols/awake.hpp"
#include "pml/requests.hpp"

namespace tern::pml {

class DeviceReceiver : public ReceiverHalf {
 public:
  DeviceReceiver(Context& context, RecvRequest& request) noexcept
      : context_(context), request_(request) {}
  Step advance() noexcept final;

 protected:
  /// Finds a device that can copy, and maps what the handle names; false if no device can.
  [[nodiscard]] bool map(const btl::MemoryHandle& handle) noexcept;
  /// Begins to copy mapped bytes to where the bytes from `offset` on of the message go.
  void take(size_t offset, const std::byte* from, size_t bytes) noexcept;
  /// Asks the device for more copies; true when all were asked for, or the job has failed.
  [[nodiscard]] virtual bool copy_more() noexcept = 0;
  /// The copies have ended: empty, or why what was copied is not the message.
  [[nodiscard]] virtual std::string verify() noexcept { return {}; }
  /// Copies are under way from here on.
  void keep_awake() noexcept { awake_.begin(context_); }

  Context& context_;
  RecvRequest& request_;
  std::unique_ptr<btl::MappedPeerMemory> mapped_;
  Awake awake_;
  bool is_afar_ = false;  // what is mapped lies on another device
  cuda::Block local_;
  cuda::Job job_;  // ends before what it copies from goes
};

}  // namespace tern::pml

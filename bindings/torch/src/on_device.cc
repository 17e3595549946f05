// SPDX-License-Identifier: Apache-2.0
#include "on_device.hpp"

#include "device_queue.hpp"
#include "stream_comm.hpp"

namespace torch_tern {

void OnDevice::use(const at::Device& device) {
  if (device.is_cpu()) {
    return;
  }
  TORCH_CHECK_VALUE(!device_ || *device_ == device, "tern: ", call_.words(),
                    " got tensors of several devices: ", *device_, " and ", device);
  if (may_enqueue_ && StreamComm::is_possible(device)) {
    use_stream_comm(device);
  } else {
    refuse_capture(
        device, call_.words(),
        may_enqueue_ ? StreamComm::why_impossible(device) : "sends and receives have no stream");
  }
  device_ = device;
}

// The first call on a device blocks for all members. Calls come in the same order on all ranks.
void OnDevice::use_stream_comm(const at::Device& device) {
  Group& group = *call_.group();
  if (!group.stream_comm()) {
    refuse_capture(device, call_.words(),
                   "the first collective of a group on a device prepares a stream. Make one "
                   "before the capture");
    const auto timer = call_.watch();
    if (const auto error = attempt([&] { group.open_stream_comm(device); })) {
      group.refuse_dead();
      std::rethrow_exception(error);
    }
  }
  const StreamComm& made = *group.stream_comm();
  TORCH_CHECK_VALUE(made.device() == device, "tern: ", call_.words(), " got a tensor on ", device,
                    ", but the collectives of group \"", group.name(), "\" are on ", made.device(),
                    ": a group serves one device of each rank");
  if (!made.stream()) {
    refuse_capture(device, call_.words(), made.why_no_stream());
  }
  stream_comm_ = &made;
}

void OnDevice::record_ready() {
  data_is_ready_.emplace(device_->type());
  data_is_ready_->record(current_stream(*device_));
}

void OnDevice::fork() {
  const c10::Stream caller = current_stream(*device_);
  is_captured_ = is_capturing(*device_);
  ends_stream_ = stream_comm_->stream().value_or(caller);
  if (*ends_stream_ != caller) {
    c10::Event ready(device_->type());
    ready.record(caller);
    ready.block(*ends_stream_);
  }
}

std::optional<c10::StreamGuard> OnDevice::in_own_stream() {
  if (!device_) {
    return std::optional<c10::StreamGuard>();
  }
  if (!ends_stream_) {
    ends_stream_ = new_stream(*device_);
  }
  return std::optional<c10::StreamGuard>(std::in_place, *ends_stream_);
}

void OnDevice::record_end() {
  ends_are_done_.emplace(device_->type());
  ends_are_done_->record(current_stream(*device_));
}

void OnDevice::block_current() const {
  if (ends_are_done_) {
    ends_are_done_->block(current_stream(*device_));
  }
}

void OnDevice::join() const {
  if (is_captured_ && *ends_stream_ != current_stream(*device_)) {
    block_current();
  }
}

}  // namespace torch_tern

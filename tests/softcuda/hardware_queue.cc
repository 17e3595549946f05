// SPDX-License-Identifier: Apache-2.0
// Hardware queues, ordered by tickets.
#include "hardware_queue.hpp"

#include "config.hpp"

namespace softcuda {

HardwareQueue* HardwareQueue::of(CUstream stream) {
  static auto* const all = new HardwareQueue[config().connections + 1];
  return config().connections == 0 ? nullptr : &all[stream->id % config().connections];
}

uint64_t HardwareQueue::enter() {
  std::lock_guard lock(mutex_);
  return ++entered_;
}

void HardwareQueue::come_to_head(uint64_t ticket) {
  std::unique_lock lock(mutex_);
  Patience patience;
  while (
      !changed_.wait_for(lock, std::chrono::milliseconds(500), [&] { return left_ + 1 == ticket; }))
    patience.ask([] { return std::string("work of other streams heads the hardware queue"); });
}

void HardwareQueue::leave(uint64_t ticket) {
  std::lock_guard lock(mutex_);
  left_ = ticket;
  changed_.notify_all();
}

Turnstile::Turnstile(CUstream stream, const Work& work)
    : queue_(HardwareQueue::of(stream)), ticket_(work.ticket) {
  if (queue_ != nullptr) queue_->come_to_head(ticket_);
}

void Turnstile::leave() {
  if (queue_ != nullptr) queue_->leave(ticket_);
  queue_ = nullptr;
}

}  // namespace softcuda

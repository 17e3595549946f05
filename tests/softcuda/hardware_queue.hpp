// SPDX-License-Identifier: Apache-2.0
// A hardware queue, which streams share where SOFTCUDA_CONNECTIONS says how many there are. What
// heads it keeps back all behind it, of other streams, too: a wait until it is over, work of the
// device until it has begun.
#pragma once
#include "stream.hpp"

namespace softcuda {

class HardwareQueue {
 public:
  /// Null where each stream has its own.
  static HardwareQueue* of(CUstream stream);
  /// The next place; its caller holds the stream's mutex.
  uint64_t enter();
  void come_to_head(uint64_t ticket);
  void leave(uint64_t ticket);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t entered_ = 0, left_ = 0;
};

/// The place of a piece of work: it comes to the head, and is left when the work begins or is over.
class Turnstile {
 public:
  Turnstile(CUstream stream, const Work& work);
  Turnstile(const Turnstile&) = delete;
  Turnstile& operator=(const Turnstile&) = delete;
  ~Turnstile() { leave(); }
  void leave();

 private:
  HardwareQueue* queue_;
  uint64_t ticket_;
};

}  // namespace softcuda

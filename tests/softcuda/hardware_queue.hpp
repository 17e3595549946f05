// SPDX-License-Identifier: Apache-2.0
// A hardware queue, shared by streams under SOFTCUDA_CONNECTIONS. The head blocks all later work: a
// wait until its end, device work until its start.
#pragma once
#include "stream.hpp"

namespace softcuda {

class HardwareQueue {
 public:
  /// of() returns null if each stream has a queue.
  static HardwareQueue* of(CUstream stream);
  /// The caller of enter() holds the stream's mutex.
  uint64_t enter();
  void come_to_head(uint64_t ticket);
  void leave(uint64_t ticket);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t entered_ = 0, left_ = 0;
};

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

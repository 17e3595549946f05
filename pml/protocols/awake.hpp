// SPDX-License-Identifier: Apache-2.0
// Awake: keeps waiting threads awake, because devices ring no doorbell.
#pragma once

#include "core/channel.hpp"
#include "pml/protocol.hpp"

namespace tern::pml {

class Awake {
 public:
  Awake() = default;
  Awake(const Awake&) = delete;
  Awake& operator=(const Awake&) = delete;
  ~Awake() {
    if (progress_ != nullptr) progress_->stay_awake(-1);
  }
  void begin(const ProtocolContext& context) noexcept {
    if (progress_ != nullptr) return;
    progress_ = &context.channel.progress;
    progress_->stay_awake(1);
  }

 private:
  core::Progress* progress_ = nullptr;
};

}  // namespace tern::pml

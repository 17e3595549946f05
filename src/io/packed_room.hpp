// SPDX-License-Identifier: Apache-2.0
// PackedRoom: room for kScratchBytes of packed data, pinned for device memory.
// Why: the driver copies pageable memory in pieces and waits for each piece. An idle pinned chunk
// takes one copy. A block of the host needs no room.
// Lifetime: a call.
#pragma once

#include <string>

#include "core/process.hpp"
#include "io/memory.hpp"
#include "io/scratch.hpp"

namespace tern::io {

class PackedRoom {
 public:
  explicit PackedRoom(const Memory& memory) noexcept {
    if (memory.block() != nullptr) return;
    if (!memory.on_host()) {
      std::string why;
      cuda::Device* const device =
          memory.process().gpus.device_of(cuda::look_up(memory.data().first()), &why);
      if (device != nullptr) pinned_ = cuda::Loan(*device, cuda::Store::kPinned, kScratchBytes);
    }
    data_ = pinned_.valid() ? pinned_.data() : scratch(Scratch::kPacked);
  }
  /// Null for a block of the host, and without memory.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  cuda::Loan pinned_;
  std::byte* data_ = nullptr;
};

}  // namespace tern::io

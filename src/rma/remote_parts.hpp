// SPDX-License-Identifier: Apache-2.0
// RemoteParts: the parts of ranks on other hosts, registered for RDMA, with addresses and keys.
// Why: an adapter reaches registered memory only. The keys are gathered in slices, so the exchange
// needs little memory beside the keys. Threads: creation, then reading only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "btl/capabilities.hpp"
#include "rma/targets.hpp"

namespace tern::btl {
class Endpoint;
}
namespace tern::rma {

class RemoteParts {
 public:
  enum class State : uint32_t { kNotAsked, kNoRdma, kEmpty, kOnDevice, kRefused, kRegistered };
  /// An Offer tells the other ranks about a rank's part.
  struct Offer {
    State state = State::kNotAsked;
    uint32_t key_bytes = 0;
    std::array<char, 8> transport{};
    [[nodiscard]] bool has_key() const noexcept { return state == State::kRegistered; }
  };

  /// Registers this rank's part, with the endpoint to `other`, a rank of another host. `emulated`
  /// also allows RDMA that needs the target's processor.
  [[nodiscard]] Offer offer(Targets& targets, int other, bool emulated);
  /// Collective, if any offer has a key. Returns an error class with fail() text, or throws
  /// std::bad_alloc.
  [[nodiscard]] int exchange(core::Communicator& among, const std::vector<Offer>& offers);

  [[nodiscard]] bool offers_key(int rank) const noexcept {
    return static_cast<size_t>(rank) < offers_.size() && of(rank).has_key();
  }
  [[nodiscard]] const Offer& of(int rank) const noexcept {
    return offers_[static_cast<size_t>(rank)];
  }
  [[nodiscard]] std::span<const std::byte> key(int rank) const noexcept {
    return {keys_.data() + static_cast<size_t>(rank) * stride_, of(rank).key_bytes};
  }
  /// Ends the registration of this rank's part, after the last access.
  void withdraw() noexcept { own_.reset(); }

  [[nodiscard]] static std::array<char, 8> name_of(const btl::Endpoint& endpoint) noexcept;

 private:
  std::unique_ptr<btl::MemoryRegion> own_;
  std::vector<Offer> offers_;
  size_t stride_ = 0;
  std::vector<std::byte> keys_;
};

/// Completes "rank 3 is reached by messages: ...".
[[nodiscard]] const char* in_words(RemoteParts::State state) noexcept;

}  // namespace tern::rma

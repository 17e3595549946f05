// SPDX-License-Identifier: Apache-2.0
// Quorum: the members of a communicator, both groups of an inter-communicator, and their hosts, in
// an order equal on all members. Each world has hosts of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "core/communicator.hpp"
#include "fault/hosts.hpp"

namespace tern::api {

struct Quorum {
  std::vector<uint32_t> peers;
  int self = 0;
  std::vector<std::vector<int>> hosts;  // places in `peers`, ascending

  [[nodiscard]] int host_of(int member) const noexcept;
};

/// Throws std::bad_alloc, Error.
[[nodiscard]] Quorum quorum_of(const core::Communicator& comm);

/// A message of an agreement between hosts as 32-bit words.
[[nodiscard]] std::vector<uint32_t> pack(const fault::HostMessage& message, uint64_t number);
/// Returns false for a damaged message.
[[nodiscard]] bool unpack(const std::vector<uint32_t>& words, const Quorum& quorum,
                          fault::HostMessage* message, uint64_t* number);
[[nodiscard]] size_t most_words(size_t members) noexcept;

}  // namespace tern::api

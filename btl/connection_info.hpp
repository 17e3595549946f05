// SPDX-License-Identifier: Apache-2.0
// ConnectionInfo: what each rank tells the others through boot: how it was built, and the addresses
// by which its transports are reached.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tern::btl {

inline constexpr uint32_t kWireVersion = 15;

/// Travels as it is.
struct ConnectionInfo {
  uint32_t wire_version;
  uint32_t parameter_hash;  // Params::shared_hash(), equal on both ends
  uint32_t machine;         // of machine_id(): whether devices may be shared
  uint16_t channels;        // of that process, a power of two
  uint16_t used;            // of `addresses`
  std::array<std::byte, 112> addresses;

  /// What stands before each address.
  struct Head {
    char transport[6];  // padded with zeros
    uint8_t channel;
    uint8_t bytes;  // of the address, which follows; kElsewhere: those of all channels have keys
  };
  static constexpr uint8_t kElsewhere = 255;
  /// Longer ones have keys of their own, so that there is room for what every transport has to say.
  static constexpr size_t kLongest = 48;
  /// Heads that add() leaves room for: add_elsewhere() of each transport with channels, ofi and
  /// ucx.
  static constexpr size_t kSpareHeads = 2;
  enum class Found { kNowhere, kHere, kElsewhere };

  /// False where it is too long, or there is no room for it; then nothing has changed.
  bool add(std::string_view transport, uint32_t channel, std::string_view address) noexcept;
  /// Once for all channels. False where there is no room for that.
  bool add_elsewhere(std::string_view transport) noexcept;
  /// Reads nothing beyond `addresses`, whatever stands there.
  [[nodiscard]] Found find(std::string_view transport, uint32_t channel,
                           std::string* address) const;

 private:
  bool append(std::string_view transport, uint32_t channel, uint8_t bytes, std::string_view address,
              size_t spare) noexcept;
};
static_assert(sizeof(ConnectionInfo) == 128);

/// The key of an address that did not fit: "tern.ucx.0".
[[nodiscard]] std::string address_key(std::string_view transport, uint32_t channel);

}  // namespace tern::btl

// SPDX-License-Identifier: Apache-2.0
// ConnectionInfo: the record that each rank publishes through boot, sent byte for byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tern::btl {

inline constexpr uint32_t kWireVersion = 19;

struct ConnectionInfo {
  uint32_t wire_version;
  uint32_t parameter_hash;
  uint32_t machine;
  uint16_t content_hash;  // of files that ranks of a world share
  uint8_t channels;
  uint8_t used;
  std::array<std::byte, 112> addresses;

  struct Head {
    char transport[6];
    uint8_t channel;
    uint8_t bytes;  // kElsewhere: all channels' addresses have keys
  };
  static constexpr uint8_t kElsewhere = 255;
  static constexpr size_t kLongest = 48;
  /// add() reserves heads for add_elsewhere() of ofi and ucx.
  static constexpr size_t kSpareHeads = 2;
  enum class Found { kNowhere, kHere, kElsewhere };

  bool add(std::string_view transport, uint32_t channel, std::string_view address) noexcept;
  bool add_elsewhere(std::string_view transport) noexcept;
  [[nodiscard]] Found find(std::string_view transport, uint32_t channel,
                           std::string* address) const;

 private:
  bool append(std::string_view transport, uint32_t channel, uint8_t bytes, std::string_view address,
              size_t spare) noexcept;
};
static_assert(sizeof(ConnectionInfo) == 128);

/// Example: "tern.ucx.0"
[[nodiscard]] std::string address_key(std::string_view transport, uint32_t channel);

}  // namespace tern::btl

// SPDX-License-Identifier: Apache-2.0
// ConnectionInfo: a list of addresses, each behind a head.
#include "btl/connection_info.hpp"

#include <algorithm>
#include <cstring>

#include "base/log.hpp"

namespace tern::btl {

bool ConnectionInfo::append(std::string_view transport, uint32_t channel, uint8_t bytes,
                            std::string_view address, size_t spare) noexcept {
  Head head{};
  if (transport.size() > sizeof head.transport || channel > UINT8_MAX ||
      used + sizeof head + address.size() + spare > addresses.size())
    return false;
  std::memcpy(head.transport, transport.data(), transport.size());
  head.channel = static_cast<uint8_t>(channel);
  head.bytes = bytes;
  std::memcpy(addresses.data() + used, &head, sizeof head);
  if (!address.empty())
    std::memcpy(addresses.data() + used + sizeof head, address.data(), address.size());
  used = static_cast<uint8_t>(used + sizeof head + address.size());
  return true;
}

bool ConnectionInfo::add(std::string_view transport, uint32_t channel,
                         std::string_view address) noexcept {
  return address.size() <= kLongest &&
         append(transport, channel, static_cast<uint8_t>(address.size()), address,
                kSpareHeads * sizeof(Head));
}

bool ConnectionInfo::add_elsewhere(std::string_view transport) noexcept {
  return append(transport, 0, kElsewhere, {}, 0);
}

ConnectionInfo::Found ConnectionInfo::find(std::string_view transport, uint32_t channel,
                                           std::string* address) const {
  const size_t end = std::min<size_t>(used, addresses.size());
  for (size_t at = 0; at + sizeof(Head) <= end;) {
    Head head;
    std::memcpy(&head, addresses.data() + at, sizeof head);
    at += sizeof head;
    const size_t length = head.bytes == kElsewhere ? 0 : head.bytes;
    if (at + length > end) break;
    const std::string_view name(head.transport, ::strnlen(head.transport, sizeof head.transport));
    if (name == transport && head.bytes == kElsewhere) return Found::kElsewhere;
    if (name == transport && head.channel == channel) {
      address->assign(reinterpret_cast<const char*>(addresses.data() + at), length);
      return Found::kHere;
    }
    at += length;
  }
  return Found::kNowhere;
}

std::string address_key(std::string_view transport, uint32_t channel) {
  return strf("tern.%.*s.%u", static_cast<int>(transport.size()), transport.data(), channel);
}

}  // namespace tern::btl

// SPDX-License-Identifier: Apache-2.0
// Messages between importers and owners of device memory.
#pragma once

#include <cstdint>

#include "base/mail.hpp"

namespace tern::btl::cuda_ipc {

/// An importer requests the ledger, and descriptors of rows from `row` on, for `bytes`.
struct Ask {
  static constexpr uint64_t kMagic = 0x316b'7361'6465'6c74;
  uint64_t magic = kMagic;
  uint64_t ledger = 0, bytes = 0;
  uint32_t row = 0, reserved = 0;
};

/// An owner replies with rows and attaches their descriptors. Row 0 is the ledger.
struct Parcel {
  static constexpr uint64_t kMagic = 0x3170'6361'6465'6c74;
  static constexpr uint32_t kMost = MailSocket::kMostDescriptors;
  struct Item {
    uint64_t stamp;
    uint32_t row, reserved;
  };
  uint64_t magic = kMagic;
  uint64_t ledger = 0;
  uint32_t count = 0, reserved = 0;
  Item items[kMost] = {};
};

[[nodiscard]] Address address_of(int pid, uint64_t ledger) noexcept;

}  // namespace tern::btl::cuda_ipc

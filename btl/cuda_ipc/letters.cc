// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/letters.hpp"

#include <algorithm>
#include <cstdio>

namespace tern::btl::cuda_ipc {

Address address_of(int pid, uint64_t ledger) noexcept {
  Address address;
  address.name.sun_family = AF_UNIX;
  const int written =
      std::snprintf(address.name.sun_path + 1, sizeof address.name.sun_path - 1,
                    "tern-device-memory-%d-%016llx", pid, static_cast<unsigned long long>(ledger));
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                          static_cast<size_t>(std::max(written, 0)));
  return address;
}

}  // namespace tern::btl::cuda_ipc

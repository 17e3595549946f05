// SPDX-License-Identifier: Apache-2.0
// Lanes: the networks that UCX selected for an endpoint.
#pragma once

#include <string>
#include <vector>

#include "btl/ucx/library.hpp"

namespace tern::btl::ucx {

/// UCX describes an endpoint in text only (1.13 has no query).
struct Lanes {
  bool rdma = false;               // rc, dc: the adapter acknowledges, and writes to memory
  bool datagrams = false;          // ud: the peer's UCX acknowledges
  bool sockets = false;            // tcp: the peer's kernel acknowledges
  std::vector<std::string> names;  // "rc_verbs/mlx5_0:1", "tcp/eth0"
  /// "rc_verbs over mlx5_0:1 and mlx5_1:1, 2 rails"
  [[nodiscard]] std::string words() const;
};
[[nodiscard]] Lanes lanes_in(const std::string& description);
/// All networks of this process.
[[nodiscard]] Lanes resources_of(const Library& ucp, ucp_context_h context);
[[nodiscard]] Lanes lanes_of(const Library& ucp, ucp_ep_h endpoint);

}  // namespace tern::btl::ucx

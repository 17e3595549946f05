// SPDX-License-Identifier: Apache-2.0
// Lanes: the networks that UCX selected for an endpoint.
#pragma once

#include <string>

#include "btl/ucx/library.hpp"

namespace tern::btl::ucx {

/// UCX describes an endpoint in text only (1.13 has no query).
struct Lanes {
  bool rdma = false;       // rc, dc: the adapter acknowledges, and writes to memory
  bool datagrams = false;  // ud: the peer's UCX acknowledges
  bool sockets = false;    // tcp: the peer's kernel acknowledges
  std::string names;       // "rc_verbs/mlx5_0:1, tcp/eth0"
};
[[nodiscard]] Lanes lanes_in(const std::string& description);
[[nodiscard]] Lanes lanes_of(const Library& ucp, ucp_ep_h endpoint);

}  // namespace tern::btl::ucx

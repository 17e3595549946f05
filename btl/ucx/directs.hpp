// SPDX-License-Identifier: Apache-2.0
// Directs: UCX's memory, besides the caller's data, for a ZeroCopy frame under way.
#pragma once

#include <array>
#include <cstddef>

#include "btl/net/blocks.hpp"
#include "btl/ucx/library.hpp"

namespace tern::btl::ucx {

using net::FrameBuffer;
using net::FrameBuffers;
using net::Origin;
using net::WireHead;
class UcxEndpoint;

struct Direct {
  std::array<std::byte, sizeof(WireHead) + ZeroCopy::kMostPrefix> head;
  std::array<ucp_dt_iov_t, 2> parts;
  UcxEndpoint* endpoint;
  Operation* operation;
  Direct* next;
};

using Directs = net::FreeList<Direct>;

}  // namespace tern::btl::ucx

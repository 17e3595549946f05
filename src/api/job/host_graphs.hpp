// SPDX-License-Identifier: Apache-2.0
// TERN_TOPOLOGY=auto: the lowest rank of each host discovers the host's graph; all ranks join the
// hosts' graphs. Why not each rank: NVML takes tens of milliseconds. Equal texts travel once.
#pragma once

#include <memory>

#include "coll/topology/canonical.hpp"
#include "core/process.hpp"

namespace tern::api {

/// Before the boot's publish(); other ranks than a host's lowest do nothing. Throws Error.
void publish_host_graph(const core::Process& process);
/// After a fence of all ranks. Null, with a line from rank 0: a host without GPUs, more ranks than
/// GPUs, or hosts without a way between. Throws Error if a host's graph does not arrive.
[[nodiscard]] std::shared_ptr<const coll::JobTopology> agreed_graph(const core::Process& process);

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// NCCL's topology files (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE), and RCCL's: the machine in Tern's
// text (coll/topology/topology.hpp).
//
// Bandwidths: PCIe and network from the file; a link of NVLink or xGMI, and sockets, as NCCL 2.30
// and RCCL assume (src/graph/topo.h). Latencies as in coll/topology/machines.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::coll {

struct NcclTopologyOptions {
  /// Files of clouds lack GPUs' links: `links` of `bandwidth` GB/s from each GPU to a switch.
  int32_t links = 0;
  double bandwidth = 0;
  /// Hosts like the file's, joined by a network switch for each card. Network cards without a speed
  /// have `network` Gbit/s.
  int32_t hosts = 1;
  double network = 0;
};

/// Errors (tern::Error, MPI_ERR_ARG) contain `file`, line, value and cause.
[[nodiscard]] std::string read_nccl_topology(std::string_view text, const std::string& file,
                                             const NcclTopologyOptions& options);

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// Several hosts' graphs as one: the graph of a job. Equal inputs give equal text on all ranks.
#pragma once

#include <string>
#include <vector>

namespace tern::coll {

struct RankPlace {
  size_t host;
  size_t gpu;  // of the host's, from 0
};
/// hosts[i] is the text of host i (HostGraph::text()). Its names get the prefix h<i>, but network
/// switches and switches named nvl-... are shared. GPUs without a rank are left out. The graph of
/// one host has no network and no prefix. Capacities between network switches add up. Throws
/// tern::Error (MPI_ERR_ARG): a rank without a GPU, or hosts without a way between.
[[nodiscard]] std::string join_hosts(const std::vector<std::string>& hosts,
                                     const std::vector<RankPlace>& ranks);
/// `copies` equal hosts with a rank per GPU.
[[nodiscard]] std::string join_copies(const std::string& host, int copies);

}  // namespace tern::coll

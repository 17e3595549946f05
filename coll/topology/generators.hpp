// SPDX-License-Identifier: Apache-2.0
// Generators: machines by size, with closed routes: links follow from the ranks' numbers.
//   fat-tree:K[,TAPER]                k-ary tree of K pods, K^3/4 hosts; K even; switches above the
//                                     lowest have 1 / TAPER of the bandwidth upwards; a route goes
//                                     up by the digits of its target (d-mod-k)
//   dragonfly:GROUPS,SWITCHES,NODES,LINKS   hosts at NODES ports of each switch, all switches of a
//                                     group joined, LINKS links of a switch to other groups;
//                                     shortest routes
//   dragonfly+:GROUPS,SWITCHES,NODES,LINKS  the same with SWITCHES leaves and as many spines a
//   group torus:AxBx...                     a router per host, to 6 dimensions; routes by dimension
//   rails:HOSTS,GPUS,LEAF,SPINE       hosts of GPUS on a switch, a network card per GPU; a leaf per
//                                     rail and LEAF hosts, each leaf to all SPINE spines (0: one
//                                     leaf a rail); a message changes its rail within the source's
//                                     host
// Further words, after commas: bandwidth=GB/s and latency=us (a network link, each way), host=GB/s
// and host_latency=us (a GPU's link within a host), memory=GB/s, ranks=N (per host; rails: GPUS),
// background=SHARE (of all network links, taken by others, below 1).
//
// Not modelled: adaptive and non-minimal routes.
// See: Leiserson 1985; Zahavi 2012 (d-mod-k); Kim et al. 2008 (dragonfly); Shpiner et al. 2017
// (dragonfly+).
#pragma once

#include <string>

#include "coll/topology/topology.hpp"

namespace tern::coll {

/// Throws tern::Error with the fault, the value and the form.
[[nodiscard]] Topology generate_machine(const std::string& words);

}  // namespace tern::coll

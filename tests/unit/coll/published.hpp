// SPDX-License-Identifier: Apache-2.0
// Published measurements, and the machines that stand for them. Parameters come from data sheets
// and from the topology and tuning constants of NCCL 2.30, none from the measurements:
//   NVLink 4: 18 links of 20.6 GB/s; NVLink 3: 12 links of 20 GB/s.
//   PCIe 5 x16, 4 x16: 48, 24 GB/s, below 400 and 200 Gbit/s cards.
//   Hops: 3.4 us (NVLink), 14 us (network).
//   Memory: 3,350 GB/s (H100 SXM), 2,039 GB/s (A100 SXM 80 GB).
//   HDR InfiniBand: 25 GB/s; the free constant of its class: 0.97 us for each link of a route,
//   software included, set by the figure for 8 bytes.
#pragma once

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

struct Published {
  const char* source;
  const char* machine;
  const char* row;  // "rings N": N rings as NCCL builds them, each through a network card
  double bytes;
  double figure;  // GB/s of bus bandwidth; us where `is_time`
  bool is_time = false;
  bool met = true;  // within 25 %
};

inline constexpr Published kPublished[] = {
    {"nccl-tests 212, 8 H100, ring", "rails:1,8,1,0", "rings 8", 1e9, 370},
    {"nccl 1221, 2 hosts of 8 H100, 8 x 400G, no NVLS", "rails:2,8,2,0", "rings 8", 1e9, 330},
    {"nccl 1221, 4 hosts of 8 H100, 8 x 400G", "rails:4,8,4,0", "rings 8", 1e9, 320},
    {"nccl 812 and 1576, 2 DGX A100, 8 x 200G", "rails:2,8,2,0,bandwidth=24,host=240,memory=2039",
     "rings 8", 1e9, 192},
    {"nccl-tests 119, 3 hosts of 8 A100, 4 HDR", "rails:3,8,3,0,bandwidth=24,host=240,memory=2039",
     "rings 4", 1e9, 85},
    {"ompi 9761, 512 hosts, 8 B", "fat-tree:16,latency=0.97", "recursive_doubling", 8, 35, true},
    {"ompi 9761, 512 hosts, 8 KiB", "fat-tree:16,latency=0.97", "recursive_doubling", 8192, 108,
     true, false},
};

}  // namespace tern::coll

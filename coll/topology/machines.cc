// SPDX-License-Identifier: Apache-2.0
// The known machines, with published figures, none measured.
//   NVLink 4: 18 links of 20.6 GB/s each way; PCIe 3 x16: 12 GB/s (4: twice, 5: four times).
//   Hops: 3.4 us (NVLink), 5.7 us (PCIe), 14 us (network; ring, Simple). NCCL 2.30, topo.h and
//   tuning.cc of NCCL's src/graph. A hop is a whole route, divided among its links.
//   Memory: 3,350 GB/s (H100 SXM), 1,935 GB/s (A100 80 GB PCIe): NVIDIA's data sheets.
//   Network: 400 Gbit/s per card (DGX H100 data sheet: eight ConnectX-7).
#include "coll/topology/machines.hpp"

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "coll/topology/host_graph.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

struct NamedTopology {
  const char* name;
  const char* text;
};
constexpr NamedTopology kKnown[] = {
    {"dgx-h100", R"(
gpu  gpu0..gpu7 memory=3350
node nvswitch
link gpu0..gpu7 nvswitch 370.8 1.7
)"},
    {"pcie-4", R"(
gpu  gpu0..gpu3 memory=1935
node plx0 plx1 cpu
link gpu0..gpu1 plx0 24 2.85
link gpu2..gpu3 plx1 24 2.85
link plx0..plx1 cpu 24 0.5
)"},
    {"2x8-rail", R"(
gpu  a0..a7 b0..b7 memory=3350
node nva nvb
node na0..na7 nb0..nb7             # network cards
net  rail0..rail7
link a0..a7 nva 370.8 1.7
link b0..b7 nvb 370.8 1.7
link a0..a7 na0..na7 48 1
link b0..b7 nb0..nb7 48 1
link na0..na7 rail0..rail7 50 6
link nb0..nb7 rail0..rail7 50 6
)"},
};

}  // namespace

std::vector<std::string> known_topologies() {
  std::vector<std::string> names;
  for (const NamedTopology& known : kKnown) names.emplace_back(known.name);
  return names;
}

const char* known_topology(const std::string& name) noexcept {
  for (const NamedTopology& known : kKnown)
    if (name == known.name) return known.text;
  return nullptr;
}

std::string topology_text(const std::string& name) {
  if (const char* text = known_topology(name)) return text;
  if (is_discovery(name)) return described(discover_by_name(name));
  try {
    return text_of_file(name);
  } catch (const Error& error) {
    std::string known;
    for (const std::string& one : known_topologies()) known += (known.empty() ? "" : ", ") + one;
    throw Error(MPI_ERR_FILE, strf("the topology %s; known without a file: %s, auto", error.what(),
                                   known.c_str()));
  }
}

Topology load_topology(const std::string& name) {
  return parse_topology(topology_text(name), name);
}

}  // namespace tern::coll

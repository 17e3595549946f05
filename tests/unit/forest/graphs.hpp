// SPDX-License-Identifier: Apache-2.0
// Graphs of seven machines with exact bounds of an allgather, and random graphs.
// Figures: published rates of links, GB/s; latencies are assumed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "coll/topology/topology.hpp"

namespace tern::coll {

inline std::string links_text(const std::vector<std::vector<int>>& links) {
  std::string text;
  for (const std::vector<int>& link : links)
    text += strf("link g%d g%d %d 3\n", link[0], link[1], link[2]);
  return text;
}

inline std::string torus_text(int size) {
  std::string text = "gpu";
  const int cells = size * size * size;
  for (int i = 0; i < cells; ++i) text += strf(" t%d", i);
  text += "\n";
  for (int i = 0; i < cells; ++i)
    for (const int by : {1, size, size * size}) {
      const int along = i / by % size;
      text += strf("link t%d t%d 50 3\n", i, i + ((along + 1) % size - along) * by);
    }
  return text;
}

/// Hosts of 8 GPUs on a switch, with a link per GPU to network switch gpu % nets.
inline std::string hosts_text(int hosts, int nets, int inside, int outside) {
  std::string text;
  for (int host = 0; host < hosts; ++host)
    text += strf("gpu h%dg0..h%dg7\nnode h%dsw\n", host, host, host);
  text += nets == 1 ? "net net0\n" : strf("net net0..net%d\n", nets - 1);
  for (int host = 0; host < hosts; ++host) {
    text += strf("link h%dg0..h%dg7 h%dsw %d 1.5\n", host, host, host, inside);
    for (int gpu = 0; gpu < 8; ++gpu)
      text += strf("link h%dg%d net%d %d 6\n", host, gpu, gpu % nets, outside);
  }
  return text;
}

struct KnownGraph {
  const char* name;
  std::string text;
  int64_t bound, under;  // GB/s: bound / under
  const char* cut;
};

inline std::vector<KnownGraph> known_graphs() {
  return {
      {"dgx-1v",
       "gpu g0..g7\n" + links_text({{0, 1, 25},
                                    {0, 2, 25},
                                    {0, 3, 50},
                                    {0, 4, 50},
                                    {1, 2, 50},
                                    {1, 3, 25},
                                    {1, 5, 50},
                                    {2, 3, 50},
                                    {2, 6, 25},
                                    {3, 7, 25},
                                    {4, 5, 25},
                                    {4, 6, 25},
                                    {4, 7, 50},
                                    {5, 6, 50},
                                    {5, 7, 25},
                                    {6, 7, 50}}),
       150, 1, "7 GPUs without g0, 2 links of 50 GB/s, 2 links of 25 GB/s"},
      {"mi250",
       "gpu g0..g15\n" +
           links_text({{0, 1, 200},   {0, 4, 100},  {0, 8, 50},    {1, 5, 50},    {1, 9, 50},
                       {1, 10, 50},   {2, 3, 200},  {2, 6, 50},    {2, 9, 50},    {2, 10, 50},
                       {3, 7, 100},   {3, 11, 50},  {4, 5, 200},   {4, 6, 50},    {5, 6, 50},
                       {5, 7, 50},    {6, 7, 200},  {8, 9, 200},   {8, 12, 100},  {9, 13, 50},
                       {10, 11, 200}, {10, 14, 50}, {11, 15, 100}, {12, 13, 200}, {12, 14, 50},
                       {13, 14, 50},  {13, 15, 50}, {14, 15, 200}}),
       2250, 7, "14 GPUs without g0 g1, 1 link of 100 GB/s, 4 links of 50 GB/s"},
      {"2x8-h100-rails", hosts_text(2, 8, 450, 50), 500, 1,
       "15 GPUs without h0g0, 1 link of 450 GB/s, 1 link of 50 GB/s"},
      {"8x8-h100-rails", hosts_text(8, 8, 450, 50), 450, 1,
       "56 GPUs without h0g0 h0g1 h0g2 h0g3 h0g4 h0g5 h0g6 h0g7, 8 links of 50 GB/s"},
      {"2x8-a100-two-ib", hosts_text(2, 2, 300, 25), 325, 1,
       "15 GPUs without h0g0, 1 link of 300 GB/s, 1 link of 25 GB/s"},
      {"8x8-a100-two-ib", hosts_text(8, 2, 300, 25), 225, 1,
       "56 GPUs without h0g0 h0g1 h0g2 h0g3 h0g4 h0g5 h0g6 h0g7, 8 links of 25 GB/s"},
      {"torus-4x4x4", torus_text(4), 300, 1, "63 GPUs without t0, 6 links of 50 GB/s"},
  };
}

/// Connected graphs of 2 to `most` nodes: a circle both ways, and random links, some one way.
inline std::string random_graph_text(uint32_t seed, int most, bool one_way) {
  std::mt19937 random(seed);
  const auto below = [&](int end) {
    return static_cast<int>(random() % static_cast<uint32_t>(end));
  };
  const int nodes = 2 + below(most - 1), switches = below(nodes - 1);
  const auto name = [&](int node) {
    return node < nodes - switches ? strf("g%d", node) : strf("s%d", node);
  };
  std::string gpus = "gpu", others = "node", links;
  for (int node = 0; node < nodes; ++node)
    (node < nodes - switches ? gpus : others) += " " + name(node);
  std::vector<std::vector<char>> has(10, std::vector<char>(10, 0));
  const auto link = [&](int a, int b, bool both) {
    if (a == b || has[static_cast<size_t>(a)][static_cast<size_t>(b)] != 0 ||
        (both && has[static_cast<size_t>(b)][static_cast<size_t>(a)] != 0))
      return;
    has[static_cast<size_t>(a)][static_cast<size_t>(b)] = 1;
    if (both) has[static_cast<size_t>(b)][static_cast<size_t>(a)] = 1;
    links += strf("%s %s %s %d %d\n", both ? "link" : "oneway", name(a).c_str(), name(b).c_str(),
                  1 + below(40), 1 + below(3));
  };
  for (int node = 0; node < nodes; ++node) link(node, (node + 1) % nodes, true);
  for (int more = below(2 * nodes); more > 0; --more)
    link(below(nodes), below(nodes), !one_way || below(2) == 0);
  return gpus + "\n" + (switches > 0 ? others + "\n" : "") + links;
}

}  // namespace tern::coll

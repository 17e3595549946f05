// SPDX-License-Identifier: Apache-2.0
// Classes: colour refinement. A new colour contains the old one, so colours split and never merge,
// and a round without a new colour is the last.
#include "coll/laboratory/simulate/classes.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "coll/laboratory/simulate/mix.hpp"

namespace tern::coll {
namespace {

class Refinement {
 public:
  Refinement(const Pattern& pattern, const Topology& topology, Routes& routes)
      : pattern_(pattern),
        topology_(topology),
        routes_(routes),
        rank_(static_cast<size_t>(pattern.ranks())),
        link_(topology.links.size()) {
    for (int32_t r = 0; r < pattern.ranks(); ++r)
      rank_[static_cast<size_t>(r)] = mix(static_cast<uint64_t>(pattern.outline_of(r)),
                                          std::bit_cast<uint64_t>(topology.memory_of(r)));
  }

  Classes run() {
    for (size_t before = 0, colours = different(rank_); colours > before;) {
      before = colours;
      colour_links();
      colour_ranks();
      colours = different(rank_);
    }
    Classes made;
    number(rank_, &made.of, &made.first, &made.size);
    number(link_, &made.of_link, &made.first_link, &made.link_size);
    return made;
  }

 private:
  static size_t different(std::vector<uint64_t> colours) {
    std::sort(colours.begin(), colours.end());
    return static_cast<size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
  }

  static void number(const std::vector<uint64_t>& colours, std::vector<int32_t>* of,
                     std::vector<int32_t>* first, std::vector<int32_t>* size) {
    std::unordered_map<uint64_t, int32_t> numbers;
    for (size_t i = 0; i < colours.size(); ++i) {
      const auto next = static_cast<int32_t>(first->size());
      const auto [known, is_new] = numbers.try_emplace(colours[i], next);
      if (is_new) {
        first->push_back(static_cast<int32_t>(i));
        size->push_back(0);
      }
      ++(*size)[static_cast<size_t>(known->second)];
      of->push_back(known->second);
    }
  }

  // A link's colour contains the set, with multiplicities, of the flows across it.
  void colour_links() {
    std::fill(link_.begin(), link_.end(), 0);
    for (int32_t r = 0; r < pattern_.ranks(); ++r) {
      const auto peers = pattern_.peers(r);
      for (size_t i = 0; i < peers.size(); ++i) {
        if (pattern_.outline(r).sends[i] == 0) continue;
        routes_.find(r, peers[i], &route_);
        for (const int32_t link : route_.links)
          link_[static_cast<size_t>(link)] += mix(rank_[static_cast<size_t>(r)], i);
      }
    }
    for (size_t l = 0; l < link_.size(); ++l)
      link_[l] = mix(link_[l], static_cast<uint64_t>(topology_.links[l].capacity));
  }

  void colour_ranks() {
    std::vector<uint64_t> next(rank_.size());
    for (int32_t r = 0; r < pattern_.ranks(); ++r) {
      uint64_t colour = rank_[static_cast<size_t>(r)];
      const auto peers = pattern_.peers(r);
      for (size_t i = 0; i < peers.size(); ++i) {
        colour = mix(colour, rank_[static_cast<size_t>(peers[i])]);
        colour = mix(colour, static_cast<uint64_t>(pattern_.index_of(peers[i], r)));
        if (pattern_.outline(r).sends[i] == 0) continue;
        routes_.find(r, peers[i], &route_);
        colour = mix(colour, std::bit_cast<uint64_t>(route_.latency));
        for (const int32_t link : route_.links)
          colour = mix(colour, link_[static_cast<size_t>(link)]);
      }
      next[static_cast<size_t>(r)] = colour;
    }
    rank_ = std::move(next);
  }

  const Pattern& pattern_;
  const Topology& topology_;
  Routes& routes_;
  Route route_;
  std::vector<uint64_t> rank_, link_;
};

}  // namespace

Classes Classes::singles(const Pattern& pattern, const Topology& topology) {
  Classes made;
  made.of.resize(static_cast<size_t>(pattern.ranks()));
  std::iota(made.of.begin(), made.of.end(), 0);
  made.first = made.of;
  made.size.assign(made.of.size(), 1);
  made.of_link.resize(topology.links.size());
  std::iota(made.of_link.begin(), made.of_link.end(), 0);
  made.first_link = made.of_link;
  made.link_size.assign(made.of_link.size(), 1);
  return made;
}

Classes Classes::coarsest(const Pattern& pattern, const Topology& topology, Routes& routes) {
  return Refinement(pattern, topology, routes).run();
}

}  // namespace tern::coll

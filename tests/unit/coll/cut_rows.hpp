// SPDX-License-Identifier: Apache-2.0
// Rows that cut blocks into parts, with and without passes: the forms of forests and imported
// plans, through slots, mirrors and both directions of a ring.
#pragma once

#include <algorithm>
#include <vector>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

inline constexpr int32_t kCutParts = 3;

inline Slice in_mirror(const Builder& b, int32_t first, int32_t blocks, int32_t copy = 0) {
  return {Space::kMirror, first, blocks, first + copy * b.mirror_blocks()};
}

/// Part 0 goes round one way, part 1 the other way, part 2 by slots of the stage.
inline void cut_allgather(Builder& b) {
  b.split(kCutParts);
  b.lanes(kCutParts);
  b.stage(b.ranks());
  b.at_once(8);
  for (int32_t part = 0; part < kCutParts; ++part) {
    const int32_t way = part == 1 ? -1 : 1;
    const auto held = [&](int32_t distance) {
      const int32_t number = b.ring(-way * distance) * kCutParts + part;
      if (distance == 0) return Builder::input(part);
      return part == 2 ? Builder::staged(distance - 1, number) : Builder::output(number);
    };
    b.lane(part);
    for (int32_t round = 1; round < b.ranks(); ++round) {
      b.send(b.ring(way), held(round - 1));
      b.recv(b.ring(-way), held(round));
      if (part == 2) b.copy(held(round), Builder::output(b.ring(-round) * kCutParts + part));
    }
    b.copy(Builder::input(part), Builder::output(b.rank() * kCutParts + part));
  }
}

/// Parts 0 and 1 travel together in a mirror, part 2 alone.
inline void cut_reduce_scatter(Builder& b) {
  b.split(kCutParts);
  b.lanes(2);
  b.mirrors(1);
  b.stage(1);
  const int32_t own = b.rank() * kCutParts;
  for (int32_t lane = 0; lane < 2; ++lane) {
    const int32_t part = lane == 0 ? 0 : 2, parts = lane == 0 ? 2 : 1;
    Slice held = Builder::input(own + part, parts);
    b.lane(lane);
    for (int32_t round = 1; round < b.ranks(); ++round) {
      const Slice theirs = lane == 0 ? in_mirror(b, own, 2) : Builder::staged(0, own + 2);
      b.send(b.ring(round), Builder::input(b.ring(round) * kCutParts + part, parts));
      b.recv(b.ring(-round), theirs);
      b.reduce(theirs, held, Builder::output(part, parts));
      held = Builder::output(part, parts);
    }
    if (b.ranks() == 1) b.copy(held, Builder::output(part, parts));
  }
}

inline void cut_alltoall(Builder& b) {
  b.split(kCutParts);
  b.lanes(2);
  for (int32_t lane = 0; lane < 2; ++lane) {
    const int32_t part = lane == 0 ? 0 : 1, parts = lane == 0 ? 1 : 2;
    b.lane(lane);
    for (int32_t round = 1; round < b.ranks(); ++round) {
      b.recv(b.ring(-round), Builder::output(b.ring(-round) * kCutParts + part, parts));
      b.send(b.ring(round), Builder::input(b.ring(round) * kCutParts + part, parts));
    }
    b.copy(Builder::input(b.rank() * kCutParts + part, parts),
           Builder::output(b.rank() * kCutParts + part, parts));
  }
}

inline void cut_gather(Builder& b) {
  b.split(kCutParts);
  for (int32_t part = kCutParts - 1; part >= 0; --part)
    if (b.rank() != b.root())
      b.send(b.root(), Builder::input(part));
    else
      for (int32_t rank = 0; rank < b.ranks(); ++rank)
        if (rank == b.root())
          b.copy(Builder::input(part), Builder::output(rank * kCutParts + part));
        else
          b.recv(rank, Builder::output(rank * kCutParts + part));
}

inline void cut_scatter(Builder& b) {
  b.split(kCutParts);
  for (int32_t part = 0; part < kCutParts; ++part)
    if (b.rank() != b.root())
      b.recv(b.root(), Builder::output(part));
    else
      for (int32_t rank = 0; rank < b.ranks(); ++rank)
        if (rank == b.root())
          b.copy(Builder::input(rank * kCutParts + part), Builder::output(part));
        else
          b.send(rank, Builder::input(rank * kCutParts + part));
}

/// Blocks of one part in several passes.
inline void uncut_allgather(Builder& b) {
  for (int32_t round = 1; round < b.ranks(); ++round) {
    b.send(b.ring(1), round == 1 ? Builder::input() : Builder::output(b.ring(1 - round)));
    b.recv(b.ring(-1), Builder::output(b.ring(-round)));
  }
  b.copy(Builder::input(), Builder::output(b.rank()));
}

inline const std::vector<Algorithm>& cut_rows() {
  using enum Collective;
  static const auto no_cost = [](Shape) { return Cost{}; };
  static const std::vector<Algorithm> rows = {
      {kAllgather, "cut", cut_allgather, kAnything, 0, "", no_cost, ""},
      {kAllgather, "cut_in_passes", cut_allgather, kAnything, 40, "", no_cost, ""},
      {kAllgather, "in_passes", uncut_allgather, kAnything, 24, "", no_cost, ""},
      {kReduceScatter, "cut", cut_reduce_scatter, kCommutative, 0, "", no_cost, ""},
      {kReduceScatter, "cut_in_passes", cut_reduce_scatter, kCommutative, 40, "", no_cost, ""},
      {kAlltoall, "cut", cut_alltoall, kAnything, 0, "", no_cost, ""},
      {kAlltoall, "cut_in_passes", cut_alltoall, kAnything, 40, "", no_cost, ""},
      {kGather, "cut", cut_gather, kAnything, 0, "", no_cost, ""},
      {kGather, "cut_in_passes", cut_gather, kAnything, 40, "", no_cost, ""},
      {kScatter, "cut", cut_scatter, kAnything, 0, "", no_cost, ""},
      {kScatter, "cut_in_passes", cut_scatter, kAnything, 40, "", no_cost, ""},
  };
  return rows;
}

/// The table's rows, then cut_rows().
inline std::vector<Algorithm> with_cut_rows(std::vector<Algorithm> rows) {
  rows.insert(rows.end(), cut_rows().begin(), cut_rows().end());
  return rows;
}

}  // namespace tern::coll

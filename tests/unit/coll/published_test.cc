// SPDX-License-Identifier: Apache-2.0
// Predictions of published measurements (published.hpp); coll/laboratory/simulate/README.md
// states the result. A row that is not met stays in the list, and says so.
#include "tests/unit/coll/published.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "coll/laboratory/simulate/pattern.hpp"
#include "coll/laboratory/simulate/simulate.hpp"
#include "coll/topology/generators.hpp"

namespace tern::coll {
namespace {

int32_t rings_now = 8;  // for an emitter, a plain function

/// Ring c starts in each host at the GPU of its network card.
void emit_rings(Builder& b) {
  const int32_t ranks = b.ranks(), count = rings_now, gpus = 8;
  b.split(ranks * count);
  b.stage(2 * count);
  b.lanes(count);
  for (int32_t c = 0; c < count; ++c) {
    b.lane(c);
    const int32_t first = c * gpus / count;
    const auto place = [&](int32_t rank) {
      return rank / gpus * gpus + (rank % gpus - first + gpus) % gpus;
    };
    const auto rank_at = [&](int32_t at) {
      at = (at % ranks + ranks) % ranks;
      return at / gpus * gpus + (at % gpus + first) % gpus;
    };
    const int32_t mine = place(b.rank()), next = rank_at(mine + 1), before = rank_at(mine - 1);
    const auto block = [&](int32_t number) { return c * ranks + b.wrap(number); };
    for (int32_t round = 0; round + 1 < ranks; ++round) {
      const int32_t gone = block(mine - round), come = block(mine - round - 1);
      const Slice received = Builder::staged(2 * c + round % 2, come);
      b.send(next, round == 0 ? Builder::input(gone) : Builder::output(gone));
      b.recv(before, received);
      b.reduce(received, Builder::input(come), Builder::output(come));
    }
    for (int32_t round = 0; round + 1 < ranks; ++round) {
      b.send(next, Builder::output(block(mine + 1 - round)));
      b.recv(before, Builder::output(block(mine - round)));
    }
  }
}

double predicted(const Published& one) {
  const Topology machine = generate_machine(one.machine);
  const bool rings = std::strncmp(one.row, "rings ", 6) == 0;
  Algorithm row = *find_algorithm(Collective::kAllreduce, rings ? "ring" : one.row);
  if (rings) {
    rings_now = std::atoi(one.row + 6);
    row.emit = emit_rings;
    row.traits = kNoTrait;
  }
  const int32_t ranks = one.is_time ? 512 : machine.ranks();
  const double time =
      simulate(Pattern::of(row, ranks, 0, nullptr), machine, {.bytes = one.bytes, .chunk = 262144})
          .time;
  return one.is_time ? time : bus_bandwidth(Collective::kAllreduce, ranks, one.bytes, time);
}

TEST(Published, RowsAreMetWithinAQuarter) {
  for (const Published& one : kPublished) {
    const double found = predicted(one);
    std::printf("%-50s published %6.1f predicted %6.1f ratio %.2f\n", one.source, one.figure, found,
                found / one.figure);
    EXPECT_EQ(std::abs(found / one.figure - 1) <= 0.25, one.met) << one.source;
  }
}

}  // namespace
}  // namespace tern::coll

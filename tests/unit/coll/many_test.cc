// SPDX-License-Identifier: Apache-2.0
// Collectives of more than 64 ranks per host in shared memory.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "tests/unit/coll/derived.hpp"
#include "tests/unit/coll/rows.hpp"
#include "tests/unit/coll/trial.hpp"
#include "tests/unit/world.hpp"

namespace tern::coll {
namespace {

using core::Process;

const Algorithm& row(Collective collective, const char* name) {
  return *find_algorithm(collective, name);
}

CommState& state_of(const core::Communicator& comm) { return static_cast<CommState&>(*comm.coll); }

std::vector<int> some_roots(const Algorithm& row, int ranks) {
  if (!rooted(row.collective)) return {0};
  return long_tests() ? std::vector<int>{0, 1, ranks / 2, ranks - 1} : std::vector<int>{ranks / 2};
}

std::vector<int64_t> some_counts() {
  return long_tests() ? std::vector<int64_t>{0, 1, 100, 9000} : std::vector<int64_t>{1, 100};
}

std::vector<Algorithm> rows_of_many() {
  std::vector<Algorithm> found;
  for (const Algorithm& one : rows(false))
    if (one.flat != FlatMethod::kDirect &&
        (long_tests() || one.flat != FlatMethod::kWhole ||
         find_algorithm(one.collective, "flat_two_level") == nullptr))
      found.push_back(one);
  return found;
}

std::vector<int> numbers_of_ranks() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return {65};
#else
  return long_tests() ? std::vector<int>{65, 96, 128, 192, 256}
                      : std::vector<int>{65, 96, 128, 192};
#endif
}

class Many : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Many, testing::ValuesIn(numbers_of_ranks()));

// The small slab's cache lines hold up to 112 bytes; larger data takes the large slab.
TEST_P(Many, EveryRowAgreesWithASerialReference) {
  test::World(GetParam()).run([](Process& process) {
    const std::vector<Algorithm> all = rows_of_many();
    std::vector<std::unique_ptr<Trial>> flying;
    for (const Algorithm& one : all) {
      process.channel(0).coll->force(one);
      for (const int64_t count : some_counts())
        for (const int root : some_roots(one, process.world_size))
          Trial(process, one, count, root, *process.world).run();
    }
    for (const Algorithm& one : all)
      if (one.flat != FlatMethod::kSliced)
        for (const int root : some_roots(one, process.world_size))
          flying.push_back(std::make_unique<Trial>(process, one, 3, root, *process.world));
    for (auto& one : flying) one->start();
    for (auto& one : flying) one->finish();
    for (auto& one : flying) one->free();
    EXPECT_NE(state_of(*process.world).flights[0], nullptr);
  });
}

TEST(ManyRanks, SharedMemoryIsChosen) {
  test::World(65).run([](Process& process) {
    int number = 0;
    for (const Algorithm& one : rows(false)) {
      const core::Ref<core::Communicator> comm = derived(process, number++);
      Trial(process, one, 2, 0, *comm).run();
      const Algorithm* chosen = state_of(*comm).memo.answer.algorithm;
      const bool by_domains = find_algorithm(one.collective, "flat_two_level") != nullptr;
      EXPECT_STREQ(chosen->name, by_domains ? "flat_two_level" : "flat") << name_of(one.collective);
    }
  });
}

TEST(ManyRanks, DomainsFollowNodes) {
  test::World(70).run([](Process& process) {
    process.node.numa = process.world_rank < 50 ? 2 : 0;
    const core::Ref<core::Communicator> comm = derived(process, 1);
    Trial(process, row(Collective::kAllreduce, "flat_two_level"), 3, 0, *comm).run();
    const Domains& domains = state_of(*comm).slabs[0]->lane().domains();
    EXPECT_EQ(domains.first(domains.of(50)), 50);
    EXPECT_EQ(domains.count(), 9);
  });
}

TEST(ManyRanks, SlabsComeBack) {
  test::World(65).run([](Process& process) {
    std::set<uint32_t> seen;
    for (int round = 0; round < 24; ++round) {
      const core::Ref<core::Communicator> comm = derived(process, round);
      for (int call = 0; call < 5; ++call)
        Trial(process, row(Collective::kBcast, "flat_two_level"), 4, round % 65, *comm).run();
      Trial(process, row(Collective::kReduce, "flat_two_level"), 4, 64 - round, *comm).run();
      if (round % 4 == 0) Trial(process, row(Collective::kScan, "flat"), 4, 0, *comm).run();
      seen.insert(state_of(*comm).slabs[0]->number());
    }
    EXPECT_LT(seen.size(), 8U);
  });
}

TEST(ManyRanks, AnotherLengthIsAnErrorOfAll) {
  test::World(65).run([](Process& process) {
    core::Datatype& type = core::predefined_type(process, MPI_INT);
    std::vector<int> from(4, 1), to(4, -1);
    const MPI_Count count = process.world_rank == 20 ? 3 : 4;
    Operation sum{};
    sum.collective = Collective::kAllreduce;
    sum.communicator = process.world;
    sum.op = process.handles.find<core::Op>(MPI_SUM);
    sum.input = {from.data(), count, &type};
    sum.output = {to.data(), count, &type};
    EXPECT_NE(process.channel(0).coll->run(sum), MPI_SUCCESS);
    const std::string why = take_last_error().text;
    EXPECT_TRUE(why.find("rank 20 passes 12 bytes") != std::string::npos ||
                why.find("has failed; its own error says why") != std::string::npos ||
                why.find("passes 16 bytes, but the arguments of rank 20 say 12") !=
                    std::string::npos)
        << why;
    Trial(process, row(Collective::kAllreduce, "flat_two_level"), 4, 0, *process.world).run();
  });
}

}  // namespace
}  // namespace tern::coll

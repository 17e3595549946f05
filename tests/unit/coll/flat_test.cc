// SPDX-License-Identifier: Apache-2.0
// Collectives in shared memory: exhausted, reused and unexpected slabs, a root ahead of its
// readers, operand order.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "core/slabs.hpp"
#include "tests/unit/coll/derived.hpp"
#include "tests/unit/world.hpp"

namespace tern::coll {
namespace {

using core::Process;
using core::Slabs;

core::Datatype& int_type(Process& process) { return core::predefined_type(process, MPI_INT); }

Operation bcast(core::Communicator& comm, std::vector<int>& data, int root) {
  Operation operation{};
  operation.collective = Collective::kBcast;
  operation.communicator = &comm;
  operation.root = root;
  operation.output = {data.data(), static_cast<MPI_Count>(data.size()), &int_type(comm.process())};
  return operation;
}

Operation sum(core::Communicator& comm, std::vector<int>& from, std::vector<int>& to) {
  Operation operation{};
  operation.collective = Collective::kAllreduce;
  operation.communicator = &comm;
  operation.op = comm.process().handles.find<core::Op>(MPI_SUM);
  const auto count = static_cast<MPI_Count>(from.size());
  operation.input = {from.data(), count, &int_type(comm.process())};
  operation.output = {to.data(), count, &int_type(comm.process())};
  return operation;
}

int run(const Operation& operation) {
  return operation.communicator->channel().coll->run(operation);
}

void expect_sum(Process& process, core::Communicator& comm, int count) {
  std::vector<int> from(static_cast<size_t>(count), process.world_rank + 1), to(from.size());
  ASSERT_EQ(run(sum(comm, from, to)), MPI_SUCCESS) << take_last_error().text;
  const int wanted = process.world_size * (process.world_size + 1) / 2;
  for (const int one : to) ASSERT_EQ(one, wanted);
}

TEST(Flat, WithoutSlabsSchedulesServe) {
  test::World(3).run([](Process& process) {
    Slabs& slabs = *process.channel(0).slabs;
    std::vector<uint32_t> taken;
    for (const auto size : {Slabs::Size::kSmall, Slabs::Size::kLarge}) {
      taken.clear();
      while (process.world_rank == 1) {
        taken.push_back(slabs.claim(size));
        if (taken.back() != Slabs::kNone) continue;
        taken.pop_back();
        break;
      }
      const core::Ref<core::Communicator> comm = derived(process, static_cast<int>(size));
      for (int round = 0; round < 3; ++round)
        expect_sum(process, *comm, size == Slabs::Size::kSmall ? 5 : 4000);
      const CommState& state = static_cast<CommState&>(*comm->coll);
      EXPECT_EQ(state.shares_memory, size == Slabs::Size::kLarge);
      EXPECT_EQ(state.shares_large, size == Slabs::Size::kSmall);
      for (const uint32_t one : taken) slabs.release(size, one);
    }
  });
}

TEST(Flat, SlabsComeBack) {
  test::World(2).run([](Process& process) {
    std::set<uint32_t> seen;
    for (int round = 0; round < 1000; ++round) {
      const core::Ref<core::Communicator> comm = derived(process, round);
      expect_sum(process, *comm, 3);
      const Slab* slab = static_cast<CommState&>(*comm->coll).slabs[0].get();
      ASSERT_NE(slab, nullptr);
      seen.insert(slab->number());
    }
    EXPECT_LT(seen.size(), 64U);
  });
}

const Slab* deep_slab_of(const core::Communicator& comm) {
  const Slab* found = nullptr;
  for (const auto& slab : static_cast<CommState&>(*comm.coll).slabs) {
    if (slab == nullptr || slab->deep == nullptr) continue;
    EXPECT_EQ(found, nullptr);
    found = slab->deep.get();
  }
  return found;
}

void expect_bcasts(Process& process, core::Communicator& comm, size_t count, int calls) {
  for (int i = 0; i < calls; ++i) {
    std::vector<int> data(count, process.world_rank == 0 ? i : -1);
    ASSERT_EQ(run(bcast(comm, data, 0)), MPI_SUCCESS) << take_last_error().text;
    for (const int one : data) ASSERT_EQ(one, i);
  }
}

// A communicator takes a deep slab after some rooted calls.
TEST(Flat, ManyRootedCallsShareADeepSlab) {
  test::World(3).run([](Process& process) {
    std::set<uint32_t> seen;
    for (int round = 0; round < 200; ++round) {
      const core::Ref<core::Communicator> comm = derived(process, round);
      const size_t first = round % 2 == 0 ? 4 : 200, second = 204 - first;
      expect_bcasts(process, *comm, first, 8);
      ASSERT_EQ(deep_slab_of(*comm), nullptr);
      expect_bcasts(process, *comm, first, 10);
      const Slab* const deep = deep_slab_of(*comm);
      ASSERT_NE(deep, nullptr);
      seen.insert(deep->number());
      expect_sum(process, *comm, static_cast<int>(second));
      expect_bcasts(process, *comm, second, 80);
      ASSERT_EQ(deep_slab_of(*comm), deep);
    }
    EXPECT_LT(seen.size(), 33U);
  });
}

TEST(Flat, WithoutADeepSlabTheOthersServe) {
  test::World(3).run([](Process& process) {
    Slabs& slabs = *process.channel(0).slabs;
    std::vector<uint32_t> taken;
    for (uint32_t one = 0; process.world_rank == 1 && one != Slabs::kNone;) {
      one = slabs.claim(Slabs::Size::kDeep);
      if (one != Slabs::kNone) taken.push_back(one);
    }
    expect_bcasts(process, *process.world, 4, 50);
    expect_bcasts(process, *process.world, 200, 50);
    EXPECT_EQ(deep_slab_of(*process.world), nullptr);
    EXPECT_TRUE(static_cast<CommState&>(*process.world->coll).shares_large);
    for (const uint32_t one : taken) slabs.release(Slabs::Size::kDeep, one);
  });
}

TEST(Flat, ALengthThatNobodyExpectsIsAnError) {
  test::World(2).run([](Process& process) {
    expect_sum(process, *process.world, 1);
    std::vector<int> data(process.world_rank == 0 ? 4 : 3, 7);
    const int code = run(bcast(*process.world, data, 0));
    if (process.world_rank == 0) {
      EXPECT_EQ(code, MPI_SUCCESS);
    } else {
      EXPECT_EQ(code, MPI_ERR_TRUNCATE);
      EXPECT_EQ(take_last_error().text,
                "bcast: rank 0 passes 16 bytes, but the arguments of rank 1 say 12");
    }
    expect_sum(process, *process.world, 1);
  });
}

// The first rank to leave frees its slab while peers still read.
TEST(Flat, SlabsOfCopiesBetweenBuffersComeBackLate) {
  test::World(4).run([](Process& process) {
    std::minstd_rand random(static_cast<unsigned>(process.world_rank) + 1);
    const Algorithm& row = *find_algorithm(Collective::kAllgather, "flat_direct");
    process.channel(0).coll->force(row);
    for (int round = 0; round < 300; ++round) {
      const core::Ref<core::Communicator> comm = derived(process, round);
      std::vector<int> own(200, process.world_rank), all(800, -1);
      Operation operation{};
      operation.collective = Collective::kAllgather;
      operation.communicator = comm.get();
      operation.input = {own.data(), 200, &int_type(process)};
      operation.output = {all.data(), 200, &int_type(process)};
      ASSERT_EQ(run(operation), MPI_SUCCESS);
      for (int i = 0; i < 800; ++i) ASSERT_EQ(all[static_cast<size_t>(i)], i / 200);
      for (unsigned yields = random() % 4; yields > 0; --yields) std::this_thread::yield();
    }
  });
}

TEST(Flat, ARootRunsAheadOfSlowReaders) {
  test::World(3).run([](Process& process) {
    for (const size_t count : {size_t{4}, size_t{100}, size_t{5000}})
      for (int round = 0; round < 200; ++round) {
        std::vector<int> data(count, process.world_rank == 0 ? round : -1);
        if (process.world_rank == 2 && round % 8 == 0)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ASSERT_EQ(run(bcast(*process.world, data, 0)), MPI_SUCCESS);
        for (const int one : data) ASSERT_EQ(one, round);
      }
  });
}

Operation in_place(Operation operation) {
  std::copy_n(static_cast<const int*>(operation.input.address), operation.input.count,
              static_cast<int*>(operation.output.address));
  operation.input.address = operation.output.address;
  operation.in_place = true;
  return operation;
}

class FlatReductions : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, FlatReductions, testing::Values(2, 4));

TEST_P(FlatReductions, TakeOperandsInTheOrderOfRanks) {
  test::World(GetParam()).run([](Process& process) {
    const auto joined = core::Ref<core::Op>::adopt(new core::Op(
        +[](void* in, void* inout, int* count, MPI_Datatype*) {
          // The operation appends decimal digits and does not commute.
          const auto* left = static_cast<const int*>(in);
          auto* right = static_cast<int*>(inout);
          for (int i = 0; i < *count; ++i) {
            int scale = 1;
            while (scale <= right[i]) scale *= 10;
            right[i] += left[i] * scale;
          }
        },
        false));
    for (const char* row : {"flat", "flat_sliced", "flat_direct"}) {
      process.channel(0).coll->force(*find_algorithm(Collective::kAllreduce, row));
      for (const size_t count : {1, 100, 3000, 40000})
        for (const bool onto_own : {false, true}) {
          std::vector<int> from(count, process.world_rank + 1), to(count);
          Operation operation = sum(*process.world, from, to);
          operation.op = joined.get();
          ASSERT_EQ(run(onto_own ? in_place(operation) : operation), MPI_SUCCESS);
          for (const int one : to) ASSERT_EQ(one, GetParam() == 2 ? 12 : 1234) << row << count;
        }
    }
  });
}

TEST_P(FlatReductions, InPlaceTheSumIsTheSame) {
  test::World(GetParam()).run([](Process& process) {
    for (const char* row : {"flat", "flat_sliced", "flat_direct"}) {
      process.channel(0).coll->force(*find_algorithm(Collective::kAllreduce, row));
      for (const int count : {1, 3001, 40000, 100000}) {
        std::vector<int> from(static_cast<size_t>(count)), to(from.size());
        for (int i = 0; i < count; ++i) from[static_cast<size_t>(i)] = i * (process.world_rank + 1);
        ASSERT_EQ(run(in_place(sum(*process.world, from, to))), MPI_SUCCESS);
        const int ranks = GetParam();
        for (int i = 0; i < count; ++i)
          ASSERT_EQ(to[static_cast<size_t>(i)], i * (ranks * (ranks + 1) / 2)) << row << i;
      }
    }
  });
}

}  // namespace
}  // namespace tern::coll

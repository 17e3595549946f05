// SPDX-License-Identifier: Apache-2.0
// Every row of the table with ranks as threads over the real transports (ThreadSanitizer sees all
// of them): each rank's result against a serial reference, for small and large counts, all roots.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "coll/coll.hpp"
#include "tests/unit/coll/derived.hpp"
#include "tests/unit/coll/rows.hpp"
#include "tests/unit/world.hpp"

namespace tern::coll {
namespace {

using core::Process;

int value(int rank, int64_t i) { return rank * 7919 + static_cast<int>(i % 100003) * 3; }
int sum(int first, int end, int64_t i) {
  int total = 0;
  for (int r = first; r < end; ++r) total += value(r, i);
  return total;
}

/// One call of one rank. Inputs are value(rank, i) over all of the input's elements.
class Trial {
 public:
  Trial(Process& process, const Algorithm& row, int64_t count, int root,
        core::Communicator& communicator)
      : process_(process), row_(row), count_(count), root_(root), communicator_(communicator) {
    const int64_t all = count * ranks();
    for (int64_t i = 0; i < all; ++i) input_.push_back(value(rank(), i));
    output_.assign(static_cast<size_t>(all), -1);
    if (row.collective == Collective::kBcast) output_ = input_;
  }

  void run() {
    Operation operation{};
    operation.collective = row_.collective;
    operation.communicator = &communicator_;
    operation.root = root_;
    operation.op = reduces(row_.collective) ? process_.handles.find<core::Op>(MPI_SUM) : nullptr;
    core::Datatype& type = core::predefined_type(process_, MPI_INT);
    const bool root = rank() == root_, all = !rooted(row_.collective);
    if (row_.collective != Collective::kBarrier) {
      if (row_.collective != Collective::kBcast &&
          (all || root || row_.collective != Collective::kScatter))
        operation.input = {input_.data(), count_, &type};
      const bool to_root =
          row_.collective == Collective::kGather || row_.collective == Collective::kReduce;
      if (all || root || !to_root) operation.output = {output_.data(), count_, &type};
    }
    ASSERT_EQ(process_.channel(0).coll->run(operation), MPI_SUCCESS) << take_last_error().text;
    check();
  }

 private:
  [[nodiscard]] int rank() const { return process_.world_rank; }
  [[nodiscard]] int ranks() const { return process_.world_size; }

  void expect(int64_t place, int wanted) {
    ASSERT_EQ(output_[static_cast<size_t>(place)], wanted)
        << name_of(row_.collective) << " " << row_.name << ", rank " << rank() << " of " << ranks()
        << ", root " << root_ << ", element " << place << " of " << count_;
  }

  void check() {
    const bool root = rank() == root_;
    for (int64_t i = 0; i < count_ && !testing::Test::HasFatalFailure(); ++i)
      check_element(i, root);
  }

  void check_element(int64_t i, bool root) {
    using enum Collective;
    switch (row_.collective) {
      case kBarrier:
        return;
      case kBcast:
        return expect(i, value(root_, i));
      case kScatter:
        return expect(i, value(root_, rank() * count_ + i));
      case kGather:
      case kAllgather:
        for (int r = 0; r < ranks() && (root || row_.collective == kAllgather); ++r)
          expect(r * count_ + i, value(r, i));
        return;
      case kAlltoall:
        for (int r = 0; r < ranks(); ++r) expect(r * count_ + i, value(r, rank() * count_ + i));
        return;
      case kReduce:
        if (!root) return;
        [[fallthrough]];
      case kAllreduce:
        return expect(i, sum(0, ranks(), i));
      case kReduceScatter:
        return expect(i, sum(0, ranks(), rank() * count_ + i));
      case kScan:
        return expect(i, sum(0, rank() + 1, i));
      case kExscan:
        if (rank() > 0) expect(i, sum(0, rank(), i));
        return;
      case kNeighborAllgather:
      case kNeighborAlltoall:
        return;  // no row of global_algorithms()
    }
  }

  Process& process_;
  const Algorithm& row_;
  const int64_t count_;
  const int root_;
  core::Communicator& communicator_;
  std::vector<int> input_, output_;
};

void try_rows(Process& process, const std::vector<Algorithm>& rows) {
  for (const Algorithm& row : rows) {
    process.channel(0).coll->force(row);
    for (const int64_t count : {0, 1, 17, 5000, 40000})
      for (int root = 0; root < (rooted(row.collective) && count < 100 ? process.world_size : 1);
           ++root)
        Trial(process, row, count, root, *process.world).run();
  }
}

class Threads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Threads, testing::Values(2, 3, 6, 8));

TEST_P(Threads, EveryRowAgreesWithASerialReference) {
  test::World(GetParam(), {{"TERN_COLL_LEVELS", "4,2"}}).run([](Process& process) {
    try_rows(process, rows(true));
  });
}

TEST_P(Threads, RowsInSharedMemoryAgreeWithASerialReference) {
  test::World(GetParam()).run([](Process& process) { try_rows(process, rows(false)); });
}

// A communicator's slab is another's as soon as nobody reads it: roots run ahead of slow readers.
TEST_P(Threads, SlabsChangeHands) {
  test::World(GetParam()).run([](Process& process) {
    const Algorithm& bcast = *find_algorithm(Collective::kBcast, "flat");
    const Algorithm& allreduce = *find_algorithm(Collective::kAllreduce, "flat");
    process.channel(0).coll->force(bcast);
    process.channel(0).coll->force(allreduce);
    for (int round = 0; round < 200; ++round) {
      const core::Ref<core::Communicator> copy = derived(process, round);
      const int root = round % process.world_size;
      Trial(process, bcast, 1 + round % 150, root, *copy).run();
      if (round % 3 == 0) Trial(process, allreduce, 40, 0, *copy).run();
      if (round % 7 == process.world_rank) std::this_thread::yield();
    }
  });
}

}  // namespace
}  // namespace tern::coll

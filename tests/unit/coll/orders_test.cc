// SPDX-License-Identifier: Apache-2.0
// Operand order: rows with same_bits() reduce from the last operand to the first.
#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "coll/select/rules.hpp"
#include "tests/unit/world.hpp"

namespace tern::coll {
namespace {

using core::Process;
using Words = std::vector<uint64_t>;

/// mix() is neither commutative nor associative.
uint64_t mix(uint64_t left, uint64_t right) {
  uint64_t word = left * 0x9e3779b97f4a7c15 ^ (right << 17 | right >> 47) * 0xc2b2ae3d27d4eb4f;
  word ^= word >> 29;
  return word * 0xbf58476d1ce4e5b9 + 1;
}

void mix_all(void* in, void* inout, MPI_Count* count, MPI_Datatype* /*type*/) {
  const auto* const left = static_cast<const uint64_t*>(in);
  auto* const right = static_cast<uint64_t*>(inout);
  for (MPI_Count i = 0; i < *count; ++i) right[i] = mix(left[i], right[i]);
}

uint64_t input_of(int rank, size_t element) { return 1000 * element + static_cast<uint64_t>(rank); }

uint64_t result_of(int end, size_t element) {
  uint64_t word = input_of(end - 1, element);
  for (int rank = end - 2; rank >= 0; --rank) word = mix(input_of(rank, element), word);
  return word;
}

bool is_alike(const Algorithm& row, int ranks) {
  const Algorithm& slots = *find_algorithm(row.collective, "flat");
  Question question{row.collective, ranks, 8};
  question.any_order = false;
  return same_bits(row, slots, question);
}

struct Call {
  Operation operation{};
  Words from, to;
  size_t first = 0;
  int end = 0;
};

Call call_of(const Algorithm& row, Process& process, core::Op& op, size_t count) {
  const int ranks = process.world_size, mine = process.world_rank;
  const bool scatters = row.collective == Collective::kReduceScatter;
  core::Datatype& type = core::predefined_type(process, MPI_UINT64_T);
  Call call;
  call.from.resize(count * static_cast<size_t>(scatters ? ranks : 1));
  for (size_t i = 0; i < call.from.size(); ++i) call.from[i] = input_of(mine, i);
  call.to.resize(count);
  call.first = scatters ? count * static_cast<size_t>(mine) : 0;
  call.end = row.collective == Collective::kScan     ? mine + 1
             : row.collective == Collective::kExscan ? mine
                                                     : ranks;
  if (row.collective == Collective::kReduce && mine != 0) call.end = 0;
  const auto length = static_cast<MPI_Count>(count);
  call.operation.collective = row.collective;
  call.operation.communicator = process.world;
  call.operation.op = &op;
  call.operation.input = {call.from.data(), length, &type};
  call.operation.output = {call.to.data(), length, &type};
  return call;
}

void expect_order(const Algorithm& row, Process& process, core::Op& op, size_t count) {
  Call call = call_of(row, process, op, count);
  ASSERT_EQ(process.channel(0).coll->run(call.operation), MPI_SUCCESS) << take_last_error().text;
  if (call.end == 0) return;
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(call.to[i], result_of(call.end, call.first + i))
        << name_of(row.collective) << " " << row.name << ", " << count << " elements of "
        << process.world_size << " ranks, element " << i;
}

class Orders : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Orders, testing::Values(2, 3, 4, 5, 8));

TEST_P(Orders, RowsOfTheSameBitsHaveTheSameTree) {
  for (const Algorithm& row : global_algorithms()) {
    if (!reduces(row.collective) || !is_alike(row, GetParam())) continue;
    test::World(GetParam()).run([&](Process& process) {
      core::Op op(mix_all, true);  // declared commutative, so every row may serve
      process.channel(0).coll->force(row);
      for (const size_t count : {size_t{1}, size_t{40}, size_t{2000}, size_t{50000}})
        expect_order(row, process, op, count);
    });
  }
}

TEST(Orders, RowsOfOtherTreesAreNotTakenForAlike) {
  EXPECT_FALSE(is_alike(*find_algorithm(Collective::kScan, "linear"), 3));
  EXPECT_FALSE(is_alike(*find_algorithm(Collective::kExscan, "linear"), 3));
  EXPECT_FALSE(is_alike(*find_algorithm(Collective::kAllreduce, "ring"), 4));
  EXPECT_FALSE(is_alike(*find_algorithm(Collective::kAllreduce, "flat_two_level"), 4));
}

}  // namespace
}  // namespace tern::coll

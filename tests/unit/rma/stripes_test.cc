// SPDX-License-Identifier: Apache-2.0
// Accumulates under stripes, in local memory and by kernel copies.
#include "rma/stripes.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "core/reduce/table.hpp"
#include "mpi.h"
#include "rma/far_elements.hpp"

namespace tern::rma {
namespace {

Element element_of(Reduction reduction, Number number, size_t size, size_t extent) {
  Element element;
  element.loop = core::loops::best_table().row(reduction)[static_cast<size_t>(number)];
  element.size = size;
  element.extent = element.span = extent;
  element.alignment = std::min<size_t>(extent & -extent, 8);
  return element;
}

class StripesFixture {
 protected:
  StripesFixture() : block_(Control::bytes_for(4) + 64), memory_(size_t{1} << 18) {
    void* start = block_.data();
    size_t room = block_.size();
    control_ =
        Control(static_cast<std::byte*>(std::align(64, Control::bytes_for(4), start, room)), 4);
  }
  std::vector<std::byte> block_, memory_;
  Control control_;
};

class Stripes : public StripesFixture, public testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] std::unique_ptr<ElementMemory> memory() const {
    const Shared shared{control_, memory_.data(), ::getpid()};
    if (GetParam()) return std::make_unique<FarElements>(shared, ::getpid());
    return std::make_unique<MappedElements>(shared);
  }
};
class FarStripes : public StripesFixture, public testing::Test {};

INSTANTIATE_TEST_SUITE_P(Ways, Stripes, testing::Bool(), [](const auto& way) {
  return std::string(way.param ? "copied" : "shared");
});

TEST_P(Stripes, NoElementIsLost) {
  constexpr int kThreads = 4, kRounds = 2000;
  const Element sums = element_of(Reduction::kSum, Number::kInt64, 8, 8);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      const int64_t one = 1;
      int64_t before = 0;
      for (int round = 0; round < kRounds; ++round)
        ASSERT_EQ(memory()->apply(memory_.data() + 3, 1, sums,
                                  {reinterpret_cast<const std::byte*>(&one),
                                   reinterpret_cast<std::byte*>(&before)}),
                  MPI_SUCCESS);
    });
  for (std::thread& thread : threads) thread.join();
  int64_t sum = 0;
  std::memcpy(&sum, memory_.data() + 3, sizeof sum);
  EXPECT_EQ(sum, kThreads * kRounds);
}

TEST_P(Stripes, LongVectorsCrossStripes) {
  const size_t count = memory_.size() / 8 - 1;
  std::vector<double> in(count), before(count, -1);
  for (size_t i = 0; i < count; ++i) in[i] = static_cast<double>(i);
  const Element sums = element_of(Reduction::kSum, Number::kDouble, 8, 8);
  const Operands operands{reinterpret_cast<const std::byte*>(in.data()),
                          reinterpret_cast<std::byte*>(before.data())};
  for (int round = 0; round < 2; ++round)
    ASSERT_EQ(memory()->apply(memory_.data() + 8, count, sums, operands), MPI_SUCCESS);
  for (size_t i = 0; i < count; ++i) {
    double value = 0;
    std::memcpy(&value, memory_.data() + 8 + i * 8, sizeof value);
    ASSERT_EQ(value, 2.0 * static_cast<double>(i));
    ASSERT_EQ(before[i], static_cast<double>(i));
  }
}

TEST_P(Stripes, PaddedElementsBeginWhereTheirFirstByteIs) {
  struct Pair {
    short value;
    int index;
  };
  const Element least = element_of(Reduction::kMinloc, Number::kShortInt, 6, sizeof(Pair));
  auto* const pairs = reinterpret_cast<Pair*>(memory_.data());
  for (int i = 0; i < 4; ++i) pairs[i] = {5, 50 + i};
  const Pair in[] = {{9, 0}, {1, 1}, {5, 2}};
  const iovec pieces[] = {{&pairs[0].index, 4}, {&pairs[1].value, 2}, {&pairs[1].index, 4},
                          {&pairs[2].value, 2}, {&pairs[2].index, 4}, {&pairs[3].value, 2}};
  ASSERT_EQ(memory()->apply(pieces, 6, 2, least, {reinterpret_cast<const std::byte*>(in), nullptr}),
            MPI_SUCCESS);
  EXPECT_EQ(pairs[0].index, 50);
  EXPECT_EQ(pairs[1].value, 5);
  EXPECT_EQ(pairs[1].index, 51);
  EXPECT_EQ(pairs[2].value, 1);
  EXPECT_EQ(pairs[2].index, 1);
  EXPECT_EQ(pairs[3].value, 5);
  EXPECT_EQ(pairs[3].index, 2);
}

TEST_P(Stripes, TheGapBehindAnElementIsLeftAlone) {
  struct Pair {
    double value;
    int index;
  };
  Element most = element_of(Reduction::kMaxloc, Number::kDoubleInt, 12, sizeof(Pair));
  most.span = 12;
  std::memset(memory_.data(), 0x55, 2 * sizeof(Pair));
  const Pair zero{0, 0}, in{3, 4};
  std::memcpy(memory_.data(), &zero, 12);
  ASSERT_EQ(
      memory()->apply(memory_.data(), 1, most, {reinterpret_cast<const std::byte*>(&in), nullptr}),
      MPI_SUCCESS);
  EXPECT_EQ(std::memcmp(memory_.data(), &in, 12), 0);
  for (size_t i = 12; i < 2 * sizeof(Pair); ++i) ASSERT_EQ(memory_[i], std::byte{0x55});
}

TEST_P(Stripes, ManyPiecesOfManyStripes) {
  constexpr size_t kPieces = 200, kStride = 1304;
  const Element sums = element_of(Reduction::kSum, Number::kInt64, 8, 8);
  std::vector<int64_t> in(2 * kPieces), before(in.size(), -1);
  std::vector<iovec> pieces;
  for (size_t i = 0; i < kPieces; ++i) pieces.push_back({memory_.data() + i * kStride, 16});
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int64_t>(i);
  const Operands operands{reinterpret_cast<const std::byte*>(in.data()),
                          reinterpret_cast<std::byte*>(before.data())};
  for (int round = 0; round < 2; ++round)
    ASSERT_EQ(memory()->apply(pieces.data(), kPieces, 0, sums, operands), MPI_SUCCESS);
  for (size_t i = 0; i < in.size(); ++i) {
    int64_t value = 0;
    std::memcpy(&value, memory_.data() + i / 2 * kStride + i % 2 * 8, sizeof value);
    ASSERT_EQ(value, 2 * in[i]);
    ASSERT_EQ(before[i], in[i]);
  }
  EXPECT_EQ(memory_[16], std::byte{0});
}

TEST_F(FarStripes, MemoryThatIsNotThereIsAnError) {
  auto* const nowhere = reinterpret_cast<std::byte*>(64);
  int64_t one = 1, old = 0;
  const Element sums = element_of(Reduction::kSum, Number::kInt64, 8, 8);
  const Operands operands{reinterpret_cast<const std::byte*>(&one), nullptr};
  FarElements far({control_, nullptr, ::getpid()}, ::getpid());
  EXPECT_EQ(far.apply(nowhere, 1, sums, operands), MPI_ERR_OTHER);
  EXPECT_EQ(far.compare_and_swap(nowhere, 8, &one, &one, &old), MPI_ERR_OTHER);
  for (const auto& stripe : control_.head().stripes) EXPECT_EQ(stripe.holder.load(), 0);
}

TEST_P(Stripes, SwapsOnlyWhatWasExpected) {
  int old = -1;
  const int none = 0, seven = 7, eight = 8;
  ASSERT_EQ(memory()->compare_and_swap(memory_.data(), 4, &none, &seven, &old), MPI_SUCCESS);
  EXPECT_EQ(old, 0);
  ASSERT_EQ(memory()->compare_and_swap(memory_.data(), 4, &none, &eight, &old), MPI_SUCCESS);
  EXPECT_EQ(old, 7);
}

TEST_P(Stripes, AHolderThatHasDiedIsAnError) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_GT(child, 0);
  control_.stripe(0).holder.store(child);
  int64_t one = 1;
  const Element sums = element_of(Reduction::kSum, Number::kInt64, 8, 8);
  EXPECT_EQ(
      memory()->apply(memory_.data(), 1, sums, {reinterpret_cast<const std::byte*>(&one), nullptr}),
      MPI_ERR_OTHER);
  EXPECT_NE(take_last_error().text.find(strf("pid %d", child)), std::string::npos);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace tern::rma

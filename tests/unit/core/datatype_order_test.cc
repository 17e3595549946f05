// SPDX-License-Identifier: Apache-2.0
// The order of layouts, against a list of all bytes.
#include "core/datatype_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/datatype_build.hpp"
#include "core/error_handler.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::core {
namespace {

using Type = Ref<Datatype>;

class Order : public ::testing::Test {
 protected:
  Order() {
    make_predefined_error_handlers(process_);
    make_predefined_types(process_);
  }
  ~Order() override { free_predefined_types(process_); }

  Type base(int64_t bytes) {
    return TypeBuilder().contiguous(bytes, predefined_type(process_, MPI_BYTE));
  }
  /// Types whose displacements rise, and others.
  Type random(std::mt19937& draw, int depth) {
    const auto number = [&](int64_t least, int64_t most) {
      return std::uniform_int_distribution<int64_t>(least, most)(draw);
    };
    const Type old = depth == 0 ? base(number(1, 5)) : random(draw, depth - 1);
    const int64_t step = std::max<int64_t>(1, old->true_extent()) + number(-1, 4);
    switch (number(0, 3)) {
      case 0:
        return TypeBuilder().hvector(number(1, 4), 1, step, *old);
      case 1: {
        std::vector<MPI_Count> lengths, places;
        MPI_Count at = 0;
        for (int64_t i = number(1, 4); i > 0; --i) {
          lengths.push_back(1);
          places.push_back(at);
          at += step + number(0, 3);
        }
        return TypeBuilder().hindexed(static_cast<MPI_Count>(places.size()), lengths.data(),
                                      places.data(), *old);
      }
      case 2: {
        const Type other = base(number(1, 3));
        const MPI_Count lengths[] = {1, 1}, places[] = {0, step};
        Datatype* const types[] = {old.get(), other.get()};
        return TypeBuilder().structure(2, lengths, places, types);
      }
      default:
        return TypeBuilder().resized(*old, 0, old->true_extent() + number(0, 6));
    }
  }
  static std::vector<int64_t> bytes_of(const Datatype& type, int64_t copies) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < type.size() * copies; ++i) {
      iovec block{};
      size_t covered = 0;
      (void)type.pieces(nullptr, copies, static_cast<size_t>(i), 1, &block, 1, &covered);
      all.push_back(reinterpret_cast<intptr_t>(block.iov_base));
    }
    return all;
  }

  Process process_;
};

TEST_F(Order, RisesExactlyIfTheBytesRise) {
  std::mt19937 draw(1);
  int rising = 0, other = 0;
  for (int round = 0; round < 2000; ++round) {
    const Type type = random(draw, round % 4);
    const std::vector<int64_t> bytes = bytes_of(*type, 1);
    const bool rises =
        std::adjacent_find(bytes.begin(), bytes.end(), std::greater_equal<>()) == bytes.end();
    EXPECT_EQ(order_of(type->layout()).rises(), rises) << "round " << round;
    ++(rises ? rising : other);
  }
  EXPECT_GT(rising, 200);
  EXPECT_GT(other, 200);
}

TEST_F(Order, CopiesRiseExactlyIfTheBytesOfTwoCopiesRise) {
  std::mt19937 draw(2);
  for (int round = 0; round < 2000; ++round) {
    const Type type = random(draw, round % 4);
    const std::vector<int64_t> bytes = bytes_of(*type, 2);
    const bool rises =
        std::adjacent_find(bytes.begin(), bytes.end(), std::greater_equal<>()) == bytes.end();
    EXPECT_EQ(order_of_copies(type->layout(), type->extent()).rises(), rises) << "round " << round;
  }
}

TEST_F(Order, CountsThePackedBytesInFrontOfEachDisplacement) {
  std::mt19937 draw(3);
  for (int round = 0; round < 1000; ++round) {
    const Type type = random(draw, round % 4);
    if (!order_of(type->layout()).rises()) continue;
    const std::vector<int64_t> bytes = bytes_of(*type, 1);
    for (int64_t at = -1; at <= bytes.back() + 2; ++at) {
      const auto before = std::lower_bound(bytes.begin(), bytes.end(), at) - bytes.begin();
      ASSERT_EQ(packed_before(type->layout(), at), before) << "round " << round << " at " << at;
    }
  }
}

TEST_F(Order, BitsDivideDisplacementsAndLengths) {
  std::mt19937 draw(4);
  for (int round = 0; round < 500; ++round) {
    const Type type = random(draw, round % 3);
    const uint64_t bits = order_of(type->layout()).bits;
    const auto unit = static_cast<int64_t>(bits & -bits);
    std::vector<iovec> blocks(64);
    size_t covered = 0;
    const size_t count = type->pieces(nullptr, 1, 0, static_cast<size_t>(type->size()),
                                      blocks.data(), blocks.size(), &covered);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(reinterpret_cast<intptr_t>(blocks[i].iov_base) % unit, 0) << "round " << round;
      EXPECT_EQ(static_cast<int64_t>(blocks[i].iov_len) % unit, 0) << "round " << round;
    }
  }
}

TEST_F(Order, FallsAndOverlapsAreTold) {
  const Type byte = base(1);
  const MPI_Count lengths[] = {1, 1}, falling[] = {3, 0};
  EXPECT_TRUE(order_of(TypeBuilder().hindexed(2, lengths, falling, *byte)->layout()).falls);
  const Type four = base(4);
  const MPI_Count near[] = {0, 2};
  const LayoutOrder order = order_of(TypeBuilder().hindexed(2, lengths, near, *four)->layout());
  EXPECT_TRUE(order.overlaps);
  EXPECT_FALSE(order.falls);
}

}  // namespace
}  // namespace tern::core

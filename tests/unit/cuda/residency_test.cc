// SPDX-License-Identifier: Apache-2.0
// Residency: shares of a GPU's places for waiting thread blocks.
#include "cuda/residency.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tern::cuda {
namespace {

constexpr int kMost = 132;

TEST(Residency, SharesNeverExceedThePlaces) {
  Residency gpu;
  std::vector<std::unique_ptr<Residency::Share>> all;
  int sum = 0, with_some = 0;
  for (int i = 0; i < 64; ++i) {
    all.push_back(gpu.share());
    const int got = all.back()->take(8, kMost);
    EXPECT_LE(got, 8);
    sum += got;
    with_some += got > 0 ? 1 : 0;
  }
  EXPECT_EQ(sum, kMost);
  EXPECT_GT(with_some, 14);
}

TEST(Residency, TheFirstGetWhatTheyWant) {
  Residency gpu;
  std::vector<std::unique_ptr<Residency::Share>> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(gpu.share());
    EXPECT_EQ(all.back()->take(8, kMost), 8);
  }
}

TEST(Residency, OnePlaceInEightStaysForOtherKernels) {
  EXPECT_EQ(Residency::for_waiting(132), 116);
  EXPECT_EQ(Residency::for_waiting(8), 7);
  EXPECT_EQ(Residency::for_waiting(1), 0);
  Residency gpu;
  const auto one = gpu.share();
  EXPECT_EQ(one->take(8, Residency::for_waiting(0)), 0);
  EXPECT_EQ(one->take(8, 0), 0);
  EXPECT_EQ(one->take(8, 1), 1);
}

TEST(Residency, WhatIsSpareIsAQuarterOfTheRest) {
  Residency gpu;
  const auto one = gpu.share(), other = gpu.share();
  EXPECT_EQ(one->take(8, 7), 4);
  EXPECT_EQ(other->take_spare(2, 7), 0);
  one->keep(1);
  EXPECT_EQ(other->take_spare(2, 7), 1);
  EXPECT_EQ(other->take_spare(2, kMost), 2);
}

TEST(Residency, PlacesComeBackWithAShare) {
  Residency gpu;
  auto one = gpu.share();
  EXPECT_EQ(one->take(8, 7), 4);
  const auto other = gpu.share();
  EXPECT_EQ(other->take(8, 7), 2);
  one.reset();
  EXPECT_EQ(other->take(8, 7), 5);
}

TEST(Residency, WhatIsKeptLessIsFree) {
  Residency gpu;
  const auto one = gpu.share(), other = gpu.share();
  EXPECT_EQ(one->take(8, 7), 4);
  one->keep(1);
  EXPECT_EQ(other->take(8, 7), 3);
  one->keep(8);
  EXPECT_EQ(gpu.share()->take(8, 7), 2);
}

TEST(Residency, ARetiredShareIsTakenWhenItsKernelsAreOver) {
  Residency gpu;
  bool over = false;
  const auto old = gpu.share(), fresh = gpu.share();
  EXPECT_EQ(old->take(7, 7), 4);
  old->retire([&] { return over; });
  EXPECT_EQ(fresh->take(4, 7), 2);
  over = true;
  EXPECT_EQ(fresh->take(4, 7), 4);
  EXPECT_EQ(old->take(7, 7), 2);
}

TEST(Residency, ARetiredShareThatNobodyWantsKeepsItsPlaces) {
  Residency gpu;
  const auto old = gpu.share();
  EXPECT_EQ(old->take(4, kMost), 4);
  old->retire([] { return true; });
  EXPECT_EQ(gpu.share()->take(4, kMost), 4);
  EXPECT_EQ(old->take(4, kMost), 4);
}

TEST(Residency, AShareOnFewMultiprocessorsLimitsAll) {
  Residency gpu;
  const auto wide = gpu.share(), narrow = gpu.share(), late = gpu.share();
  EXPECT_EQ(wide->take(8, kMost), 8);
  EXPECT_EQ(narrow->take(8, 7), 0);
  wide->keep(2);
  EXPECT_EQ(narrow->take(8, 7), 3);
  EXPECT_EQ(late->take(8, kMost), 1);
  EXPECT_EQ(wide->take(8, kMost), 3);
}

TEST(Residency, OrdinaryCallsHaveOneShare) {
  Residency gpu;
  const int first = gpu.ordinary(8, kMost);
  EXPECT_EQ(first, 8);
  EXPECT_EQ(gpu.ordinary(8, kMost), 8);
  EXPECT_EQ(gpu.ordinary(4, kMost), 4);
  EXPECT_EQ(gpu.ordinary(32, kMost), 8);
}

}  // namespace
}  // namespace tern::cuda

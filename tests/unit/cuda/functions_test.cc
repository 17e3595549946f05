// SPDX-License-Identifier: Apache-2.0
// CUDA versions of driver functions, in messages.
#include "cuda/functions.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cuda/driver.hpp"

namespace tern::cuda {
namespace {

TEST(Functions, HaveTheVersionInWhichTheyAppeared) {
  EXPECT_EQ(first_version_of("cuMemcpyAsync"), 12000);
  EXPECT_EQ(first_version_of("cuFuncLoad"), 12040);
  EXPECT_EQ(first_version_of("cuCtxSetFlags"), 12010);
}

TEST(Functions, WhatIsMissingIsToldWithTheDriverThatHasIt) {
  Driver driver;
#define TERN_CUDA_FILL(name, ...) driver.name = reinterpret_cast<decltype(driver.name)>(1);
  TERN_CUDA_FUNCTIONS(TERN_CUDA_FILL, TERN_CUDA_FILL)
#undef TERN_CUDA_FILL
  EXPECT_TRUE(missing_functions(driver).empty());
  driver.version = 12020;
  driver.cuFuncLoad = nullptr;
  driver.cuMemCreate = nullptr;
  const auto missing = missing_functions(driver);
  EXPECT_EQ(missing, (std::vector<std::string>{"cuFuncLoad (12.4)", "cuMemCreate (12.0)"}));
  EXPECT_EQ(lacks_in_words(driver, "cuFuncLoad"),
            "the driver for CUDA 12.2 lacks cuFuncLoad, which needs a driver for CUDA 12.4");
}

TEST(Functions, RequiredOnesAreInDriversFor12_0) {
#define TERN_CUDA_OLD(name, ...) EXPECT_EQ(first_version_of(#name), 12000) << #name;
  TERN_CUDA_REQUIRED(TERN_CUDA_OLD)
#undef TERN_CUDA_OLD
}

}  // namespace
}  // namespace tern::cuda

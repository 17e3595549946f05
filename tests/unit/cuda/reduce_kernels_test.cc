// SPDX-License-Identifier: Apache-2.0
// The reduction kernels on the host shim against the loops of core.
#include <algorithm>

#include "tests/softcuda/shim/launch.h"
#include "tests/unit/cuda/reduce_cases.hpp"

namespace tern::cuda::test {
namespace {

constexpr unsigned kThreads = 64;

class ReduceKernels : public ReduceCases {
 protected:
  static void launch(const Case& c, const std::vector<const void*>& sources, void* target,
                     size_t count, unsigned blocks, const std::vector<void*>& others = {}) {
    const TernHostKernels* kernels = tern_host_kernels();
    const TernHostKernel* kernel = kernels->find(name_of(c.plan.kernel));
    ASSERT_NE(kernel, nullptr) << describe(c);
    SpreadArguments spread{};
    std::copy(others.begin(), others.end(), spread.others);
    spread.also = static_cast<int>(others.size());
    ReduceArguments& arguments = spread.reduction;
    std::copy(sources.begin(), sources.end(), arguments.sources);
    arguments.target = target;
    arguments.count = static_cast<int64_t>(count) * c.plan.factor;
    arguments.n = static_cast<int>(sources.size());
    arguments.operation = static_cast<int>(c.operation);
    ASSERT_EQ(kernel->parameter_bytes, sizeof spread);
    const TernLaunch grid = {{blocks, 1, 1}, {kThreads, 1, 1}, 0, 0};
    char why[256] = "";
    ASSERT_EQ(kernels->launch(kernel, &grid, &spread, why, sizeof why), 0) << why;
  }

  struct Shape {
    size_t n, count;
    unsigned blocks;
    size_t skew_source, skew_target;  // bytes from an alignment of 64
    int in_place;                     // the source's index, or -1
  };

  void check(const Case& c, const Shape& shape) {
    std::vector<std::vector<char>> sources;
    for (size_t k = 0; k < shape.n; ++k) sources.push_back(random_bytes(c, shape.count));
    const std::vector<char> wanted = expected(c, sources, shape.count);
    const size_t bytes = wanted.size(), room = bytes + 192;
    std::vector<std::vector<char>> rooms(shape.n + 1, std::vector<char>(room, '\x5a'));
    const auto border = [](std::vector<char>& v, size_t skew) {
      const auto address = reinterpret_cast<uintptr_t>(v.data());
      return reinterpret_cast<char*>((address + 63) / 64 * 64 + 64 + skew) - (skew > 63 ? 64 : 0);
    };
    std::vector<const void*> given;
    char* target = border(rooms[shape.n], shape.skew_target);
    for (size_t k = 0; k < shape.n; ++k) {
      char* const to = static_cast<int>(k) == shape.in_place
                           ? target
                           : border(rooms[k], shape.skew_source * (k % 3));
      std::memcpy(to, sources[k].data(), bytes);
      given.push_back(to);
    }
    launch(c, given, target, shape.count, shape.blocks);
    const std::string what = " of " + std::to_string(bytes) + ", " + std::to_string(shape.n) +
                             " sources, skews " + std::to_string(shape.skew_source) + " " +
                             std::to_string(shape.skew_target);
    compare(c, target, wanted, shape.count, what);
    ASSERT_EQ(target[-1], '\x5a') << describe(c) << what;
    ASSERT_EQ(target[bytes], '\x5a') << describe(c) << what;
  }
};

TEST_F(ReduceKernels, EveryOperationOnEveryNumber) {
  size_t tried = 0;
  for (const Case& c : cases())
    for (const Shape& shape :
         {Shape{2, 37, 2, 0, 0, -1}, Shape{3, 1, 1, 0, 0, -1}, Shape{4, 2500, 2, 0, 0, 2}}) {
      check(c, shape);
      ++tried;
    }
  EXPECT_EQ(tried, 3U * 147U);
}

TEST_F(ReduceKernels, OneToSixteenSources) {
  for (const Case& c : cases())
    if (c.number == Number::kFloat || c.number == Number::kHalf || c.number == Number::kDoubleInt)
      for (size_t n = 1; n <= kMostSources; ++n) check(c, {n, 301, 3, 0, 0, -1});
}

TEST_F(ReduceKernels, AnyAlignment) {
  for (const Case& c : cases()) {
    const auto element = static_cast<size_t>(c.plan.bytes);
    for (const size_t skew : {size_t{1}, size_t{2}, size_t{4}, size_t{8}, element})
      for (const size_t target : {size_t{0}, size_t{3}, size_t{8}, element})
        check(c, {3, 333, 2, skew, target % 48, -1});
  }
}

TEST_F(ReduceKernels, TheTargetMayBeAnySource) {
  for (const Case& c : cases())
    if (c.number == Number::kInt32 || c.number == Number::kBfloat16)
      for (int which = 0; which < 4; ++which) check(c, {4, 5000, 3, 4, 4, which});
}

// Some targets are among the sources, some lie apart, with other alignments.
TEST_F(ReduceKernels, TheResultGoesToAllTargets) {
  for (const Case& c : cases()) {
    if (c.number != Number::kInt8 && c.number != Number::kFloat && c.number != Number::kDoubleInt)
      continue;
    for (const size_t n : {size_t{2}, size_t{5}, static_cast<size_t>(kMostSources)})
      for (const size_t count : {size_t{1}, size_t{37}, size_t{5000}}) {
        std::vector<std::vector<char>> rooms;
        std::vector<const void*> sources;
        std::vector<void*> others;
        for (size_t k = 0; k < n; ++k) rooms.push_back(random_bytes(c, count));
        const std::vector<char> wanted = expected(c, rooms, count);
        std::vector<char> apart(wanted.size() + 2 * (n + 1), '\x5a');
        for (size_t k = 0; k < n; ++k) sources.push_back(rooms[k].data());
        for (size_t k = 1; k < n; ++k) others.push_back(rooms[k].data());
        others.back() = apart.data() + n;
        launch(c, sources, rooms[0].data(), count, 3, others);
        for (size_t k = 0; k + 1 < n; ++k)
          compare(c, rooms[k].data(), wanted, count, " at target " + std::to_string(k));
        compare(c, apart.data() + n, wanted, count, " at the last target");
        EXPECT_EQ(apart[n - 1], '\x5a');
        EXPECT_EQ(apart[n + wanted.size()], '\x5a');
      }
  }
}

TEST_F(ReduceKernels, WhatTheHostReducesTheDeviceDoesButForWideFloats) {
  for (int o = 0; o < static_cast<int>(Reduction::kReplace); ++o)
    for (int n = 0; n < static_cast<int>(Number::kCount); ++n) {
      const auto operation = static_cast<Reduction>(o);
      const auto number = static_cast<Number>(n);
      const bool wide = number == Number::kLongDouble || number == Number::kQuad ||
                        number == Number::kComplexLongDouble || number == Number::kComplexQuad ||
                        number == Number::kLongDoubleInt;
      const bool host = core::loops::best_table().row(operation)[n] != nullptr;
      EXPECT_EQ(plan_reduce(operation, number).has_value(), host && !wide) << o << " " << n;
    }
}

}  // namespace
}  // namespace tern::cuda::test

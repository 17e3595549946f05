// SPDX-License-Identifier: Apache-2.0
// Marks of engines and wires: kept until a recorded run on a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "base/wire.hpp"
#include "coll/gpu/engine.hpp"
#include "coll/gpu/verdicts.hpp"

namespace tern::coll {
namespace {

constexpr Verdict kPushRan[] = {{"push", "2027-01-31 NVIDIA H100, driver 580.65"}};
constexpr Verdict kBothRan[] = {{"ll", "2027-01-31 A"}, {"push", "2027-01-31 A"}};

TEST(Verdicts, AMarkGoesWithARecordedRun) {
  EXPECT_EQ(mark_of("push", "ll", {}), "push, ll: not yet run on hardware");
  EXPECT_EQ(mark_of("push", "ll", kPushRan), "ll: not yet run on hardware");
  EXPECT_EQ(mark_of("push", "ll", kBothRan), "");
}

TEST(Verdicts, CopiesAreNoWire) {
  EXPECT_EQ(mark_of("stream", "copies", {}), "stream: not yet run on hardware");
}

TEST(Verdicts, AllEnginesAndWiresAreListed) {
  EXPECT_EQ(engines_in_words({}),
            "stream, kernel, push, multicast, exchange: not yet run on hardware");
  EXPECT_EQ(wires_in_words(kBothRan),
            "simple, ll128, bulk, multimem: not yet run on hardware; ll: 2027-01-31 A");
  EXPECT_EQ(engines_in_words(kPushRan),
            "stream, kernel, multicast, exchange: not yet run on hardware; push: 2027-01-31 NVIDIA "
            "H100, driver 580.65");
}

TEST(Verdicts, TheRecordOfThisBuildHasKnownNamesAlone) {
  for (const Verdict& verdict : verdicts())
    EXPECT_TRUE(find_wire(verdict.name) ||
                std::count(std::begin(kEngineNames), std::end(kEngineNames),
                           std::string_view(verdict.name)) == 1)
        << verdict.name;
}

}  // namespace
}  // namespace tern::coll

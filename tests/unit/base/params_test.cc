// SPDX-License-Identifier: Apache-2.0
// Parameters from the environment: units, ranges, and no wrong name or value that passes in
// silence.
#include "base/params.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"

namespace tern {
namespace {

struct Read {
  Params params;
  std::vector<std::string> complaints;
};

Read read(const std::vector<const char*>& lines) {
  std::vector<const char*> environment = lines;
  environment.push_back(nullptr);
  Read result;
  result.params = Params::from(environment.data(), &result.complaints);
  return result;
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(Params, UnitsOfSizesAndTimes) {
  const Read got = read({"TERN_EAGER_LIMIT=16k", "TERN_SPIN=2ms", "TERN_CHECK=0", "HOME=/root"});
  EXPECT_TRUE(got.complaints.empty());
  EXPECT_EQ(got.params.eager_limit, 16384);
  EXPECT_EQ(got.params.spin, 2000);
  EXPECT_EQ(got.params.check, "0");
  EXPECT_FALSE(got.params.checks("types"));
}

TEST(Params, AWrongValueIsNamedAndLeavesTheOthersAlone) {
  const Read got = read({"TERN_SPIN=soon", "TERN_EXPLAIN=1", "TERN_CHECK=maybe", "TERN_SM_RING=1"});
  ASSERT_EQ(got.complaints.size(), 3U);
  EXPECT_TRUE(has(got.complaints[0], "TERN_SPIN is \"soon\"")) << got.complaints[0];
  EXPECT_TRUE(has(got.complaints[0], "its default, 0, is used")) << got.complaints[0];
  EXPECT_TRUE(has(got.complaints[1], "TERN_CHECK is \"maybe\"")) << got.complaints[1];
  EXPECT_TRUE(has(got.complaints[2], "between 4096 and 1048576")) << got.complaints[2];
  EXPECT_EQ(got.params.explain, "1");
  EXPECT_EQ(got.params.check, "1");
  EXPECT_EQ(got.params.sm_ring_bytes, Params().sm_ring_bytes);
}

TEST(Params, AnUnknownNameGetsTheNearestOrTheWholeList) {
  const Read got = read({"TERN_CHEK=0", "TERN_QUICKSTEP=fine", "TERN_CC=clang"});
  ASSERT_EQ(got.complaints.size(), 2U);
  EXPECT_TRUE(has(got.complaints[0], "did you mean TERN_CHECK?")) << got.complaints[0];
  for (const ParamRow& row : Params::rows())
    EXPECT_TRUE(has(got.complaints[1], row.name)) << got.complaints[1];
}

TEST(Params, SetAndGetByName) {
  Params params;
  params.set("TERN_SM_FRAGMENTS", "4");
  EXPECT_EQ(params.get("TERN_SM_FRAGMENTS"), "4");
  EXPECT_THROW(params.set("TERN_SM_FRAGMENTS", "4 chickens"), Error);
  EXPECT_THROW(params.set("TERN_SM_FRAGMENTS", ""), Error);
  EXPECT_THROW(params.set("TERN_SM_FRAGMENT_COUNT_OF_ALL", "4"), Error);
  EXPECT_THROW((void)params.get("NOTHING"), Error);
}

TEST(Params, WordsAreOneOrSomeOfThoseInTheTable) {
  Params params;
  params.set("TERN_CHECK", "types,leaks");
  EXPECT_TRUE(params.checks("types"));
  params.set("TERN_CHECK", "all");
  EXPECT_TRUE(params.checks("leaks"));
  params.set("TERN_EXPLAIN", "json:/tmp/a,b");
  EXPECT_EQ(params.explain, "json:/tmp/a,b");
  params.set("TERN_HANG", "2min");
  EXPECT_EQ(params.hang, 120000000);
  EXPECT_EQ(params.get("TERN_HANG"), "120");
  params.set("TERN_HANG", "1500ms");
  EXPECT_EQ(params.get("TERN_HANG"), "1500ms");
  for (const char* wrong : {"", "types,", "types leaks", "Types"})
    EXPECT_THROW(params.set("TERN_CHECK", wrong), Error) << wrong;
  for (const char* wrong : {"json:", "2", "0,1"})
    EXPECT_THROW(params.set("TERN_EXPLAIN", wrong), Error) << wrong;
  try {
    params.set("TERN_SM_SINGLE_COPY", "triple");
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "TERN_SM_SINGLE_COPY is \"triple\", but it must be one of auto, pipeline, pull, both");
  }
}

TEST(Params, NumbersThatAreNone) {
  EXPECT_EQ(parse_size("1GiB", "x"), int64_t{1} << 30);
  for (const char* text :
       {"", "k", "1 k", "99999999999999999999", "9999999999g", "1.5", "1..5m", "1.5.m"})
    EXPECT_THROW((void)parse_size(text, "x"), Error) << text;
  EXPECT_EQ(parse_size("1.5m", "x"), 3 << 19);
  EXPECT_EQ(parse_time_us("0.25ms", "x"), 250);
  EXPECT_THROW((void)parse_time_us("1h", "x"), Error);
}

}  // namespace
}  // namespace tern

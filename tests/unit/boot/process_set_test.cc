// SPDX-License-Identifier: Apache-2.0
// Process sets: round trip as text, invalid lines, answers of PMIx servers.
#include "boot/process_set.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "boot/pmix_value.hpp"

namespace tern::boot {
namespace {

TEST(ProcessSet, ThereAndBack) {
  const std::vector<ProcessSet> sets{{"ocean", {0, 1, 2, 7}}, {"with a blank", {5}}};
  EXPECT_EQ(write_sets(sets), "0-2,7-7 ocean\n5-5 with a blank\n");
  EXPECT_EQ(read_sets(write_sets(sets), 8), sets);
  EXPECT_EQ(write_sets({}), "");
}

TEST(ProcessSet, WhatMakesNoSenseIsLeftOut) {
  EXPECT_TRUE(read_sets("", 4).empty());
  EXPECT_TRUE(read_sets("\n\n \n- \n0-1\n0-1 \nname\n,, x\n", 4).empty());
  EXPECT_TRUE(read_sets("4-99999999999999 a\n-1 b\n3-2 c\n", 4).empty());
  const std::vector<ProcessSet> some{{"a", {2, 3}}, {"b", {1}}};
  EXPECT_EQ(read_sets("3,2-2147483647,3,x,2 a\n1 b", 4), some);
}

TEST(ProcessSet, NamesOfAList) {
  EXPECT_EQ(names_of(",a,,b c,"), (std::vector<std::string>{"a", "b c"}));
  EXPECT_TRUE(names_of("").empty());
}

pmix_proc_t member(const char* job, pmix_rank_t rank) {
  pmix_proc_t proc{};
  std::strncpy(proc.nspace, job, PMIX_MAX_NSLEN);
  proc.rank = rank;
  return proc;
}

std::vector<int> members(std::vector<pmix_proc_t> procs) {
  pmix_data_array_t array{PMIX_PROC, procs.size(), procs.data()};
  pmix_value_t value{};
  value.type = PMIX_DATA_ARRAY;
  value.data.darray = &array;
  return members_of(value, "job", 4);
}

TEST(ProcessSet, MembersFromAServer) {
  EXPECT_EQ(members({member("job", 3), member("job", 0), member("job", 3)}),
            (std::vector<int>{0, 3}));
  EXPECT_TRUE(members({member("job", 0), member("other", 1)}).empty()) << "of another job";
  EXPECT_TRUE(members({member("job", 4)}).empty());
  EXPECT_TRUE(members({member("job", PMIX_RANK_WILDCARD)}).empty());
  pmix_value_t value{};
  value.type = PMIX_STRING;
  EXPECT_TRUE(members_of(value, "job", 4).empty());
  value.type = PMIX_DATA_ARRAY;
  EXPECT_TRUE(members_of(value, "job", 4).empty());
}

TEST(ProcessSet, AnswersAreFoundWhereverTheServerPutsThem) {
  pmix_info_t inner[2]{}, outer[2]{};
  std::strncpy(inner[1].key, "wanted", PMIX_MAX_KEYLEN);
  std::strncpy(outer[0].key, "other", PMIX_MAX_KEYLEN);
  std::strncpy(outer[1].key, "results", PMIX_MAX_KEYLEN);
  pmix_data_array_t array{PMIX_INFO, 2, inner};
  outer[1].value.type = PMIX_DATA_ARRAY;
  outer[1].value.data.darray = &array;
  EXPECT_EQ(answer_to("wanted", outer, 2), &inner[1].value);
  EXPECT_EQ(answer_to("other", outer, 2), &outer[0].value);
  EXPECT_EQ(answer_to("missing", outer, 2), nullptr);
  EXPECT_EQ(answer_to("wanted", nullptr, 0), nullptr);
}

}  // namespace
}  // namespace tern::boot

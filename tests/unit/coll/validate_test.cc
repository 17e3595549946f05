// SPDX-License-Identifier: Apache-2.0
// The cost model against files of tune: an exact world, a disturbed one, wrong and random files.
#include "coll/laboratory/validate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/error.hpp"
#include "coll/select/question.hpp"
#include "tests/unit/coll/rows.hpp"

namespace tern::coll {
namespace {

/// A file of tune in a world where the model is right, times a row's factor.
std::string file_of(const Model& world, int32_t ranks, int32_t host,
                    const std::string& slow_row = "", double factor = 1) {
  const Levels levels = host == 0 ? Levels{} : Levels::from_sizes(ranks, {host});
  const Levels* const given = levels.empty() ? nullptr : &levels;
  std::string text = strf(
      "# Measured by tern_coll tune on %d ranks, %s; rank 0 on here.\n"
      "# collective    ranks  bytes          algorithm\n"
      "within %.6f %.6f   # latency\nbetween %.6f %.6f\nreduce %.6f\ncopy %.6f\n",
      ranks, given == nullptr ? "without levels" : levels.text().c_str(), world.within.latency,
      world.within.per_second, world.between.latency, world.between.per_second, world.reduce,
      world.copy);
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    if (neighborly(collective)) continue;
    for (const size_t bytes : {8, 2048, 131072, 2097152}) {
      std::string line;
      for (const Algorithm& row : algorithms(collective)) {
        if (!serves(row, ranks, given)) continue;
        Question question{.collective = collective, .ranks = ranks, .bytes = bytes};
        question.levels = given;
        const double time = world.predict(row, question) * (row.name == slow_row ? factor : 1);
        if (time > 0) line += strf("%s %s %.9f us", line.empty() ? "" : ",", row.name, time);
      }
      if (!line.empty()) text += strf("# %s %zu:%s\n", name_of(collective), bytes, line.c_str());
    }
    text += strf("%-15s %-6d any   model\n", name_of(collective), ranks);
  }
  return text;
}

constexpr Model kWorld{.within = {1.5, 5000}, .between = {12, 900}, .reduce = 7000, .copy = 8000};

TEST(Validate, AnExactWorldHasNoError) {
  for (const int32_t host : {0, 2, 4}) {
    const MeasuredFile read = parse_measured(file_of(kWorld, 8, host), "f");
    EXPECT_EQ(read.ranks, 8);
    EXPECT_EQ(read.levels.empty(), host == 0);
    const Validation found = validate(read);
    EXPECT_GT(found.fitted.times, 80U);
    EXPECT_LT(found.by_figures.error, 1e-6);
    EXPECT_NEAR(found.by_figures.regret, 1, 1e-6);
    EXPECT_LT(found.fitted.error, 0.03) << "hosts of " << host;
    EXPECT_LT(found.fitted.regret, 1.05) << "hosts of " << host;
  }
}

// A row at four times the cost is predicted from other rows: a regret where the row seems best.
TEST(Validate, ARowIsNotPredictedFromItself) {
  double worst = 1;
  for (const Algorithm& row : algorithms(Collective::kAllreduce)) {
    if (!serves(row, 4, nullptr)) continue;
    const Validation found = validate(parse_measured(file_of(kWorld, 4, 0, row.name, 4), "f"));
    for (const auto& one : found.collectives)
      if (one.collective == Collective::kAllreduce) worst = std::max(worst, one.fitted.worst);
  }
  EXPECT_GT(worst, 1.5);
}

TEST(Validate, WrongFilesAreSaid) {
  const std::string head =
      "# Measured by tern_coll tune on 4 ranks, without levels; rank 0 on a.\n";
  const std::string times = "# allreduce 8: ring 2 us, tree 3 us\n";
  const struct {
    std::string text;
    const char* fault;
  } kWrong[] = {
      {"", "no line \"# Measured by"},
      {times, "no line \"# Measured by"},
      {"# Measured by tern_coll tune on 3 ranks, 2 hosts of 1 to 2 ranks; rank 0 on a\n" + times,
       "unequal ranks or parts"},
      {"# Measured by tern_coll tune on 8 ranks, 2 hosts of 4 ranks, in 4 parts; rank 0 on a\n" +
           times,
       "unequal ranks or parts"},
      {head, "no times"},
      {head + head + times, "f:2: a second file"},
      {"# Measured by tern_coll tune on x ranks, a\n", "f:1: ranks must be a number"},
      {"# Measured by tern_coll tune on 1 ranks, a\n", "1 ranks; tune measures two"},
      {"# Measured\n", "not the head"},
      {head + "# allreduce 8: ring\n", "a time of \"ring\" is missing"},
      {head + "# allreduce 8: ring x us\n", "a time must be a number above 0, not \"x\""},
      {head + "# allreduce 8: ring 0 us\n", "a time must be"},
      {head + "# allreduce 8: ring 1 ms\n", "ends in \"us\""},
      {head + "# allreduc 8: ring 1 us\n", "\"allreduc\" is not a collective"},
      {head + "# allreduce 8q: ring 1 us\n", "a size must be"},
      {head + "within 1\n" + times, "a bandwidth must be"},
      {head + "reduce -1\n" + times, "a bandwidth must be"},
  };
  for (const auto& wrong : kWrong) {
    try {
      (void)parse_measured(wrong.text, "f");
      ADD_FAILURE() << wrong.text << " is accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(wrong.fault), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW((void)validate(parse_measured(head + "# allreduce 8: ring 1 us\n", "f")), Error);
}

TEST(Validate, TheMedianOfTwoIsTheirMean) {
  const Validation found = validate(parse_measured(
      "# Measured by tern_coll tune on 2 ranks, without levels; rank 0 on a.\n"
      "# allreduce 8: ring 2.0 us, tree 3.0 us\n# bcast 8: binomial 5.0 us, linear 7.0 us\n",
      "f"));
  double sum = 0;
  for (const auto& one : found.collectives) sum += one.fitted.error;
  EXPECT_GT(sum, 0);
  const Validation pair = validate(parse_measured(
      "# Measured by tern_coll tune on 2 ranks, without levels; rank 0 on a.\nwithin 1 1000\n"
      "# allreduce 0: ring 1000000 us, tree 1 us\n",
      "f"));
  EXPECT_GT(pair.by_figures.error, 0.4);  // about (1 + error of tree) / 2
}

TEST(Validate, RandomDamage) {
  std::minstd_rand random(9);
  const std::string whole = file_of(kWorld, 4, 2).substr(0, 1500);
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (auto n = random() % 6 + 1; n > 0; --n) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, random() % 9);
      else
        text[at] = "0123456789ekm. \n#:,"[random() % 19];
    }
    try {
      const MeasuredFile read = parse_measured(text, "f");
      if (i % 100 != 0) continue;
      EXPECT_GE(validate(read).fitted.regret, 1);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace tern::coll

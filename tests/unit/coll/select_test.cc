// SPDX-License-Identifier: Apache-2.0
// Selection: table syntax, precedence, preferences of the model, capability of every chosen row.
#include "coll/select/select.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "base/error.hpp"
#include "base/params.hpp"

namespace tern::coll {
namespace {

std::string chosen(const Selector& selector, const Question& question) {
  return selector.choose(question, nullptr).algorithm->name;
}

class File {
 public:
  explicit File(const std::string& text) : path_(testing::TempDir() + "coll_table") {
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Select, ParametersNameTheRowsOfTheTable) {
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    std::string words = "auto";
    for (const Algorithm& row : algorithms(collective)) words += std::string("|") + row.name;
    EXPECT_EQ(words, algorithm_words(name_of(collective)));
    EXPECT_EQ(Params().get(strf("TERN_COLL.%s", name_of(collective))), "auto");
  }
}

TEST(Select, WhateverIsChosenCanDoIt) {
  Selector selector;
  selector.configure(Params{});
  for (int i = 0; i < kCollectives; ++i)
    for (int32_t ranks = 1; ranks <= 70; ++ranks)
      for (const bool hosts : {false, true})
        for (const bool commutative : {false, true})
          for (const bool equal : {false, true})
            for (size_t bytes = 0; bytes < size_t{1} << 33; bytes = bytes * 16 + 3) {
              const Levels levels = Levels::from_sizes(ranks, {3});
              const Question question{static_cast<Collective>(i),
                                      ranks,
                                      bytes,
                                      commutative,
                                      equal,
                                      hosts && !levels.empty() ? &levels : nullptr};
              EXPECT_TRUE(can(*selector.choose(question, nullptr).algorithm, question));
              EXPECT_TRUE(can(selector.by_model(question), question));
            }
}

template <class Visit>
void for_all_questions(const Visit& visit) {
  Wires all;
  for (int wire = 1; wire < kWires; ++wire) all.add(static_cast<Wire>(wire));
  for (int i = 0; i < kCollectives * 16; ++i)
    for (int32_t ranks = 2; ranks <= 130; ++ranks) {
      const Levels levels = Levels::from_sizes(ranks, {2});
      Question question{static_cast<Collective>(i / 16), ranks, 0};
      question.commutative = (i & 1) == 0;
      const int where = i >> 1 & 7;
      question.shared = where == 1 || where == 2;
      question.single_copy = where == 2;
      question.levels = where == 3 && !levels.empty() ? &levels : nullptr;
      question.streams = where >= 4;
      question.kernels = where >= 5;
      if (where >= 6) question.wires = question.model_wires = all;
      if (where == 7) question.model_wires.remove(Wire::kMultimem);
      for (size_t power = 1; power < size_t{1} << 26; power *= 2)
        for (question.bytes = power - 1; question.bytes <= power + 1; ++question.bytes)
          visit(question);
    }
}

struct Meant {
  Collective collective;
  int32_t ranks;
  const char* sizes;
};

// The ranks of a host with single copy. A row holds up to the next row's ranks.
constexpr Meant kMeant[] = {
    {Collective::kBarrier, 2, "flat"},
    {Collective::kBarrier, 65, "flat_two_level"},
    {Collective::kBcast, 2, "to 64 KiB flat, then linear"},
    {Collective::kBcast, 3, "flat"},
    {Collective::kBcast, 9, "to 1 MiB flat, then scatter_allgather"},
    {Collective::kBcast, 65, "to 1 MiB flat_two_level, then scatter_allgather"},
    {Collective::kGather, 2, "to 16 KiB flat, then linear"},
    {Collective::kGather, 3, "to 64 KiB flat, then linear"},
    {Collective::kGather, 9, "to 4 KiB flat, then linear"},
    {Collective::kScatter, 2, "to 16 KiB flat, then linear"},
    {Collective::kAllgather, 2, "flat"},
    {Collective::kAllgather, 9, "to 64 KiB flat, then flat_direct"},
    {Collective::kAlltoall, 2, "flat"},
    {Collective::kAlltoall, 3, "to 8 KiB flat, then to 256 KiB linear, then flat_direct"},
    {Collective::kAlltoall, 5, "to 64 KiB flat, then flat_direct"},
    {Collective::kAlltoall, 9, "to 8 KiB flat, then flat_direct"},
    {Collective::kReduce, 2, "flat"},
    {Collective::kReduce, 9, "to 4 KiB flat, then flat_sliced"},
    {Collective::kReduce, 65, "to 4 KiB flat_two_level, then flat_sliced"},
    {Collective::kAllreduce, 2, "to 8 KiB flat, then flat_sliced"},
    {Collective::kAllreduce, 3, "to 16 KiB flat, then flat_sliced"},
    {Collective::kAllreduce, 5, "to 4 KiB flat, then flat_sliced"},
    {Collective::kAllreduce, 9, "to 4 KiB flat, then to 256 KiB flat_sliced, then ring"},
    {Collective::kAllreduce, 65, "to 4 KiB flat_two_level, then to 256 KiB flat_sliced, then ring"},
    {Collective::kReduceScatter, 2, "to 64 KiB flat, then flat_direct"},
    {Collective::kReduceScatter, 3, "flat"},
    {Collective::kReduceScatter, 9, "to 512 KiB flat, then pairwise"},
    {Collective::kScan, 2, "to 1 MiB flat, then recursive_doubling"},
    {Collective::kScan, 9, "to 4 KiB flat, then recursive_doubling"},
    {Collective::kScan, 65, "to 16 KiB flat_two_level, then recursive_doubling"},
    {Collective::kExscan, 2, "to 1 MiB flat, then recursive_doubling"},
    {Collective::kExscan, 9, "to 4 KiB flat, then recursive_doubling"},
    {Collective::kExscan, 65, "to 16 KiB flat_two_level, then recursive_doubling"},
};

// A line for all ranks must not hide a later line for few.
TEST(Select, RanksOfOneHostTakeTheLinesMeantForThem) {
  Selector selector;
  selector.configure(Params{});
  constexpr int32_t kMostRanks = 130;
  for (const Meant& row : kMeant) {
    const Meant& next = &row + 1 == std::end(kMeant) ? row : *(&row + 1);
    const int32_t end =
        next.collective == row.collective && next.ranks > row.ranks ? next.ranks : kMostRanks;
    for (int32_t ranks = row.ranks; ranks < end; ++ranks) {
      Question question{row.collective, ranks, 0};
      question.shared = question.single_copy = true;
      EXPECT_EQ(selector.sizes(question, nullptr), row.sizes)
          << name_of(row.collective) << " on " << ranks << " ranks";
    }
  }
}

TEST(Select, EachOwnLineIsTakenSomewhere) {
  Selector selector;
  selector.configure(Params{});
  std::set<int> taken;
  for_all_questions([&](const Question& question) {
    const Rule* const found = selector.own().find(question, question.model_wires);
    if (found != nullptr) taken.insert(found->line);
  });
  for (const Rule& rule : selector.own().rules)
    EXPECT_TRUE(taken.count(rule.line) != 0)
        << "line " << rule.line << ", " << rule.algorithm->name;
}

TEST(Select, TableOverridesAndParameterOverridesTheTable) {
  const File file("# by hand\nallreduce any ..1k ring\nallreduce 4..8 any tree one_host\n");
  Params params;
  params.coll_table = file.path();
  Selector selector;
  selector.configure(params);
  const Question small{Collective::kAllreduce, 4, 1024}, large{Collective::kAllreduce, 4, 1025};
  EXPECT_EQ(chosen(selector, small), "ring");
  EXPECT_EQ(chosen(selector, large), "tree");
  EXPECT_EQ(selector.reason(selector.choose(large, nullptr), large.collective),
            file.path() + ", line 3");
  const Question ordered{Collective::kAllreduce, 4, 8, false};
  EXPECT_EQ(chosen(selector, ordered), "tree") << "ring cannot keep the order";
  params.coll_allreduce = "double_tree";
  Selector forced;
  forced.configure(params);
  EXPECT_EQ(chosen(forced, small), "double_tree");
  Forced hint;
  hint.by[static_cast<int>(Collective::kAllreduce)] =
      find_algorithm(Collective::kAllreduce, "rabenseifner");
  EXPECT_STREQ(forced.choose(small, &hint).algorithm->name, "rabenseifner");
}

Wires only(std::initializer_list<Wire> some) {
  Wires wires;
  for (const Wire wire : some) wires.add(wire);
  return wires;
}

// A built-in line with a wire applies if the model takes the wire.
TEST(Select, OwnLinesOfAWireNeedThatTheModelTakesIt) {
  Selector selector;
  selector.configure(Params{});
  Question alltoall{Collective::kAlltoall, 4, 100 << 10},
      allreduce{Collective::kAllreduce, 4, 8 << 20};
  for (Question* const one : {&alltoall, &allreduce}) {
    one->streams = one->kernels = true;
    one->wires = only({Wire::kSimple, Wire::kLl, Wire::kLl128, Wire::kMultimem});
  }
  EXPECT_EQ(chosen(selector, alltoall), "pairwise");
  EXPECT_EQ(chosen(selector, allreduce), "ring");
  alltoall.model_wires = only({Wire::kLl128});
  allreduce.model_wires = only({Wire::kMultimem});
  EXPECT_EQ(chosen(selector, alltoall), "linear");
  EXPECT_EQ(chosen(selector, allreduce), "two_shot");
  EXPECT_EQ(selector.choose(allreduce, nullptr).wire, Wire::kAuto);
  EXPECT_FALSE(selector.names_wires());
}

TEST(Select, LinesOfATableNameWires) {
  const File file(
      "allreduce any ..64k one_shot wire ll128\nallreduce any ..64k two_shot streams wire ll\n"
      "allreduce any 1m.. two_shot kernels wire multimem\n");
  Params params;
  params.coll_table = file.path();
  Selector selector;
  selector.configure(params);
  EXPECT_TRUE(selector.names_wires());
  Question question{Collective::kAllreduce, 4, 4096};
  EXPECT_EQ(selector.choose(question, nullptr).wire, Wire::kAuto) << "not in a stream";
  question.streams = question.kernels = true;
  const auto expect = [&](Wires wires, const char* row, Wire wire, int line, int passed,
                          Wire passed_wire) {
    question.wires = wires;
    const Choice choice = selector.choose(question, nullptr);
    EXPECT_STREQ(choice.algorithm->name, row);
    EXPECT_EQ(choice.wire, wire) << row;
    if (choice.why == Choice::Why::kTable) {
      EXPECT_EQ(choice.line, line);
    }
    EXPECT_EQ(choice.passed_line, passed) << row;
    EXPECT_EQ(choice.passed_wire, passed_wire) << row;
  };
  expect(only({Wire::kLl128, Wire::kLl}), "one_shot", Wire::kLl128, 1, 0, Wire::kAuto);
  expect(only({Wire::kLl}), "two_shot", Wire::kLl, 2, 1, Wire::kLl128);
  expect({}, "one_shot", Wire::kAuto, 0, 1, Wire::kLl128);
  question.bytes = 8 << 20;
  expect(only({Wire::kMultimem}), "two_shot", Wire::kMultimem, 3, 0, Wire::kAuto);
  expect(only({Wire::kLl}), "ring", Wire::kAuto, 0, 3, Wire::kMultimem);
  Forced hint;
  hint.by[static_cast<int>(Collective::kAllreduce)] =
      find_algorithm(Collective::kAllreduce, "ring");
  question.wires = only({Wire::kMultimem});
  EXPECT_EQ(selector.choose(question, &hint).wire, Wire::kAuto) << "a hint is above the table";
}

TEST(Select, BadWiresAreNamedByNumber) {
  const File file(
      "allreduce any any one_shot wire ll12\nallreduce any any one_shot wire\n"
      "allreduce any any one_shot ll128\nallreduce any any one_shot one_host wire ll\n"
      "allreduce any any model wire ll\nallreduce any any one_shot wire ll ll128\n"
      "allreduce any any one_shot wire auto\nallreduce any any one_shot wir ll\n"
      "allreduce any any one_shot wire simple\nallreduce any any one_shot streams kernels\n");
  Params params;
  params.coll_table = file.path();
  Selector selector;
  try {
    selector.configure(params);
    FAIL() << "bad wires were taken";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* part :
         {":1: \"ll12\" is not a wire; known: simple, ll, ll128, bulk, multimem (did you mean "
          "ll128?)",
          ":2: \"\" is not a wire", ":3: \"ll128\" is a wire: write wire ll128",
          ":4: one_host and wire ll: wires apply only to collectives in GPU streams",
          ":5: model and wire ll: the model chooses the wire too",
          ":6: \"ll128\" is one word too many; a line is: collective", ":7: \"auto\" is not a wire",
          ":8: \"wir\" is not one of one_host, many_hosts, streams, kernels, wire (did you mean "
          "wire?)",
          ":10: \"kernels\" is one word too many"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
    EXPECT_EQ(text.find(":9:"), std::string::npos);
  }
}

TEST(Select, BadLinesAreNamedByNumber) {
  const File file(
      "bcast any any binomial\nbcst any any binomial\nbcast any any rign\n\n"
      "reduce 4 8..2 chain\nwithin fast\nbcast any\n");
  Params params;
  params.coll_table = file.path();
  Selector selector;
  try {
    selector.configure(params);
    FAIL() << "five bad lines were taken";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* part :
         {":2: \"bcst\" does not begin a line", "did you mean bcast?", ":3: bcast has no",
          "chain, double_tree", ":5: bytes", ":6: within takes", ":7: 2 words"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
    EXPECT_EQ(text.find(":1:"), std::string::npos);
    EXPECT_EQ(text.find(":4:"), std::string::npos);
  }
  params.coll_table = "/nowhere/table";
  EXPECT_THROW(selector.configure(params), Error);
}

TEST(Select, TheModelKnowsLatencyFromBandwidth) {
  const Model model;
  const auto time = [&](Collective what, const char* name, size_t bytes, const Levels* levels) {
    return model.predict(*find_algorithm(what, name), {what, 32, bytes, true, true, levels});
  };
  using enum Collective;
  EXPECT_LT(time(kAllreduce, "recursive_doubling", 8, nullptr),
            time(kAllreduce, "ring", 8, nullptr));
  EXPECT_GT(time(kAllreduce, "recursive_doubling", 1 << 24, nullptr),
            time(kAllreduce, "ring", 1 << 24, nullptr));
  EXPECT_LT(time(kBcast, "binomial", 8, nullptr), time(kBcast, "scatter_allgather", 8, nullptr));
  EXPECT_GT(time(kBcast, "binomial", 1 << 24, nullptr),
            time(kBcast, "double_tree", 1 << 24, nullptr));
  const Levels hosts = Levels::from_sizes(32, {8});
  EXPECT_LT(time(kAllreduce, "two_level", 8, &hosts),
            time(kAllreduce, "recursive_doubling", 8, &hosts));
  EXPECT_LT(time(kAlltoall, "two_level", 8, &hosts), time(kAlltoall, "linear", 8, &hosts));
}

TEST(Select, LargeVectorsOverHostsGoBySlices) {
  using enum Collective;
  Selector selector;
  selector.configure(Params{});
  for (const auto& [ranks, each] : {std::pair{4, 2}, {8, 4}, {8, 2}, {9, 3}, {128, 16}})
    for (const Collective what : {kAllreduce, kReduce, kBcast}) {
      const Levels levels = Levels::from_sizes(ranks, {each});
      SCOPED_TRACE(std::string(name_of(what)) + " on " + levels.text());
      for (const size_t small : {size_t{8}, size_t{256} << 10})
        EXPECT_EQ(chosen(selector, {what, ranks, small, true, true, &levels}), "two_level");
      for (const size_t large : {size_t{2} << 20, size_t{64} << 20})
        EXPECT_EQ(chosen(selector, {what, ranks, large, true, true, &levels}), "sliced");
    }
}

TEST(Select, WhatCannotBeSlicedIsServedByOthers) {
  using enum Collective;
  Selector selector;
  selector.configure(Params{});
  constexpr size_t kLarge = size_t{4} << 20;
  const Levels even = Levels::from_sizes(8, {4}), uneven = Levels::from_sizes(7, {4});
  for (const Collective what : {kAllreduce, kReduce, kBcast})
    EXPECT_NE(chosen(selector, {what, 7, kLarge, true, true, &uneven}), "sliced");
  EXPECT_NE(chosen(selector, {kAllreduce, 8, kLarge, false, true, &even}), "sliced");
  EXPECT_NE(chosen(selector, {kReduce, 8, kLarge, false, true, &even}), "sliced");
  EXPECT_EQ(chosen(selector, {kBcast, 8, kLarge, false, true, &even}), "sliced");
}

TEST(Select, SizesTellAllChoices) {
  Selector selector;
  selector.configure(Params{});
  EXPECT_EQ(selector.sizes({Collective::kAllreduce, 4, 0}, nullptr),
            "to 16 KiB recursive_doubling, then rabenseifner");
}

}  // namespace
}  // namespace tern::coll

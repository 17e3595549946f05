// SPDX-License-Identifier: Apache-2.0
// Selection of forests: gains on graphs, conditions, and the reason in words; forests of earlier
// jobs, and failures of the maker.
#include "coll/select/graph_model.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "base/params.hpp"
#include "coll/forest/plan.hpp"
#include "coll/select/select.hpp"
#include "tests/unit/forest/graphs.hpp"

namespace tern::coll {
namespace {

using enum Collective;

class Graph {
 public:
  explicit Graph(const std::string& text)
      : plan_(std::make_shared<forest::ForestPlan>(parse_topology(text, "graph"))) {
    Params params;
    selector_.configure(params);
    selector_.set_graph(plan_->topology());
  }
  [[nodiscard]] Question question(Collective collective, size_t bytes) const {
    Question made{collective, plan_->ranks(), bytes};
    made.plan = plan_.get();
    return made;
  }
  [[nodiscard]] std::string chosen(const Question& question) const {
    const Choice choice = selector_.choose(question, nullptr);
    if (choice.algorithm->name == std::string("forest")) {
      EXPECT_EQ(choice.plan, plan_.get());
      EXPECT_EQ(choice.why, Choice::Why::kGraph);
      EXPECT_EQ(selector_.reason(choice, question.collective), "the graph of TERN_TOPOLOGY");
    }
    return choice.algorithm->name;
  }
  [[nodiscard]] std::string words(const Question& question) const {
    return selector_.graph_in_words(question);
  }
  [[nodiscard]] const forest::ForestPlan& plan() const { return *plan_; }
  Selector& selector() { return selector_; }

 private:
  std::shared_ptr<forest::ForestPlan> plan_;
  Selector selector_;
};

std::string known(const std::string& name) {
  for (const KnownGraph& one : known_graphs())
    if (name == one.name) return one.text;
  ADD_FAILURE() << name;
  return {};
}

constexpr Collective kAll[] = {kBcast, kReduce, kAllgather, kReduceScatter, kAllreduce};

TEST(GraphModel, TakesForestsOfLargeData) {
  const Graph graph(known("dgx-1v"));
  for (const Collective collective : kAll) {
    EXPECT_EQ(graph.chosen(graph.question(collective, size_t{256} << 20)), "forest")
        << name_of(collective) << ": "
        << graph.words(graph.question(collective, size_t{256} << 20));
    EXPECT_NE(graph.chosen(graph.question(collective, 8)), "forest") << name_of(collective);
    EXPECT_NE(graph.chosen(graph.question(collective, 0)), "forest") << name_of(collective);
  }
}

// Every rank reaches every rank by a link of its own: rows of one hop are at the bound.
TEST(GraphModel, TakesNoForestWithoutGain) {
  std::string text = "gpu g0..g3\n";
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j) text += strf("link g%d g%d 50 2\n", j, i);
  const Graph graph(text);
  for (const Collective collective : {kAllgather, kReduceScatter, kAllreduce}) {
    const Question question = graph.question(collective, size_t{256} << 20);
    EXPECT_NE(graph.chosen(question), "forest") << graph.words(question);
    EXPECT_EQ(graph.words(question).rfind("no forest: no gain", 0), 0) << graph.words(question);
  }
}

TEST(GraphModel, NeedsItsConditions) {
  const Graph graph(known("dgx-1v"));
  Question question = graph.question(kAllreduce, size_t{256} << 20);
  EXPECT_EQ(graph.words(question).rfind("on the graph ", 0), 0) << graph.words(question);
  question.any_order = false;
  EXPECT_NE(graph.chosen(question), "forest");
  EXPECT_NE(graph.words(question).find("lacks the hint tern_any_order"), std::string::npos);
  question.any_order = true;
  question.commutative = false;
  EXPECT_NE(graph.chosen(question), "forest");
  EXPECT_EQ(graph.words(question), "no forest: the operation is not commutative");
  question.commutative = true;
  question.shared = true;
  EXPECT_NE(graph.chosen(question), "forest");
  EXPECT_EQ(graph.words(question), "no forest: the ranks share memory");
  Question moves = graph.question(kAllgather, size_t{256} << 20);
  moves.any_order = false;
  EXPECT_EQ(graph.chosen(moves), "forest") << "nothing is reduced";
  moves.plan = nullptr;
  EXPECT_NE(graph.chosen(moves), "forest") << "a communicator of other ranks";
  EXPECT_EQ(graph.words(graph.question(kAlltoall, 1 << 20)), "");
  EXPECT_NE(graph.chosen(graph.question(kAlltoall, 1 << 20)), "forest");
}

TEST(GraphModel, ComesBehindNamesAndBeforeOwnRules) {
  Graph graph(known("dgx-1v"));
  const Question question = graph.question(kAllreduce, size_t{256} << 20);
  Forced hints;
  hints.by[static_cast<int>(kAllreduce)] = find_algorithm(kAllreduce, "ring");
  EXPECT_STREQ(graph.selector().choose(question, &hints).algorithm->name, "ring");
  Params params;
  params.set("TERN_FOREST", "off");
  Selector off;
  off.configure(params);
  off.set_graph(graph.plan().topology());
  EXPECT_STRNE(off.choose(question, nullptr).algorithm->name, "forest");
  EXPECT_EQ(off.graph_in_words(question), "no forest: TERN_FOREST is off");
  params.set("TERN_COLL.allreduce", "forest");
  Selector named;
  named.configure(params);
  named.set_graph(graph.plan().topology());
  const Choice choice = named.choose(question, nullptr);
  EXPECT_STREQ(choice.algorithm->name, "forest");
  EXPECT_EQ(choice.plan, question.plan);
  EXPECT_THROW(params.set("TERN_FOREST", "always"), Error);
}

TEST(GraphModel, ComesBehindTheTable) {
  const std::string file = testing::TempDir() + "tern-graph-table";
  std::ofstream(file) << "allgather any 1m.. model\n";
  Params params;
  params.set("TERN_COLL_TABLE", file);
  Graph graph(known("dgx-1v"));
  Selector selector;
  selector.configure(params);
  selector.set_graph(graph.plan().topology());
  const Question question = graph.question(kAllgather, size_t{256} << 20);
  EXPECT_EQ(graph.chosen(question), "forest");
  EXPECT_STRNE(selector.choose(question, nullptr).algorithm->name, "forest");
}

TEST(GraphModel, OneGpuHasNoForest) {
  const Graph graph("gpu g0\n");
  EXPECT_NE(graph.chosen(graph.question(kAllgather, 1 << 20)), "forest");
}

TEST(GraphModel, StreamsFollowTheGraph) {
  const Graph graph(known("dgx-1v"));
  Question question = graph.question(kAllgather, size_t{64} << 20);
  question.streams = true;
  EXPECT_EQ(graph.chosen(question), "forest");
}

TEST(GraphModel, KnowsLevels) {
  const Graph graph(known("2x8-h100-rails"));
  const Levels levels = Levels::from_sizes(16, {8});
  Question question = graph.question(kAllgather, size_t{64} << 20);
  question.levels = &levels;
  const std::string words = graph.words(question);
  EXPECT_NE(words.find("other rows at least"), std::string::npos) << words;
}

// The compared rows of 64 GPUs; small data makes no forest, which takes seconds.
TEST(GraphModel, SmallDataOf64GpusIsCheap) {
  const Graph graph(torus_text(4));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_NE(graph.chosen(graph.question(kAllgather, 8)), "forest");
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  RecordProperty("first_question_of_64_us", static_cast<int>(ms * 1000));
  EXPECT_LT(ms, 1000);
}

TEST(ForestPlan, TakesForestsOfEarlierJobs) {
  const Topology machine = parse_topology(known("dgx-1v"), "dgx-1v");
  forest::Forest other = forest::make_forest(machine, kAllgather, 0);
  ASSERT_EQ(other.trees[0].root, other.trees[1].root);
  std::swap(other.trees[0], other.trees[1]);
  ASSERT_EQ(forest::certify(other, machine), "");
  int kept = 0;
  const forest::ForestPlan plan(
      machine, {other}, [&](const forest::Forests& all) { kept += static_cast<int>(all.size()); });
  EXPECT_EQ(plan.forests(kAllgather, 0)[0], other);
  EXPECT_EQ(kept, 0) << "nothing new";
  EXPECT_EQ(plan.forests(kAllreduce, 0).size(), 2U);
  EXPECT_EQ(kept, 2) << "the allgather's and the reduce-scatter's";
  EXPECT_EQ(plan.forests(kBcast, 3)[0].root, 3);
  EXPECT_EQ(kept, 5);
}

TEST(ForestPlan, KeepsTheFaultOfAGraph) {
  const std::string text =
      "gpu a b c\nlink a b 500000000.000001 1\nlink b c 499999999.999999 1\n"
      "link c a 333333333.333331 1\n";
  const Graph graph(text);
  EXPECT_FALSE(graph.plan().serves(kAllgather));
  EXPECT_THROW((void)graph.plan().forests(kAllgather, 0), Error);
  EXPECT_NE(graph.chosen(graph.question(kAllgather, size_t{256} << 20)), "forest");
  EXPECT_FALSE(graph.plan().serves(kAlltoall));
}

}  // namespace
}  // namespace tern::coll

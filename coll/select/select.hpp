// SPDX-License-Identifier: Apache-2.0
// Selection. Order: a hint of the communicator (tern_allreduce, ...); TERN_COLL; rules of
// TERN_COLL_TABLE; the graph of TERN_TOPOLOGY; measured rules; Tern's own rules; the cost model.
// Threads: set-up by one, then any.
#pragma once

#include <memory>
#include <string>

#include "coll/select/graph_model.hpp"
#include "coll/select/rules.hpp"

namespace tern {
class Params;
}

namespace tern::coll {

struct Forced {
  const Algorithm* by[kCollectives] = {};
  Wire wire = Wire::kAuto;  // wire for GPU streams; ignored by selection
  bool any_order = false;   // measurements may change the bits of results
};

struct Choice {
  const Algorithm* algorithm;
  /// Measurements may replace choices from kMeasured on.
  enum class Why {
    kHint,
    kParameter,
    kTable,
    kTableModel,
    kTrial,
    kMeasured,
    kGraph,
    kOwnTable,
    kModel
  } why;
  int line = 0;
  Wire wire = Wire::kAuto;
  int passed_line = 0;  // line skipped for its wire; 0: none
  Wire passed_wire = Wire::kAuto;
  const Plan* plan = nullptr;  // for a row with kPlan; the communicator's or the line's
};

[[nodiscard]] inline Choice choice_of(const Algorithm& row, Choice::Why why,
                                      const Question& question) noexcept {
  Choice made{&row, why};
  if (needs_plan(row)) made.plan = question.plan;
  return made;
}

/// The digest of TERN_COLL_TABLE; 0 without a table. Throws tern::Error.
[[nodiscard]] uint64_t digest_of_table(const Params& params);

class Selector {
 public:
  struct MeasuredSources {
    const MeasuredLines* inherited = nullptr;
    bool earlier_jobs = true;  // includes rules of learn()
  };

  /// configure() throws Error with all bad lines.
  void configure(const Params& params);
  /// A bad line of earlier jobs' rules invalidates all. Throws std::bad_alloc.
  void learn(const std::string& lines, const std::string& file);
  void force(const Algorithm& algorithm) noexcept;
  /// Questions with a plan compare forests on this graph, unless TERN_FOREST=off.
  void set_graph(const Topology& graph);

  /// With a graph, choose() throws std::bad_alloc.
  [[nodiscard]] Choice choose(const Question& question, const Forced* hints,
                              const MeasuredSources& known = everything()) const;
  [[nodiscard]] Choice unmeasured(const Question& question, const Choice& choice) const noexcept {
    return choice.why == Choice::Why::kMeasured ? by_own(question) : choice;
  }
  /// by_model() returns the model's fastest capable row; a capable row always exists.
  [[nodiscard]] const Algorithm& by_model(const Question& question) const noexcept;
  /// candidates() are rows worth a trial, serving row first: from the next rules of Tern's own
  /// table, then within a factor of three of the model's best. All candidates give equal bits.
  /// Throws std::bad_alloc.
  [[nodiscard]] std::vector<const Algorithm*> candidates(const Question& question,
                                                         const Algorithm& serving) const;
  [[nodiscard]] const Model& model() const noexcept { return model_; }
  [[nodiscard]] const Rules& own() const noexcept { return own_; }
  [[nodiscard]] bool names_wires() const noexcept { return names_wires_; }

  [[nodiscard]] std::string reason(const Choice& choice, Collective collective) const;
  [[nodiscard]] std::string in_table(int line) const;
  /// The reason for or against a forest; empty for collectives without forests.
  [[nodiscard]] std::string graph_in_words(const Question& question) const;
  [[nodiscard]] std::string sizes(Question question, const Forced* hints,
                                  const MeasuredSources& known = everything()) const;

 private:
  [[nodiscard]] static MeasuredSources everything() noexcept { return {}; }
  [[nodiscard]] Choice choose_row(const Question& question, const Forced* hints,
                                  const MeasuredSources& known) const;
  [[nodiscard]] Choice by_own(const Question& question) const noexcept;

  Forced forced_;
  Rules table_, own_;
  MeasuredLines learnt_;
  Model model_;
  std::string file_;
  bool names_wires_ = false;
  bool forests_ = true;                // TERN_FOREST
  std::unique_ptr<GraphModel> graph_;  // null: no graph
};

[[nodiscard]] std::string explain(const Question& question, const Algorithm& algorithm);

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// Selection. Order: a hint of the communicator (tern_allreduce, ...); TERN_COLL; rules of
// TERN_COLL_TABLE; measured rules; Tern's own rules; the cost model. Threads: set-up by one, then
// any.
#pragma once

#include <string>

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
    kOwnTable,
    kModel
  } why;
  int line = 0;
  Wire wire = Wire::kAuto;
  int passed_line = 0;  // line skipped for its wire; 0: none
  Wire passed_wire = Wire::kAuto;
  const Plan* plan = nullptr;  // for a row with kPlan; the communicator's or the line's
};

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

  [[nodiscard]] Choice choose(const Question& question, const Forced* hints,
                              const MeasuredSources& known = everything()) const noexcept;
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
  [[nodiscard]] std::string sizes(Question question, const Forced* hints,
                                  const MeasuredSources& known = everything()) const;

 private:
  [[nodiscard]] static MeasuredSources everything() noexcept { return {}; }
  [[nodiscard]] Choice choose_row(const Question& question, const Forced* hints,
                                  const MeasuredSources& known) const noexcept;
  [[nodiscard]] Choice by_own(const Question& question) const noexcept;

  Forced forced_;
  Rules table_, own_;
  MeasuredLines learnt_;
  Model model_;
  std::string file_;
  bool names_wires_ = false;
};

[[nodiscard]] std::string explain(const Question& question, const Algorithm& algorithm);

}  // namespace tern::coll

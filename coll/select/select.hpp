// SPDX-License-Identifier: Apache-2.0
// Selection: chooses the algorithm, with a reason. Order: a hint of the communicator
// (tern_allreduce, ...); TERN_ALLREDUCE, ...; rules of TERN_COLL_TABLE; measured rules; Tern's own
// rules (measured on one machine); the cost model. Incapable algorithms are skipped. Threads:
// set-up by one, then any. See: coll/select/rules.hpp, coll/select/model.hpp,
// tests/unit/coll/select_test.cc.
#pragma once

#include <string>

#include "coll/select/rules.hpp"

namespace tern {
class Params;
}

namespace tern::coll {

/// By collective; null: not forced.
struct Forced {
  const Algorithm* by[kCollectives] = {};
  Wire wire = Wire::kAuto;  // for GPU streams; ignored by selection
  bool any_order = false;   // a measurement may change the bits of results
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
  int line = 0;             // of the table
  Wire wire = Wire::kAuto;  // named by this rule
  int passed_line = 0;      // first rule skipped for its wire; 0: none
  Wire passed_wire = Wire::kAuto;
};

class Selector {
 public:
  /// Measured rules available to a communicator.
  struct Known {
    const MeasuredLines* inherited = nullptr;  // first; null: none
    bool earlier_jobs = true;                  // then the rules of learn()
  };

  /// Reads parameters and table. Throws Error with all bad lines.
  void configure(const Params& params);
  /// Takes rules measured by earlier jobs; a bad line invalidates all. Throws std::bad_alloc.
  void learn(const std::string& lines, const std::string& file);
  void force(const Algorithm& algorithm) noexcept;

  [[nodiscard]] Choice choose(const Question& question, const Forced* hints,
                              const Known& known = everything()) const noexcept;
  /// Ignores measurements of this machine.
  [[nodiscard]] Choice unmeasured(const Question& question, const Choice& choice) const noexcept {
    return choice.why == Choice::Why::kMeasured ? by_own(question) : choice;
  }
  /// The fastest capable algorithm by the model; always exists.
  [[nodiscard]] const Algorithm& by_model(const Question& question) const noexcept;
  /// Rows worth a trial, serving row first: rows of the next rules of Tern's own table, then rows
  /// within a factor of three of the model's best. All give bits equal to the serving row. Throws
  /// std::bad_alloc.
  [[nodiscard]] std::vector<const Algorithm*> candidates(const Question& question,
                                                         const Algorithm& serving) const;
  [[nodiscard]] const Model& model() const noexcept { return model_; }
  [[nodiscard]] const Rules& own() const noexcept { return own_; }
  /// Whether rules of the table name wires, which need Question::wires.
  [[nodiscard]] bool names_wires() const noexcept { return names_wires_; }

  /// "TERN_COLL_TABLE=FILE, line 3", "the cost model", ...
  [[nodiscard]] std::string reason(const Choice& choice, Collective collective) const;
  /// "FILE, line 3"
  [[nodiscard]] std::string in_table(int line) const;
  /// The choices for all sizes: "to 16 KiB recursive_doubling, then rabenseifner".
  [[nodiscard]] std::string sizes(Question question, const Forced* hints,
                                  const Known& known = everything()) const;

 private:
  [[nodiscard]] static Known everything() noexcept { return {}; }
  /// By Tern's own table, or else by the model.
  [[nodiscard]] Choice by_own(const Question& question) const noexcept;

  Forced forced_;
  Rules table_, own_;
  MeasuredLines learnt_;
  Model model_;
  std::string file_;
  bool names_wires_ = false;
};

/// The parameter that forces an algorithm: "TERN_ALLREDUCE".
[[nodiscard]] std::string parameter_of(Collective collective);
/// "allreduce of 4096 bytes on 4 ranks: ring ...", for TERN_EXPLAIN.
[[nodiscard]] std::string explain(const Question& question, const Algorithm& algorithm);

}  // namespace tern::coll

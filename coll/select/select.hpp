// SPDX-License-Identifier: Apache-2.0
// Selection: which algorithm runs, and why.
// Order: a hint of the communicator (tern_allreduce, ...); TERN_COLL; the lines of
// TERN_COLL_TABLE; measured lines; Tern's own lines (measured on one machine); the cost model. What
// cannot do the operation is passed over. Threads: set up by one, then any. See:
// coll/select/rules.hpp (the lines), coll/select/model.hpp, tests/unit/coll/select_test.cc.
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
  Wire wire = Wire::kAuto;  // of what is put into streams; selection does not ask for it
  bool any_order = false;   // the bits of a result may change with a measurement
};

struct Choice {
  const Algorithm* algorithm;
  /// From kMeasured on: of choices that a measurement may replace.
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
  Wire wire = Wire::kAuto;  // that this line names
  int passed_line = 0;      // the first one passed over for its wire; 0: none
  Wire passed_wire = Wire::kAuto;
};

class Selector {
 public:
  /// Which measured lines serve a communicator.
  struct Known {
    const MeasuredLines* inherited = nullptr;  // first; null: none
    bool earlier_jobs = true;                  // then the lines of learn()
  };

  /// Reads the parameters and the table. Throws Error with every bad line.
  void configure(const Params& params);
  /// Lines that earlier jobs have measured; a bad line spoils all. Throws std::bad_alloc.
  void learn(const std::string& lines, const std::string& file);
  void force(const Algorithm& algorithm) noexcept;

  [[nodiscard]] Choice choose(const Question& question, const Forced* hints,
                              const Known& known = everything()) const noexcept;
  /// The same without any measurement of this machine.
  [[nodiscard]] Choice unmeasured(const Question& question, const Choice& choice) const noexcept {
    return choice.why == Choice::Why::kMeasured ? by_own(question) : choice;
  }
  /// The quickest by the model of those that can. Never without an answer.
  [[nodiscard]] const Algorithm& by_model(const Question& question) const noexcept;
  /// The rows that are worth a trial beside the one that serves: those of the next lines of Tern's
  /// own table, then those that the model has within a factor of three of the best. All give the
  /// bits of the serving one, which is the first. Throws std::bad_alloc.
  [[nodiscard]] std::vector<const Algorithm*> candidates(const Question& question,
                                                         const Algorithm& serving) const;
  [[nodiscard]] const Model& model() const noexcept { return model_; }
  /// Tern's own table.
  [[nodiscard]] const Rules& own() const noexcept { return own_; }
  /// Whether lines of the table name wires: what Question::wires is asked for.
  [[nodiscard]] bool names_wires() const noexcept { return names_wires_; }

  /// "TERN_COLL_TABLE=FILE, line 3", "the cost model", ...
  [[nodiscard]] std::string reason(const Choice& choice, Collective collective) const;
  /// "FILE, line 3"
  [[nodiscard]] std::string in_table(int line) const;
  /// "to 16 KiB recursive_doubling, then rabenseifner": the choices for all sizes.
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

/// "allreduce of 4096 bytes on 4 ranks: ring ..." for TERN_EXPLAIN.
[[nodiscard]] std::string explain(const Question& question, const Algorithm& algorithm);

}  // namespace tern::coll

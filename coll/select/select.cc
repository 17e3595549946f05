// SPDX-License-Identifier: Apache-2.0
// Selection. Tern's own rules: one machine (docs/measurements), and tern_coll tune on 2 hosts of
// 2 ranks and 4 hosts of 2.
#include "coll/select/select.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/error.hpp"
#include "base/explain.hpp"
#include "base/params.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr const char* kOwnLines = R"(
# collective    ranks  bytes   algorithm
barrier         65..   any     flat_two_level      one_host
barrier         any    any     flat                one_host
barrier         any    any     dissemination       one_host
barrier         any    any     two_level           many_hosts
bcast           ..2    ..64k   flat                one_host
bcast           3..8   any     flat                one_host
bcast           65..   ..1m    flat_two_level      one_host
bcast           9..    ..1m    flat                one_host
bcast           ..2    any     linear              one_host
bcast           any    ..512k  binomial            one_host
bcast           any    any     scatter_allgather   one_host
bcast           any    ..512k  two_level           many_hosts
gather          ..2    ..16k   flat                one_host
gather          3..8   ..64k   flat                one_host
gather          any    ..4k    flat                one_host
gather          any    ..1k    binomial            one_host
gather          any    any     linear              one_host
gather          any    ..4k    two_level           many_hosts
gather          ..64   any     linear              many_hosts
scatter         any    ..16k   flat                one_host
scatter         any    ..1k    binomial            one_host
scatter         any    any     linear              one_host
scatter         any    ..4k    two_level           many_hosts
scatter         ..64   16k..   linear              many_hosts
allgather       ..8    any     flat                one_host
allgather       any    ..64k   flat                one_host
allgather       any    any     flat_direct         one_host
allgather       ..2    any     ring                one_host
allgather       any    ..4k    bruck               one_host
allgather       any    any     ring                one_host
allgather       any    any     two_level           many_hosts
alltoall        ..2    any     flat                one_host
alltoall        5..8   ..64k   flat                one_host
alltoall        any    ..12k   flat                one_host
alltoall        3..4   ..256k  linear              one_host
alltoall        any    any     flat_direct         one_host
alltoall        ..4    any     linear              one_host
alltoall        any    ..256   bruck               one_host
alltoall        any    any     linear              one_host
alltoall        any    ..16k   two_level           many_hosts
alltoall        ..64   any     linear              many_hosts
reduce          ..8    any     flat                one_host
reduce          65..   ..4k    flat_two_level      one_host
reduce          any    ..4k    flat                one_host
reduce          any    any     flat_sliced         one_host
reduce          any    ..64k   binomial            one_host
reduce          any    ..64k   binomial_ordered    one_host
reduce          any    any     scatter_gather      one_host
reduce          any    ..512k  two_level           many_hosts
allreduce       ..2    ..8k    flat                one_host
allreduce       3..4   ..16k   flat                one_host
allreduce       65..   ..4k    flat_two_level      one_host
allreduce       any    ..4k    flat                one_host
allreduce       ..8    any     flat_sliced         one_host
allreduce       any    ..256k  flat_sliced         one_host
allreduce       any    ..16k   recursive_doubling  one_host
allreduce       ..8    any     rabenseifner        one_host
allreduce       any    any     ring                one_host
allreduce       any    any     rabenseifner        one_host
allreduce       any    ..256k  two_level           many_hosts
reduce_scatter  ..2    ..64k   flat                one_host
reduce_scatter  ..2    any     flat_direct         one_host
reduce_scatter  ..8    any     flat                one_host
reduce_scatter  any    ..512k  flat                one_host
reduce_scatter  any    any     pairwise            one_host
reduce_scatter  any    any     ordered             one_host
reduce_scatter  any    ..8k    two_level_halving   many_hosts
reduce_scatter  any    ..1m    two_level           many_hosts
scan            ..8    ..1m    flat                one_host
scan            65..   ..16k   flat_two_level      one_host
scan            any    ..4k    flat                one_host
scan            any    any     recursive_doubling  one_host
exscan          ..8    ..1m    flat                one_host
exscan          65..   ..16k   flat_two_level      one_host
exscan          any    ..4k    flat                one_host
exscan          any    any     recursive_doubling  one_host
# Between streams of GPUs: a model (design of NCCL's and MSCCL++'s tables), not a measurement.
allreduce       any    any     two_shot            wire multimem
reduce_scatter  any    any     ordered             wire multimem
allgather       any    any     linear              wire multimem
bcast           any    any     linear              wire multimem
allreduce       ..16   ..32k   one_shot            kernels
allreduce       ..2    ..256k  one_shot            wire ll128
allreduce       3..16  ..1m    two_shot            kernels
bcast           ..16   ..32k   linear              kernels
alltoall        ..16   ..32k   linear              kernels
alltoall        ..16   ..256k  linear              wire ll128
allgather       ..16   ..256k  linear              wire ll128
reduce          ..16   ..32k   linear              kernels
reduce_scatter  ..16   ..32k   ordered             kernels
reduce_scatter  ..16   ..256k  ordered             wire ll128
scan            ..16   ..32k   one_shot            kernels
scan            ..16   ..256k  one_shot            wire ll128
exscan          ..16   ..32k   one_shot            kernels
exscan          ..16   ..256k  one_shot            wire ll128
allreduce       any    256k..  two_shot            wire bulk
reduce_scatter  any    256k..  ordered             wire bulk
allgather       any    256k..  linear              wire bulk
alltoall        any    256k..  linear              wire bulk
bcast           3..    256k..  scatter_allgather   wire bulk
bcast           any    ..256k  binomial            streams
bcast           any    any     chain               streams
gather          any    any     linear              streams
scatter         any    any     linear              streams
allgather       any    ..64k   linear              streams
allgather       any    any     ring                streams
alltoall        any    any     pairwise            streams
reduce          any    ..256k  binomial            streams
reduce          any    ..256k  binomial_ordered    streams
reduce          any    any     chain               streams
allreduce       any    ..256k  recursive_doubling  streams
allreduce       any    any     ring                streams
allreduce       any    any     rabenseifner        streams
reduce_scatter  any    any     pairwise            streams
reduce_scatter  any    any     ordered             streams
scan            any    any     recursive_doubling  streams
exscan          any    any     recursive_doubling  streams
barrier         any    any     dissemination       streams
)";

std::string contents_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream || !text)
    throw Error(MPI_ERR_FILE, strf("TERN_COLL_TABLE is %s, but the file cannot be read: %s",
                                   file.c_str(), std::strerror(errno)));
  return text.str();
}

}  // namespace

uint64_t digest_of_table(const Params& params) {
  if (params.coll_table.empty()) return 0;
  return digest_of_rules(contents_of(params.coll_table), params.coll_table);
}

void Selector::configure(const Params& params) {
  std::vector<std::string> complaints;
  forests_ = params.get("TERN_FOREST") != "off";
  own_.read(kOwnLines, "Tern's own table", &model_, &complaints);
  TERN_ASSERT(complaints.empty());
  file_ = params.coll_table;
  if (!file_.empty()) table_.read(contents_of(file_), file_, &model_, &complaints);
  names_wires_ = std::any_of(table_.rules.begin(), table_.rules.end(),
                             [](const Rule& rule) { return rule.wire != Wire::kAuto; });
  if (!complaints.empty()) {
    std::string all = "TERN_COLL_TABLE has invalid lines";
    for (const std::string& complaint : complaints) all += "\n  " + complaint;
    throw Error(MPI_ERR_ARG, all);
  }
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    const std::string name = params.get(strf("TERN_COLL.%s", name_of(collective)));
    if (name != "auto") forced_.by[i] = find_algorithm(collective, name.c_str());
  }
}

void Selector::set_graph(const Topology& graph) { graph_ = std::make_unique<GraphModel>(graph); }

void Selector::force(const Algorithm& algorithm) noexcept {
  forced_.by[static_cast<int>(algorithm.collective)] = &algorithm;
}

void Selector::learn(const std::string& lines, const std::string& file) {
  std::vector<std::string> complaints;
  Model unused;
  Rules all;
  all.read(lines, file, &unused, &complaints);
  learnt_ = {};
  if (!complaints.empty()) return;
  for (const Rule& rule : all.rules)
    if (rule.algorithm != nullptr && !rule.streams) learnt_.add(rule);
}

Choice Selector::by_own(const Question& question) const noexcept {
  const Rule* const own = own_.find(question, question.model_wires);
  if (own == nullptr || own->algorithm == nullptr)
    return {&by_model(question), Choice::Why::kModel};
  return {own->algorithm, Choice::Why::kOwnTable, own->line};
}

Choice Selector::choose(const Question& question, const Forced* hints,
                        const MeasuredSources& known) const {
  Choice made = choose_row(question, hints, known);
  if (needs_plan(*made.algorithm) && made.plan == nullptr) made.plan = question.plan;
  return made;
}

Choice Selector::choose_row(const Question& question, const Forced* hints,
                            const MeasuredSources& known) const {
  const auto which = static_cast<int>(question.collective);
  const auto usable = [&](const Forced& forced) {
    return forced.by[which] != nullptr && can(*forced.by[which], question);
  };
  if (hints != nullptr && usable(*hints)) return {hints->by[which], Choice::Why::kHint};
  if (usable(forced_)) return {forced_.by[which], Choice::Why::kParameter};
  const Rule* passed = nullptr;
  const Rule* const rule = table_.find(question, question.wires, &passed);
  const int of_passed = passed != nullptr ? passed->line : 0;
  const Wire wire = passed != nullptr ? passed->wire : Wire::kAuto;
  if (rule != nullptr && rule->algorithm != nullptr)
    return {rule->algorithm, Choice::Why::kTable, rule->line, rule->wire, of_passed, wire,
            rule->plan.get()};
  if (TERN_UNLIKELY(question.plan != nullptr) && graph_ != nullptr && forests_ && rule == nullptr)
    if (const Algorithm* const forest = graph_->compare(question).forest)
      return {forest, Choice::Why::kGraph, 0, Wire::kAuto, of_passed, wire};
  Choice own =
      rule == nullptr ? by_own(question) : Choice{&by_model(question), Choice::Why::kTableModel};
  const Algorithm& unmeasured = *own.algorithm;
  for (const MeasuredLines* lines : {known.earlier_jobs ? &learnt_ : nullptr, known.inherited})
    if (rule == nullptr && lines != nullptr)
      if (const Rule* const found = lines->find(question, unmeasured))
        own = {found->algorithm, Choice::Why::kMeasured, found->line};
  own.passed_line = of_passed;
  own.passed_wire = wire;
  return own;
}

const Algorithm& Selector::by_model(const Question& question) const noexcept {
  const Algorithm* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Algorithm& row : algorithms(question.collective)) {
    if (needs_plan(row) || !can(row, question)) continue;
    const double time = model_.predict(row, question);
    if (best != nullptr && time >= least) continue;
    best = &row;
    least = time;
  }
  TERN_ASSERT(best != nullptr);
  return *best;
}

std::vector<const Algorithm*> Selector::candidates(const Question& question,
                                                   const Algorithm& serving) const {
  constexpr double kNear = 3;
  const auto time = [&](const Algorithm* row) { return model_.predict(*row, question); };
  std::vector<const Algorithm*> rows{&serving}, others;
  const auto add = [&](const Algorithm* row) {
    if (!needs_plan(*row) && can(*row, question) && same_bits(*row, serving, question) &&
        std::find(rows.begin(), rows.end(), row) == rows.end())
      rows.push_back(row);
  };
  for (const Rule& rule : own_.rules)
    if (rule.algorithm != nullptr && rule.wire == Wire::kAuto && rule.fits(question))
      add(rule.algorithm);
  for (const Algorithm& row : algorithms(question.collective))
    if (!needs_plan(row) && can(row, question)) others.push_back(&row);
  std::sort(others.begin(), others.end(), [&](auto* a, auto* b) { return time(a) < time(b); });
  const double most = kNear * time(others.front());
  for (const Algorithm* row : others) add(row);
  std::erase_if(rows, [&](auto* row) { return row != &serving && time(row) > most; });
  return rows;
}

std::string Selector::reason(const Choice& choice, Collective collective) const {
  switch (choice.why) {
    case Choice::Why::kHint:
      return strf("the communicator's hint tern_%s", name_of(collective));
    case Choice::Why::kParameter:
      return "TERN_COLL";
    case Choice::Why::kTable:
      return in_table(choice.line);
    case Choice::Why::kTrial:
      return "a trial (TERN_COLL_TUNE)";
    case Choice::Why::kMeasured:
      return "measurement (TERN_COLL_TUNE)";
    case Choice::Why::kGraph:
      return "the graph of TERN_TOPOLOGY";
    case Choice::Why::kOwnTable:
      return "Tern's own table";
    case Choice::Why::kTableModel:
    case Choice::Why::kModel:
      break;
  }
  return "the cost model";
}

std::string Selector::graph_in_words(const Question& question) const {
  if (graph_ == nullptr || find_algorithm(question.collective, "forest") == nullptr) return {};
  return forests_ ? graph_->compare(question).in_words() : "no forest: TERN_FOREST is off";
}

std::string Selector::in_table(int line) const { return strf("%s, line %d", file_.c_str(), line); }

std::string Selector::sizes(Question question, const Forced* hints,
                            const MeasuredSources& known) const {
  constexpr size_t kMost = size_t{1} << 30;
  std::string text;
  const Algorithm* before = nullptr;
  size_t last = 0;
  for (question.bytes = 1; question.bytes <= kMost; question.bytes *= 2) {
    const Algorithm* now = choose(question, hints, known).algorithm;
    if (before != nullptr && now != before)
      text += strf("to %s %s, then ", bytes_in_words(last).c_str(), before->name);
    before = now;
    last = question.bytes;
  }
  return text + before->name;
}

std::string explain(const Question& question, const Algorithm& algorithm) {
  return strf("%s of %zu bytes%s on %d ranks%s: %s (rounds and bytes: %s)",
              name_of(question.collective), question.bytes,
              question.equal_blocks ? "" : " (blocks differ)", question.ranks,
              question.commutative ? "" : ", operands in order", algorithm.name, algorithm.formula);
}

}  // namespace tern::coll

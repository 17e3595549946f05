// SPDX-License-Identifier: Apache-2.0
#include "coll/laboratory/simulate/workload.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <tuple>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "coll/laboratory/simulate/pattern.hpp"
#include "coll/laboratory/simulate/simulate.hpp"
#include "coll/topology/routes.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr size_t kMostWorkloadBytes = size_t{64} << 20;
constexpr double kMostWorkloadRanks = 1 << 20;
constexpr double kMostWorkloadPasses = 24;

class WorkloadReader {
 public:
  WorkloadReader(const std::string& text, std::string name) : name_(std::move(name)) {
    if (text.size() > kMostWorkloadBytes) fail("more than 64 MiB");
    for (size_t from = 0; from < text.size(); ++line_) {
      const size_t end = std::min(text.find('\n', from), text.size());
      read(text.substr(from, end - from));
      from = end + 1;
    }
  }
  std::vector<WorkloadCall> take() { return std::move(calls_); }

 private:
  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(MPI_ERR_ARG,
                strf("%s:%d: %s; a line is COLLECTIVE BYTES RANKS COMMUNICATOR ROOT US",
                     name_.c_str(), line_, cause.c_str()));
  }

  [[nodiscard]] double number(const std::string& word, const char* what, double least,
                              double most) const {
    double value = 0;
    const char* const end = word.data() + word.size();
    const auto [rest, fault] = std::from_chars(word.data(), end, value);
    if (fault != std::errc() || rest != end || !(value >= least) || value > most)
      fail(strf("%s must be from %g to %g, not \"%.40s\"", what, least, most, word.c_str()));
    return value;
  }

  // The longest name that begins the word: allgatherv is an allgather.
  [[nodiscard]] Collective collective(const std::string& word) const {
    int found = -1;
    size_t longest = 0;
    for (int i = 0; i < kCollectives; ++i) {
      const std::string name = name_of(static_cast<Collective>(i));
      if (word.compare(0, name.size(), name) != 0 || name.size() <= longest) continue;
      const std::string rest = word.substr(name.size());
      if (!rest.empty() && rest != "v" && rest != "w" && rest != "_block") continue;
      longest = name.size();
      found = i;
    }
    if (found < 0) fail(strf("\"%.40s\" is not a collective", word.c_str()));
    return static_cast<Collective>(found);
  }

  void read(const std::string& line) {
    std::istringstream stream(line.substr(0, line.find('#')));
    std::vector<std::string> words;
    for (std::string word; stream >> word && words.size() < 7;) words.push_back(word);
    if (words.empty()) return;
    if (words.size() != 6) fail(strf("%zu words", words.size()));
    WorkloadCall call{.collective = collective(words[0]),
                      .bytes = number(words[1], "bytes", 0, 1e15),
                      .ranks = whole(words[2], "ranks", 1, kMostWorkloadRanks),
                      .root = 0,
                      .gap = number(words[5], "us", 0, 1e15)};
    (void)number(words[3], "the communicator", 0, 4294967295.0);
    if (words[4] != "-") call.root = whole(words[4], "the root", 0, kMostWorkloadRanks);
    // The trace names the root by its rank in the job.
    call.root %= call.ranks;
    calls_.push_back(call);
  }

  [[nodiscard]] int32_t whole(const std::string& word, const char* what, double least,
                              double most) const {
    const double value = number(word, what, least, most);
    if (value != std::floor(value)) fail(strf("%s must be whole, not %s", what, word.c_str()));
    return static_cast<int32_t>(value);
  }

  std::string name_;
  int line_ = 1;
  std::vector<WorkloadCall> calls_;
};

bool competes(const Algorithm& row, const WorkloadCall& call, const Levels* levels) {
  if (!serves(row, call.ranks, levels)) return false;
  return call.ranks <= kMostWithAllRows || (row.traits & (kRotates | kXors | kSlices)) != 0;
}

/// Long pipelines are continued from two shorter ones with passes of the same size.
double time_of(const Pattern& pattern, const Topology& topology, Simulation what) {
  const Outline& any = pattern.outline(0);
  const bool piped = any.within_blocks && what.chunk > 0;
  const double passes = piped ? std::ceil(what.bytes / (what.chunk * any.parts)) : 1;
  if (passes <= kMostWorkloadPasses) return simulate(pattern, topology, what).time;
  const double pass = what.bytes / passes;
  what.bytes = pass * kMostWorkloadPasses;
  const double full = simulate(pattern, topology, what).time;
  what.bytes /= 2;
  const double half = simulate(pattern, topology, what).time;
  return full + (full - half) * (passes - kMostWorkloadPasses) / (kMostWorkloadPasses / 2);
}

PredictedCall quickest_row(const WorkloadCall& call, const Topology& topology,
                           const std::vector<int64_t>& hosts) {
  PredictedCall made{.call = call};
  if (neighborly(call.collective)) return made;
  const Levels levels = Levels::from_names({{hosts.begin(), hosts.begin() + call.ranks}});
  const Levels* const given = levels.empty() ? nullptr : &levels;
  for (const Algorithm& row : algorithms(call.collective)) {
    if (!competes(row, call, given)) continue;
    const double time = time_of(Pattern::of(row, call.ranks, call.root, given), topology,
                                {.bytes = call.bytes, .chunk = static_cast<double>(row.chunk)});
    if (made.row != nullptr && time >= made.time) continue;
    made.row = &row;
    made.time = time;
  }
  return made;
}

}  // namespace

std::vector<WorkloadCall> parse_workload(const std::string& text, const std::string& name) {
  return WorkloadReader(text, name).take();
}

std::vector<WorkloadCall> load_workload(const std::string& name) {
  try {
    return parse_workload(text_of_file(name), name);
  } catch (const Error& error) {
    if (error.mpi_class() != MPI_ERR_FILE) throw;
    throw Error(MPI_ERR_FILE, strf("the workload %s", error.what()));
  }
}

PredictedWorkload predict(const std::vector<WorkloadCall>& calls, const Topology& topology) {
  std::map<std::tuple<Collective, double, int32_t, int32_t>, PredictedCall> different;
  PredictedWorkload made;
  const std::vector<int64_t> hosts = hosts_of(topology);
  for (const WorkloadCall& call : calls) {
    if (call.ranks > topology.ranks())
      throw Error(MPI_ERR_ARG, strf("a call has %d ranks, but the machine has %d GPUs", call.ranks,
                                    topology.ranks()));
    const auto [at, is_new] =
        different.try_emplace({call.collective, call.bytes, call.ranks, call.root});
    if (is_new) at->second = quickest_row(call, topology, hosts);
    PredictedCall& one = at->second;
    ++one.count;
    made.computation += call.gap;
    made.communication += one.time;
    if (one.row == nullptr) ++made.left_out;
  }
  for (const auto& [key, one] : different) made.calls.push_back(one);
  const auto all = [](const PredictedCall& one) {
    return one.time * static_cast<double>(one.count);
  };
  std::stable_sort(made.calls.begin(), made.calls.end(),
                   [&](const auto& a, const auto& b) { return all(a) > all(b); });
  return made;
}

}  // namespace tern::coll

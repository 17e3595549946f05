// SPDX-License-Identifier: Apache-2.0
// Parses rules.
#include "coll/select/rules.hpp"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/param_names.hpp"
#include "base/params.hpp"
#include "base/text_file.hpp"
#include "coll/exchange/read_plan.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

[[noreturn]] void wrong(const std::string& sentence) { throw Error(MPI_ERR_ARG, sentence); }

std::string listed(const std::string& word, const std::vector<std::string>& known) {
  std::string text;
  for (const std::string& one : known) text += (text.empty() ? "" : ", ") + one;
  const std::string near = nearest_name(word, known);
  return near.empty() ? text : text + " (did you mean " + near + "?)";
}

Collective collective_of(const std::string& word) {
  std::vector<std::string> known;
  for (int i = 0; i < kCollectives; ++i) {
    known.emplace_back(name_of(static_cast<Collective>(i)));
    if (known.back() == word) return static_cast<Collective>(i);
  }
  for (const char* figure : {"within", "between", "reduce", "copy"}) known.emplace_back(figure);
  wrong(strf("\"%s\" does not begin a line; known: %s", word.c_str(), listed(word, known).c_str()));
}

const Algorithm* algorithm_of(Collective collective, const std::string& word) {
  if (word == "model") return nullptr;
  std::vector<std::string> known = {"model"};
  for (const Algorithm& row : algorithms(collective)) {
    if (word == row.name) return &row;
    known.emplace_back(row.name);
  }
  wrong(strf("%s has no algorithm \"%s\"; known: %s", name_of(collective), word.c_str(),
             listed(word, known).c_str()));
}

struct Bounds {
  int64_t least = 0, most = INT64_MAX;
};

Bounds range_of(const std::string& word, const char* what) {
  if (word == "any") return {};
  const size_t dots = word.find("..");
  const std::string from = word.substr(0, dots);
  const std::string to = dots == std::string::npos ? from : word.substr(dots + 2);
  Bounds range;
  if (!from.empty()) range.least = parse_size(from, what);
  if (!to.empty()) range.most = parse_size(to, what);
  if (range.least < 0 || range.most < range.least)
    wrong(strf("%s \"%s\" are not a range; write any, N, N.., ..M or N..M", what, word.c_str()));
  return range;
}

double figure_of(const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != '\0' || !(value > 0) || value > 1e12)
    wrong(strf("\"%s\" is not a number above 0", word.c_str()));
  return value;
}

bool set_figure(const std::vector<std::string>& words, Model* model) {
  const bool within = words[0] == "within", between = words[0] == "between";
  if (within || between) {
    if (words.size() != 3)
      wrong(strf("%s takes a latency in microseconds and megabytes per second", words[0].c_str()));
    LinkCost& link = within ? model->within : model->between;
    link = {figure_of(words[1]), figure_of(words[2])};
    return true;
  }
  // A line of the collective "reduce" has at least four words.
  if (words.size() != 2 || (words[0] != "reduce" && words[0] != "copy")) return false;
  (words[0] == "reduce" ? model->reduce : model->copy) = figure_of(words[1]);
  return true;
}

constexpr const char* kForm =
    "collective ranks bytes algorithm [one_host|many_hosts|streams|kernels] "
    "[wire simple|ll|ll128|bulk|multimem]";

void restrict_to(const std::string& word, Rule* rule) {
  if (word == "one_host")
    rule->many_hosts = false;
  else if (word == "many_hosts")
    rule->one_host = false;
  else if (word == "streams")
    rule->streams = true;
  else if (word == "kernels")
    rule->streams = rule->kernels = true;
  else if (word != "auto" && find_wire(word))
    wrong(strf("\"%s\" is a wire: write wire %s", word.c_str(), word.c_str()));
  else
    wrong(strf("\"%s\" is not one of %s", word.c_str(),
               listed(word, {"one_host", "many_hosts", "streams", "kernels", "wire"}).c_str()));
}

void set_wire(const std::string& word, const std::string& other, Rule* rule) {
  const std::optional<Wire> wire = find_wire(word);
  if (!wire || *wire == Wire::kAuto)
    wrong(strf("\"%s\" is not a wire; known: %s", word.c_str(),
               listed(word, {std::begin(kWireNames) + 1, std::end(kWireNames)}).c_str()));
  if (rule->algorithm == nullptr)
    wrong(strf("model and wire %s: the model chooses the wire too", word.c_str()));
  if (!rule->one_host || !rule->many_hosts)
    wrong(strf("%s and wire %s: wires apply only to collectives in GPU streams", other.c_str(),
               word.c_str()));
  rule->streams = true;
  rule->wire = *wire;
}

void qualify(const std::vector<std::string>& words, Rule* rule) {
  size_t at = 4;
  if (at < words.size() && words[at] != "wire") restrict_to(words[at++], rule);
  if (at < words.size() && words[at] == "wire") {
    set_wire(at + 1 < words.size() ? words[at + 1] : "", words[at - 1], rule);
    at += 2;
  }
  if (at < words.size())
    wrong(strf("\"%s\" is one word too many; a line is: %s", words[at].c_str(), kForm));
}

std::string plan_file(const std::string& name, const std::string& table) {
  const size_t slash = table.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : table.substr(0, slash + 1);
  return name[0] == '/' ? name : folder + name;
}

std::shared_ptr<const Plan> plan_of(const std::string& name, const std::string& table,
                                    Collective collective) {
  const std::string file = plan_file(name, table);
  std::shared_ptr<const Plan> plan = read_plan(text_of_file(file), file);
  if (!plan->serves(collective)) wrong(strf("%s has no %s", file.c_str(), name_of(collective)));
  return plan;
}

Rule rule_of(std::vector<std::string> words, const std::string& table, int line) {
  const Collective collective = collective_of(words[0]);
  if (words.size() < 4) wrong(strf("%zu words; a line is: %s", words.size(), kForm));
  const Bounds ranks = range_of(words[1], "ranks"), bytes = range_of(words[2], "bytes");
  Rule rule{collective, ranks.least, ranks.most, bytes.least, bytes.most, true,
            true,       false,       false,      Wire::kAuto, nullptr,    line};
  rule.algorithm = algorithm_of(collective, words[3]);
  if (words[3] == kFileRow) {
    if (words.size() < 5) wrong("file needs a name: file ar8.xml");
    rule.plan = plan_of(words[4], table, collective);
    words.erase(words.begin() + 4);
  }
  qualify(words, &rule);
  return rule;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Question with(Question question, const Plan* plan) noexcept {
  if (plan != nullptr) question.plan = plan;
  return question;
}

/// Rules::read() names a file that cannot be read.
std::string text_or_nothing(const std::string& file) {
  try {
    return text_of_file(file);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

uint64_t digest_of_rules(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  uint64_t digest = digest_text("");
  for (std::string line; std::getline(stream, line);) {
    const std::vector<std::string> words = words_of(line);
    for (const std::string& word : words) digest = digest_text(word + " ", digest);
    if (words.size() > 4 && words[3] == kFileRow)
      digest = digest_text(text_or_nothing(plan_file(words[4], file)), digest);
  }
  return digest;
}

bool can(const Algorithm& algorithm, const Question& question) noexcept {
  // Rows with equal blocks do not serve streams: a step takes several blocks, not adjacent within a
  // chunk.
  if (question.streams && (algorithm.limits & kEqualBlocks) != 0) return false;
  if ((algorithm.limits & kShared) != 0) {
    if (!question.shared || (algorithm.flat == FlatMethod::kDirect && !question.single_copy))
      return false;
  } else if (!serves(algorithm, question.ranks, question.levels, question.plan)) {
    return false;
  }
  if ((algorithm.limits & kCommutative) != 0 && !question.commutative) return false;
  return (algorithm.limits & kEqualBlocks) == 0 || question.equal_blocks;
}

bool same_bits(const Algorithm& one, const Algorithm& other, const Question& question) noexcept {
  const auto in_rank_order = [](const Algorithm& row) {
    return (row.flat != FlatMethod::kNone && row.flat != FlatMethod::kTwoLevel) ||
           (row.traits & kRankOrder) != 0;
  };
  return question.any_order || &one == &other || (in_rank_order(one) && in_rank_order(other));
}

bool Rule::fits(const Question& question) const noexcept {
  const auto size = static_cast<int64_t>(question.bytes);
  return collective == question.collective && question.ranks >= least_ranks &&
         question.ranks <= most_ranks && size >= least_bytes && size <= most_bytes &&
         streams == question.streams && (!kernels || question.kernels) &&
         (question.levels == nullptr ? one_host : many_hosts) &&
         (algorithm == nullptr || can(*algorithm, with(question, plan.get())));
}

const Rule* Rules::find(const Question& question, Wires wires, const Rule** passed,
                        const Algorithm* alike) const noexcept {
  for (const Rule& rule : rules) {
    if (!rule.fits(question)) continue;
    if (alike != nullptr && !same_bits(*rule.algorithm, *alike, question)) continue;
    if (rule.wire == Wire::kAuto || wires.has(rule.wire)) return &rule;
    if (passed != nullptr && *passed == nullptr) *passed = &rule;
  }
  return nullptr;
}

void Rules::read(const std::string& text, const std::string& file, Model* model,
                 std::vector<std::string>* complaints) {
  std::istringstream stream(text);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    try {
      if (!set_figure(words, model)) rules.push_back(rule_of(words, file, number));
    } catch (const std::exception& error) {
      complaints->push_back(strf("%s:%d: %s", file.c_str(), number, error.what()));
    }
  }
}

}  // namespace tern::coll

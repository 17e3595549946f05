// SPDX-License-Identifier: Apache-2.0
#include "coll/laboratory/validate.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "coll/select/question.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr size_t kPrices = 8;
constexpr int kFitRounds = 6, kSweeps = 60;
constexpr double kNearSizes = 1.5;     // doublings of size at which a time counts e^-1/2
constexpr double kOwnWeight = 4;       // of times of the same collective
constexpr double kMethodWeight = 100;  // of the same kind: messages, or a method of shared memory
constexpr int32_t kMostMeasuredRanks = 1 << 20;
constexpr size_t kMostTimes = 100'000;
using Prices = std::array<double, kPrices>;

class MeasuredReader {
 public:
  MeasuredReader(const std::string& text, std::string name) : name_(std::move(name)) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      read(line);
    }
    if (made_.ranks == 0)
      fail("no line \"# Measured by tern_coll tune on N ranks\": give a file of tern_coll tune");
    if (made_.times.empty()) fail("no times: give a file of tern_coll tune, with its comments");
  }
  MeasuredFile take() { return std::move(made_); }

 private:
  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(MPI_ERR_ARG, strf("%s:%d: %s", name_.c_str(), line_, cause.c_str()));
  }

  [[nodiscard]] double number(const std::string& word, const char* what) const {
    double value = 0;
    const char* const end = word.data() + word.size();
    const auto [rest, fault] = std::from_chars(word.data(), end, value);
    if (fault != std::errc() || rest != end || !(value > 0) || value > 1e12)
      fail(strf("%s must be a number above 0, not \"%.40s\"", what, word.c_str()));
    return value;
  }

  void read(const std::string& line) {
    std::istringstream stream(line);
    std::string first, second;
    stream >> first;
    if (first == "#") {
      stream >> second;
      if (second == "Measured") return read_head(stream);
      std::string size;
      stream >> size;
      if (!size.empty() && size.back() == ':') read_times(second, size, stream);
    } else if (first == "within" || first == "between") {
      LinkCost& link = first == "within" ? made_.model.within : made_.model.between;
      std::string latency, bandwidth;
      stream >> latency >> bandwidth;
      link = {number(latency, "a latency"), number(bandwidth, "a bandwidth")};
    } else if (first == "reduce" || first == "copy") {
      std::string third;
      stream >> second >> third;
      if (!third.empty() && third[0] != '#') return;  // a line of the collective
      (first == "reduce" ? made_.model.reduce : made_.model.copy) = number(second, "a bandwidth");
    }
  }

  // Measured by tern_coll tune on 4 ranks, 2 hosts of 2 ranks; rank 0 on ...
  void read_head(std::istringstream& stream) {
    if (made_.ranks != 0) fail("a second file of tune begins; give one file each");
    std::vector<std::string> words;
    for (std::string word; stream >> word && words.size() < 12;) words.push_back(word);
    if (words.size() < 6) fail("not the head of a file of tern_coll tune");
    made_.ranks = static_cast<int32_t>(std::min<double>(number(words[4], "ranks"), 1e9));
    if (made_.ranks < 2 || made_.ranks > kMostMeasuredRanks)
      fail(strf("%d ranks; tune measures two or more", made_.ranks));
    if (words.size() < 10 || words[7] != "hosts") return;
    if (words.size() > 10 && (words[10] == "to" || words[10].back() == ','))
      fail(
          "the hosts have unequal ranks or parts, which validate does not model; measure on equal "
          "hosts without parts");
    const auto size =
        static_cast<int32_t>(std::min<double>(number(words[9], "a host's ranks"), 1e9));
    made_.levels = Levels::from_sizes(made_.ranks, {std::min(size, made_.ranks)});
  }

  [[nodiscard]] size_t size_of(std::string word) const {
    word.pop_back();
    double unit = 1;
    if (!word.empty() && word.back() == 'k') unit = 1 << 10;
    if (!word.empty() && word.back() == 'm') unit = 1 << 20;
    if (unit > 1) word.pop_back();
    return word == "0" ? 0 : static_cast<size_t>(number(word, "a size") * unit);
  }

  // allreduce 8: ring 1.2 us, tree 2.3 us
  void read_times(const std::string& name, const std::string& size, std::istringstream& stream) {
    const size_t bytes = size_of(size);
    std::string row;
    for (std::string word; stream >> word;) {
      if (row.empty()) {
        row = word;
        continue;
      }
      if (word == "wire") {  // of a GPU: the library's choice has the row's name alone
        stream >> word >> word;
        row += " wire";
      }
      const double time = number(word, "a time");
      stream >> word;
      if (word != "us" && word != "us,") fail("a time ends in \"us\"");
      add(name, row, bytes, time);
      row.clear();
    }
    if (!row.empty()) fail(strf("a time of \"%.40s\" is missing", row.c_str()));
  }

  void add(const std::string& name, const std::string& row, size_t bytes, double time) {
    if (row.find(' ') != std::string::npos) return;
    for (int c = 0; c < kCollectives; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (name != name_of(collective)) continue;
      // Rows of other versions are left out.
      if (const Algorithm* found = find_algorithm(collective, row.c_str()))
        made_.times.push_back({found, bytes, time});
      if (made_.times.size() > kMostTimes) fail(strf("more than %zu times", kMostTimes));
      return;
    }
    fail(strf("\"%.40s\" is not a collective", name.c_str()));
  }

  std::string name_;
  int line_ = 0;
  MeasuredFile made_;
};

Question question_of(const MeasuredFile& measured, const MeasuredTime& one) {
  Question question{.collective = one.row->collective, .ranks = measured.ranks, .bytes = one.bytes};
  question.levels = measured.levels.empty() ? nullptr : &measured.levels;
  question.shared = question.levels == nullptr;
  return question;
}

/// Quantities that the prices multiply: the model is linear, so each is a time at a price of one.
Prices quantities_of(const MeasuredFile& measured, const MeasuredTime& one) {
  constexpr double kFree = std::numeric_limits<double>::infinity();
  Model free{
      .within = {0, kFree}, .between = {0, kFree}, .reduce = kFree, .copy = kFree, .line = 0};
  const Question question = question_of(measured, one);
  const auto at = [&](auto change) {
    Model model = free;
    change(model);
    return model.predict(*one.row, question);
  };
  return {at([](Model& m) { m.within.latency = 1; }),
          at([](Model& m) { m.within.per_second = 1; }),
          at([](Model& m) { m.between.latency = 1; }),
          at([](Model& m) { m.between.per_second = 1; }),
          at([](Model& m) { m.reduce = 1; }),
          at([](Model& m) { m.copy = 1; }),
          at([](Model& m) { m.line = 1; }),
          1};  // a call
}

double priced(const Prices& a, const Prices& b) {
  double sum = 0;
  for (size_t i = 0; i < kPrices; ++i) sum += a[i] * b[i];
  return sum;
}

/// Prices, none negative, by coordinate descent; errors count once, not squared (weights by the
/// last round's errors).
class Fit {
 public:
  void add(const Prices& quantities, double time, double weight) {
    rows_.push_back({quantities, time, weight});
  }

  [[nodiscard]] Prices run() const {
    Prices prices{};
    for (int round = 0; round < kFitRounds; ++round) descend(&prices, round > 0);
    return prices;
  }

 private:
  struct Row {
    Prices quantities;
    double time, weight;
  };

  void descend(Prices* prices, bool robust) const {
    std::array<Prices, kPrices> square{};
    Prices right{};
    for (const Row& row : rows_) {
      double weight = row.weight / (row.time * row.time);
      if (robust)
        weight /= std::max(0.02, std::fabs(priced(row.quantities, *prices) / row.time - 1));
      for (size_t i = 0; i < kPrices; ++i) {
        right[i] += weight * row.quantities[i] * row.time;
        for (size_t j = 0; j < kPrices; ++j)
          square[i][j] += weight * row.quantities[i] * row.quantities[j];
      }
    }
    for (int sweep = 0; sweep < kSweeps; ++sweep)
      for (size_t i = 0; i < kPrices; ++i) {
        if (square[i][i] <= 0) continue;
        const double others = priced(square[i], *prices) - square[i][i] * (*prices)[i];
        (*prices)[i] = std::max(0.0, (right[i] - others) / square[i][i]);
      }
  }

  std::vector<Row> rows_;
};

double doublings(size_t bytes) { return std::log2(static_cast<double>(bytes) + 4); }

/// Times predicted from the other rows.
std::vector<double> predicted(const MeasuredFile& measured) {
  std::vector<Prices> quantities;
  for (const MeasuredTime& one : measured.times) quantities.push_back(quantities_of(measured, one));
  std::vector<double> made;
  for (size_t i = 0; i < measured.times.size(); ++i) {
    const MeasuredTime& one = measured.times[i];
    Fit fit;
    for (size_t j = 0; j < measured.times.size(); ++j) {
      const MeasuredTime& other = measured.times[j];
      const double far = (doublings(other.bytes) - doublings(one.bytes)) / kNearSizes;
      if (other.row == one.row || std::fabs(far) > 3) continue;
      const bool own = other.row->collective == one.row->collective;
      const bool alike = other.row->flat == one.row->flat;
      fit.add(quantities[j], other.time,
              (own ? kOwnWeight : 1) * (alike ? kMethodWeight : 1) * std::exp(-far * far / 2));
    }
    made.push_back(priced(fit.run(), quantities[i]));
  }
  return made;
}

Deviation judge(const MeasuredFile& measured, const std::vector<double>& predicted,
                const Collective* only) {
  std::vector<double> errors;
  struct Call {
    double least = std::numeric_limits<double>::infinity(), least_time = least, chosen = 0;
    int rows = 0;
  };
  std::map<std::pair<Collective, size_t>, Call> calls;
  for (size_t i = 0; i < measured.times.size(); ++i) {
    const MeasuredTime& one = measured.times[i];
    if (only != nullptr && one.row->collective != *only) continue;
    errors.push_back(std::fabs(predicted[i] / one.time - 1));
    Call& call = calls[{one.row->collective, one.bytes}];
    ++call.rows;
    call.least_time = std::min(call.least_time, one.time);
    if (predicted[i] >= call.least) continue;
    call.least = predicted[i];
    call.chosen = one.time;
  }
  Deviation made{.times = errors.size()};
  if (errors.empty()) return made;
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  made.error = *middle;
  if (errors.size() % 2 == 0)
    made.error = (made.error + *std::max_element(errors.begin(), middle)) / 2;
  double sum = 0;
  for (const auto& [key, call] : calls) {
    if (call.rows < 2) continue;
    ++made.choices;
    const double regret = call.chosen / call.least_time;
    sum += std::log(regret);
    made.worst = std::max(made.worst, regret);
  }
  if (made.choices > 0) made.regret = std::exp(sum / static_cast<double>(made.choices));
  return made;
}

}  // namespace

MeasuredFile parse_measured(const std::string& text, const std::string& name) {
  return MeasuredReader(text, name).take();
}

Validation validate(const MeasuredFile& measured) {
  const auto another = [&](const MeasuredTime& one) { return one.row != measured.times[0].row; };
  if (std::none_of(measured.times.begin(), measured.times.end(), another))
    throw Error(MPI_ERR_ARG,
                "the times are of one algorithm; validate predicts an algorithm from "
                "the others: measure all by tern_coll tune");
  std::vector<double> by_figures;
  for (const MeasuredTime& one : measured.times)
    by_figures.push_back(measured.model.predict(*one.row, question_of(measured, one)));
  const std::vector<double> fitted = predicted(measured);
  Validation made{.by_figures = judge(measured, by_figures, nullptr),
                  .fitted = judge(measured, fitted, nullptr),
                  .collectives = {}};
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    const Deviation one = judge(measured, fitted, &collective);
    if (one.times > 0) made.collectives.push_back({collective, one});
  }
  return made;
}

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
#include "coll/laboratory/simulate/workload.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr size_t kMostWorkloadBytes = size_t{64} << 20;
constexpr double kMostWorkloadRanks = 1 << 20;
constexpr size_t kMostGroupMembers = size_t{1} << 22;  // of all communicators

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
  Workload take() { return std::move(made_); }

 private:
  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(MPI_ERR_ARG,
                strf("%s:%d: %s; a line is COLLECTIVE BYTES RANKS COMMUNICATOR ROOT US, or "
                     "group COMMUNICATOR 0,1,4..7, or group COMMUNICATOR stride (or block) N of P",
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
    if (words[0] == "group") return add_groups(words);
    if (words.size() != 6) fail(strf("%zu words", words.size()));
    WorkloadCall call{.collective = collective(words[0]),
                      .bytes = number(words[1], "bytes", 0, 1e15),
                      .ranks = whole(words[2], "ranks", 1, kMostWorkloadRanks),
                      .root = 0,
                      .gap = number(words[5], "us", 0, 1e15),
                      .communicator = communicator(words[3])};
    if (words[4] != "-") call.root = whole(words[4], "the root", 0, kMostWorkloadRanks);
    // The trace names the root by its rank in the job.
    call.root %= call.ranks;
    check_groups(call);
    called_.insert(call.communicator);
    made_.calls.push_back(call);
  }

  [[nodiscard]] int64_t communicator(const std::string& word) const {
    const double value = number(word, "the communicator", 0, 4294967295.0);
    if (value != std::floor(value)) fail("the communicator must be whole, not " + word);
    return static_cast<int64_t>(value);
  }

  void check_groups(const WorkloadCall& call) const {
    const auto known = made_.groups.find(call.communicator);
    if (known == made_.groups.end()) return;
    for (const std::vector<int32_t>& group : known->second)
      if (group.size() != static_cast<size_t>(call.ranks))
        fail(strf("%d ranks, but a group of communicator %lld above has %zu", call.ranks,
                  static_cast<long long>(call.communicator), group.size()));
  }

  void add_groups(const std::vector<std::string>& words) {
    if (words.size() == 3) return add_group(communicator(words[1]), listed(words[2]));
    if (words.size() != 6 || (words[2] != "stride" && words[2] != "block") || words[4] != "of")
      fail("this group has none of the three forms");
    const int64_t of = communicator(words[1]);
    const int32_t n = whole(words[3], words[2].c_str(), 1, kMostWorkloadRanks);
    const int32_t p = whole(words[5], "ranks", 1, kMostWorkloadRanks);
    if (p % n != 0) fail(strf("%d does not divide %d ranks", n, p));
    const bool strides = words[2] == "stride";
    for (int32_t group = 0; group < (strides ? n : p / n); ++group) {
      std::vector<int32_t> ranks;
      for (int32_t i = 0; i < (strides ? p / n : n); ++i)
        ranks.push_back(strides ? group + i * n : group * n + i);
      add_group(of, std::move(ranks));
    }
  }

  [[nodiscard]] std::vector<int32_t> listed(const std::string& word) const {
    std::vector<int32_t> ranks;
    for (size_t from = 0; from <= word.size();) {
      const size_t end = std::min(word.find(',', from), word.size());
      const std::string one = word.substr(from, end - from);
      const size_t dots = one.find("..");
      const int32_t low = whole(one.substr(0, dots), "a rank", 0, kMostWorkloadRanks - 1);
      const int32_t high = dots == std::string::npos
                               ? low
                               : whole(one.substr(dots + 2), "a rank", low, kMostWorkloadRanks - 1);
      if (ranks.size() + static_cast<size_t>(high - low) >= kMostGroupMembers)
        fail("too many ranks in a group");
      for (int32_t rank = low; rank <= high; ++rank) ranks.push_back(rank);
      from = end + 1;
    }
    return ranks;
  }

  void add_group(int64_t communicator, std::vector<int32_t> ranks) {
    if (called_.count(communicator) != 0)
      fail(strf("a call of communicator %lld precedes this group",
                static_cast<long long>(communicator)));
    count_ += ranks.size();
    if (count_ > kMostGroupMembers) fail(strf("more than %zu ranks in groups", kMostGroupMembers));
    std::set<int32_t>& members = members_[communicator];
    for (const int32_t rank : ranks)
      if (!members.insert(rank).second)
        fail(strf("rank %d is in communicator %lld twice", rank,
                  static_cast<long long>(communicator)));
    made_.groups[communicator].push_back(std::move(ranks));
  }

  [[nodiscard]] int32_t whole(const std::string& word, const char* what, double least,
                              double most) const {
    const double value = number(word, what, least, most);
    if (value != std::floor(value)) fail(strf("%s must be whole, not %s", what, word.c_str()));
    return static_cast<int32_t>(value);
  }

  std::string name_;
  int line_ = 1;
  Workload made_;
  std::map<int64_t, std::set<int32_t>> members_;
  std::set<int64_t> called_;
  size_t count_ = 0;
};

std::string list_in_words(const std::vector<int32_t>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += strf("%s%d", i == 0 ? "" : ",", ranks[i]);
    if (end - i > 1) text += strf("..%d", ranks[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace

Groups Workload::groups_of(const WorkloadCall& call) const {
  const auto known = groups.find(call.communicator);
  if (known != groups.end()) return known->second;
  Groups one(1, std::vector<int32_t>(static_cast<size_t>(call.ranks)));
  std::iota(one[0].begin(), one[0].end(), 0);
  return one;
}

int32_t Workload::ranks() const {
  int32_t most = 0;
  for (const WorkloadCall& call : calls) most = std::max(most, call.ranks);
  for (const auto& [communicator, all] : groups)
    for (const std::vector<int32_t>& group : all)
      for (const int32_t rank : group) most = std::max(most, rank + 1);
  return most;
}

Workload parse_workload(const std::string& text, const std::string& name) {
  return WorkloadReader(text, name).take();
}

Workload load_workload(const std::string& name) {
  try {
    return parse_workload(text_of_file(name), name);
  } catch (const Error& error) {
    if (error.mpi_class() != MPI_ERR_FILE) throw;
    throw Error(MPI_ERR_FILE, strf("the workload %s", error.what()));
  }
}

std::string workload_text(const Workload& workload) {
  std::string text = "# collective bytes ranks communicator root (- none) us\n";
  for (const auto& [communicator, all] : workload.groups)
    for (const std::vector<int32_t>& group : all)
      text += strf("group %lld %s\n", static_cast<long long>(communicator),
                   list_in_words(group).c_str());
  for (const WorkloadCall& call : workload.calls)
    text += strf("%s %.0f %d %lld %s %.3f\n", name_of(call.collective), call.bytes, call.ranks,
                 static_cast<long long>(call.communicator),
                 rooted(call.collective) ? strf("%d", call.root).c_str() : "-", call.gap);
  return text;
}

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
#include "coll/laboratory/simulate/chakra.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr size_t kMostTraces = 8192;
constexpr size_t kMostNodesOfAll = size_t{1} << 23;
constexpr int32_t kMostGroupRank = 1 << 20;

class GroupsReader {
 public:
  GroupsReader(const std::string& text, const std::string& name) : text_(text), name_(name) {
    take('{');
    if (next() != '}') do
        group();
      while (accept(','));
    take('}');
    if (next() != '\0') fail("further text");
  }
  NamedGroups made;

 private:
  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(MPI_ERR_ARG, strf("%s, byte %zu: %s; groups are {\"NAME\": [0, 1], ...}",
                                  name_.c_str(), at_, cause.c_str()));
  }
  char next() {
    while (at_ < text_.size() && std::string(" \t\r\n").find(text_[at_]) != std::string::npos)
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  void take(char c) {
    if (!accept(c)) fail(strf("'%c' is missing", c));
  }

  void group() {
    take('"');
    const size_t end = text_.find_first_of("\"\\", at_);
    if (end == std::string::npos || text_[end] != '"' || end - at_ > 4096)
      fail("a name of up to 4096 bytes ends at a quote, without escapes");
    const std::string name = text_.substr(at_, end - at_);
    at_ = end + 1;
    take(':');
    take('[');
    std::vector<int32_t>& ranks = made[name];
    if (!ranks.empty()) fail("there is a group \"" + name + "\" already");
    std::set<int32_t> seen;
    do {
      (void)next();
      int32_t rank = 0;
      const char* const begin = text_.data() + at_;
      const auto [rest, fault] = std::from_chars(begin, text_.data() + text_.size(), rank);
      if (fault != std::errc() || rank < 0 || rank >= kMostGroupRank)
        fail("a rank from 0 to 1048575 is missing");
      if (!seen.insert(rank).second) fail(strf("rank %d is in the group twice", rank));
      at_ += static_cast<size_t>(rest - begin);
      ranks.push_back(rank);
    } while (accept(','));
    take(']');
  }

  const std::string& text_;
  const std::string& name_;
  size_t at_ = 0;
};

Collective collective_of_type(int64_t comm_type, int32_t rank, uint64_t id) {
  // In the order of the trace's numbers.
  static constexpr Collective kKinds[] = {Collective::kAllreduce,     Collective::kReduce,
                                          Collective::kAllgather,     Collective::kGather,
                                          Collective::kScatter,       Collective::kBcast,
                                          Collective::kAlltoall,      Collective::kReduceScatter,
                                          Collective::kReduceScatter, Collective::kBarrier};
  if (comm_type >= 0 && comm_type < static_cast<int64_t>(std::size(kKinds)))
    return kKinds[comm_type];
  throw Error(MPI_ERR_ARG,
              strf("rank %d, node %llu: comm_type %lld; 0 to 9 are known", rank,
                   static_cast<unsigned long long>(id), static_cast<long long>(comm_type)));
}

/// Bytes of the vector or of one block, from those of a rank's input.
double bytes_of_call(Collective collective, double input, size_t ranks) {
  const bool of_all = collective == Collective::kScatter || collective == Collective::kAlltoall ||
                      collective == Collective::kReduceScatter;
  return of_all ? input / static_cast<double>(ranks) : input;
}

/// A rank's nodes by dependencies, then by the file. Converters drop nodes: an absent dependency is
/// fulfilled.
std::vector<const EtNode*> by_dependencies(const std::vector<EtNode>& nodes, int32_t rank) {
  std::unordered_map<uint64_t, size_t> numbers;
  const auto fail = [&](uint64_t id, const char* fault) {
    throw Error(MPI_ERR_ARG,
                strf("rank %d, node %llu %s", rank, static_cast<unsigned long long>(id), fault));
  };
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!numbers.emplace(nodes[i].id, i).second) fail(nodes[i].id, "is there twice");
  std::vector<std::vector<size_t>> later(nodes.size());
  std::vector<size_t> waits(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const uint64_t id : nodes[i].after) {
      const auto before = numbers.find(id);
      if (before == numbers.end()) continue;
      later[before->second].push_back(i);
      ++waits[i];
    }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waits[i] == 0) ready.push(i);
  std::vector<const EtNode*> order;
  while (!ready.empty()) {
    const size_t one = ready.top();
    ready.pop();
    order.push_back(&nodes[one]);
    for (const size_t next : later[one])
      if (--waits[next] == 0) ready.push(next);
  }
  for (size_t i = 0; i < nodes.size() && order.size() < nodes.size(); ++i)
    if (waits[i] > 0) fail(nodes[i].id, "is in or behind a cycle of dependencies");
  return order;
}

/// A rank's next communication.
struct Head {
  std::vector<const EtNode*> order;
  size_t next = 0;
  double gap = 0;
};

class Meeting {
 public:
  Meeting(const std::vector<std::vector<EtNode>>& ranks, const NamedGroups& groups)
      : groups_(groups) {
    for (size_t r = 0; r < ranks.size(); ++r) {
      heads_.push_back({.order = by_dependencies(ranks[r], static_cast<int32_t>(r))});
      world_.push_back(static_cast<int32_t>(r));
    }
  }

  Workload run() {
    while (!over()) {
      std::map<Kind, Calls> calls;
      bool sent = false;
      for (size_t r = 0; r < heads_.size(); ++r) sent |= send(static_cast<int32_t>(r));
      for (size_t r = 0; r < heads_.size(); ++r) meet(static_cast<int32_t>(r), &calls);
      if (calls.empty() && !sent && !std::exchange(alone_, false)) never_meets();
      for (auto& [kind, found] : calls) add(kind, std::move(found));
    }
    return std::move(made_);
  }

 private:
  using Kind = std::tuple<Collective, double, size_t>;  // bytes, ranks
  struct Message {
    double bytes, gap;  // gap: of the sender
  };
  struct Calls {
    Groups groups;
    std::set<int32_t> members;
    double gap = 0;
  };

  [[nodiscard]] Head& head(int32_t rank) { return heads_[static_cast<size_t>(rank)]; }

  /// The rank's next node of communication, or null.
  const EtNode* node_of(int32_t rank) {
    Head& one = head(rank);
    for (; one.next < one.order.size(); ++one.next) {
      const EtNode& node = *one.order[one.next];
      if (node.kind >= EtNode::Kind::kSend) return &node;
      one.gap += node.duration;
    }
    return nullptr;
  }
  [[nodiscard]] bool over() {
    for (size_t r = 0; r < heads_.size(); ++r)
      if (node_of(static_cast<int32_t>(r)) != nullptr) return false;
    return true;
  }
  [[noreturn]] void fail(int32_t rank, const EtNode& node, const std::string& fault) const {
    throw Error(MPI_ERR_ARG,
                strf("rank %d, node %llu (%.60s): %s", rank,
                     static_cast<unsigned long long>(node.id), node.name.c_str(), fault.c_str()));
  }

  [[nodiscard]] const std::vector<int32_t>& group_of(int32_t rank, const EtNode& node) const {
    if (node.group.empty()) return world_;
    const auto found = groups_.find(node.group);
    if (found == groups_.end())
      fail(rank, node,
           strf("the group \"%.60s\" is unknown; --groups=FILE gives its ranks: "
                "{\"%.60s\": [0, 1]}",
                node.group.c_str(), node.group.c_str()));
    if (std::find(found->second.begin(), found->second.end(), rank) == found->second.end())
      fail(rank, node, strf("the rank is not in the group \"%.60s\"", node.group.c_str()));
    if (*std::max_element(found->second.begin(), found->second.end()) >=
        static_cast<int32_t>(world_.size()))
      fail(rank, node,
           strf("the group \"%.60s\" has a rank without a trace; there are %zu traces",
                node.group.c_str(), world_.size()));
    return found->second;
  }

  [[nodiscard]] int32_t peer(int32_t rank, const EtNode& node, int64_t number) const {
    if (number >= 0 && number < static_cast<int64_t>(world_.size()) && number != rank)
      return static_cast<int32_t>(number);
    fail(rank, node,
         strf("a message with rank %lld of %zu", static_cast<long long>(number), world_.size()));
  }

  /// Sends never wait.
  bool send(int32_t rank) {
    bool sent = false;
    for (const EtNode* node = node_of(rank); node != nullptr && node->kind == EtNode::Kind::kSend;
         node = node_of(rank)) {
      const int32_t to = peer(rank, *node, node->target);
      mail_[{rank, to, node->tag}].push({node->comm_size, std::exchange(head(rank).gap, 0)});
      ++head(rank).next;
      sent = true;
    }
    return sent;
  }

  void meet(int32_t rank, std::map<Kind, Calls>* calls) {
    const EtNode* const node = node_of(rank);
    if (node == nullptr || node->kind == EtNode::Kind::kSend) return;
    if (node->kind == EtNode::Kind::kRecv) return receive(rank, *node, calls);
    const std::vector<int32_t>& group = group_of(rank, *node);
    // The lowest member speaks for the group, once all have arrived.
    if (rank != *std::min_element(group.begin(), group.end())) return;
    const Collective collective = collective_of_type(node->comm_type, rank, node->id);
    if (group.size() == 1) {  // its computation belongs to the next call
      ++head(rank).next;
      alone_ = true;
      return;
    }
    double gap = 0;
    for (const int32_t member : group) {
      const EtNode* const other = node_of(member);
      if (other == nullptr || other->kind != node->kind || other->group != node->group) return;
      if (collective_of_type(other->comm_type, member, other->id) != collective ||
          other->comm_size != node->comm_size)
        fail(member, *other,
             strf("a call of type %lld with %.0f bytes meets rank %d's of type %lld with %.0f",
                  static_cast<long long>(other->comm_type), other->comm_size, rank,
                  static_cast<long long>(node->comm_type), node->comm_size));
      gap = std::max(gap, head(member).gap);
    }
    enter({collective, bytes_of_call(collective, node->comm_size, group.size()), group.size()},
          group, gap, calls);
    for (const int32_t member : group) arrive(member);
  }

  void receive(int32_t rank, const EtNode& node, std::map<Kind, Calls>* calls) {
    const int32_t from = peer(rank, node, node.source);
    const auto mail = mail_.find({from, rank, node.tag});
    if (mail == mail_.end() || mail->second.empty()) return;
    const auto [bytes, gap] = mail->second.front();
    enter({Collective::kBcast, bytes, 2}, {from, rank}, std::max(gap, head(rank).gap), calls);
    mail->second.pop();
    arrive(rank);
  }

  void arrive(int32_t rank) {
    ++head(rank).next;
    head(rank).gap = 0;
  }

  // A rank with two messages at once calls twice.
  void enter(const Kind& kind, const std::vector<int32_t>& group, double gap,
             std::map<Kind, Calls>* calls) {
    Calls& found = (*calls)[kind];
    const auto calls_already = [&](int32_t rank) { return found.members.count(rank) != 0; };
    if (std::any_of(group.begin(), group.end(), calls_already)) add(kind, std::exchange(found, {}));
    found.groups.push_back(group);
    found.members.insert(group.begin(), group.end());
    found.gap = std::max(found.gap, gap);
  }

  void add(const Kind& kind, Calls calls) {
    const auto [collective, bytes, ranks] = kind;
    std::sort(calls.groups.begin(), calls.groups.end());
    const auto next = static_cast<int64_t>(numbers_.size());
    const auto [known, is_new] = numbers_.try_emplace(calls.groups, next);
    if (is_new) made_.groups[next] = calls.groups;
    made_.calls.push_back({.collective = collective,
                           .bytes = bytes,
                           .ranks = static_cast<int32_t>(ranks),
                           .root = 0,
                           .gap = calls.gap,
                           .communicator = known->second});
  }

  [[noreturn]] void never_meets() {
    for (size_t r = 0; r < heads_.size(); ++r)
      if (const EtNode* node = node_of(static_cast<int32_t>(r)))
        fail(static_cast<int32_t>(r), *node,
             "never meets its peers: the ranks' calls or messages differ");
    throw Error(MPI_ERR_INTERN, "no rank waits");
  }

  const NamedGroups& groups_;
  std::vector<int32_t> world_;
  std::vector<Head> heads_;
  std::map<std::tuple<int32_t, int32_t, int64_t>, std::queue<Message>> mail_;  // from, to, tag
  std::map<Groups, int64_t> numbers_;
  bool alone_ = false;  // a group of one went on
  Workload made_;
};

}  // namespace

NamedGroups parse_named_groups(const std::string& text, const std::string& name) {
  return std::move(GroupsReader(text, name).made);
}

Workload workload_of(std::vector<std::vector<EtNode>> ranks, const NamedGroups& groups) {
  return Meeting(ranks, groups).run();
}

Workload load_chakra(const std::string& first, const std::string& groups) {
  const std::string end = ".0.et";
  if (first.size() <= end.size() || first.substr(first.size() - end.size()) != end)
    throw Error(MPI_ERR_ARG, strf("%s: traces of Chakra are a file per rank; give the first, "
                                  "NAME.0.et",
                                  first.c_str()));
  const std::string stem = first.substr(0, first.size() - end.size());
  std::vector<std::vector<EtNode>> ranks;
  size_t nodes = 0;
  for (std::string name = first; ranks.empty() || ::access(name.c_str(), F_OK) == 0;
       name = strf("%s.%zu.et", stem.c_str(), ranks.size())) {
    if (ranks.size() == kMostTraces)
      throw Error(MPI_ERR_ARG, strf("%s: more than %zu ranks", name.c_str(), kMostTraces));
    ranks.push_back(read_et(text_of_file(name), name));
    nodes += ranks.back().size();
    if (nodes > kMostNodesOfAll)
      throw Error(MPI_ERR_ARG,
                  strf("%s: more than %zu nodes of all ranks", name.c_str(), kMostNodesOfAll));
  }
  const NamedGroups named =
      groups.empty() ? NamedGroups{} : parse_named_groups(text_of_file(groups), groups);
  try {
    return workload_of(std::move(ranks), named);
  } catch (const Error& error) {
    throw Error(MPI_ERR_ARG, strf("%s.*.et: %s", stem.c_str(), error.what()));
  }
}

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// Arrangement: a graph of messages and local steps, sorted by levels.
#include "coll/exchange/arrange.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "coll/schedule/builder.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int kMostCycles = 256;

/// A node is a message, with its send and receive, or a copy or reduction.
class StepGraph {
 public:
  explicit StepGraph(FilePlan& plan) : plan_(plan) {
    for (int32_t rank = 0; rank < plan.ranks(); ++rank) {
      Builder builder(plan.collective, kFileRow, plan.ranks(), rank, 0);
      builder.split(plan.parts);
      shapes_.push_back(builder.finish());
    }
    for (size_t rank = 0; rank < plan.steps.size(); ++rank)
      for (size_t i = 0; i < plan.steps[rank].size(); ++i)
        steps_.push_back({static_cast<int32_t>(rank), i, 0});
    make_nodes();
    after_.resize(ends_.size());
    waits_.assign(ends_.size(), 0);
    connect();
  }

  /// Returns false for a cycle.
  [[nodiscard]] bool sort() {
    std::vector<std::vector<FileStep>> made(plan_.steps.size());
    std::vector<size_t> now;
    size_t done = 0;
    for (size_t node = 0; node < ends_.size(); ++node)
      if (waits_[node] == 0) now.push_back(node);
    while (!now.empty()) {
      std::sort(now.begin(), now.end());
      for (const size_t node : now)
        for (const size_t end : ends_[node]) made[rank_of(end)].push_back(step(end));
      std::vector<size_t> next;
      for (const size_t node : now)
        for (const size_t after : after_[node])
          if (--waits_[after] == 0) next.push_back(after);
      done += now.size();
      now = std::move(next);
    }
    if (done < ends_.size()) return false;
    plan_.steps = std::move(made);
    return true;
  }

  /// After a failed sort(): copies the source of the first send in the cycle, chunk by chunk (a
  /// slot has the size of a chunk).
  void copy_a_source() {
    const auto found =
        std::find_if(overwritten_.begin(), overwritten_.end(), [&](const auto& pair) {
          return waits_[node_of(pair.first)] > 0 && waits_[pair.second] > 0;
        });
    TERN_ASSERT(found != overwritten_.end());
    const std::vector<size_t>& ends = ends_[node_of(found->first)];
    const FileStep sent = step(ends[0]), received = step(ends[1]);
    std::vector<FileStep> copies, sends, receives;
    for (int32_t i = 0; i < sent.slices[0].blocks; ++i) {
      const Slice source = part(sent.slices[0], i);
      const Slice slot = Builder::staged(plan_.stage++, source.first);
      copies.push_back({Verb::kCopy, sent.lane, kSelf, {source, slot}, sent.origin});
      sends.push_back({Verb::kSend, sent.lane, sent.peer, {slot}, sent.origin});
      receives.push_back({Verb::kRecv,
                          received.lane,
                          received.peer,
                          {part(received.slices[0], i)},
                          received.origin});
    }
    copies.insert(copies.end(), sends.begin(), sends.end());
    replace(ends[0], copies);
    replace(ends[1], receives);
  }

 private:
  struct Place {
    int32_t rank;
    size_t index;
    size_t node;
  };
  struct Use {
    size_t written;  // a step; none: the number of steps
    std::vector<size_t> read;
  };
  using Location = std::tuple<int32_t, Space, int32_t>;

  [[nodiscard]] size_t rank_of(size_t number) const {
    return static_cast<size_t>(steps_[number].rank);
  }
  [[nodiscard]] const FileStep& step(size_t number) const {
    return plan_.steps[rank_of(number)][steps_[number].index];
  }
  [[nodiscard]] size_t node_of(size_t number) const { return steps_[number].node; }

  static Slice part(Slice slice, int32_t i) noexcept {
    slice.first += i;
    slice.place += i;
    slice.blocks = 1;
    return slice;
  }

  void replace(size_t number, const std::vector<FileStep>& by) {
    std::vector<FileStep>& steps = plan_.steps[rank_of(number)];
    const auto at = steps.begin() + static_cast<std::ptrdiff_t>(steps_[number].index);
    steps.insert(steps.erase(at), by.begin(), by.end());
  }

  // Messages of a lane between two ranks match in order.
  void make_nodes() {
    using Key = std::tuple<int32_t, int32_t, int>;
    std::map<Key, std::vector<size_t>> sends;
    std::map<Key, size_t> received;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (step(i).verb == Verb::kRecv) continue;
      steps_[i].node = ends_.size();
      ends_.push_back({i});
      if (step(i).verb == Verb::kSend)
        sends[{steps_[i].rank, step(i).peer, step(i).lane}].push_back(i);
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (step(i).verb != Verb::kRecv) continue;
      const Key way{step(i).peer, steps_[i].rank, step(i).lane};
      const size_t send = sends[way].at(received[way]++);
      steps_[i].node = steps_[send].node;
      ends_[steps_[i].node].push_back(i);
    }
    for (const auto& [way, all] : sends)
      for (size_t i = 1; i < all.size(); ++i) in_order_.emplace_back(all[i - 1], all[i]);
  }

  void edge(size_t before, size_t after) {
    if (node_of(before) == node_of(after)) return;
    after_[node_of(before)].push_back(node_of(after));
    ++waits_[node_of(after)];
    if (step(before).verb == Verb::kSend && step(after).verb != Verb::kSend)
      overwritten_.emplace_back(before, node_of(after));
  }

  // Input and output count as the same memory where MPI_IN_PLACE aliases them.
  [[nodiscard]] Location location(int32_t rank, const Slice& slice, int32_t i) const {
    const int32_t at = slice.place + i;
    if (slice.space != Space::kInput) return {rank, slice.space, at};
    const int32_t same = shapes_[static_cast<size_t>(rank)].in_place_block(at);
    return {rank, same < 0 ? Space::kInput : Space::kOutput, same < 0 ? at : same};
  }

  void connect() {
    for (const auto& [before, after] : in_order_) edge(before, after);
    std::map<Location, Use> uses;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const std::vector<Slice>& slices = step(i).slices;
      const bool writes = step(i).verb != Verb::kSend;
      for (size_t s = 0; s < slices.size(); ++s)
        for (int32_t k = 0; k < slices[s].blocks; ++k) {
          const Location at = location(steps_[i].rank, slices[s], k);
          touch(uses.try_emplace(at, Use{steps_.size(), {}}).first->second, i,
                writes && s + 1 == slices.size());
        }
    }
  }

  void touch(Use& use, size_t number, bool writes) {
    if (use.written < steps_.size()) edge(use.written, number);
    if (!writes) return use.read.push_back(number);
    for (const size_t reader : use.read) edge(reader, number);
    use = {number, {}};
  }

  FilePlan& plan_;
  std::vector<Schedule> shapes_;           // by rank, without steps
  std::vector<Place> steps_;               // rank by rank
  std::vector<std::vector<size_t>> ends_;  // by node: steps
  std::vector<std::vector<size_t>> after_;
  std::vector<int32_t> waits_;
  std::vector<std::pair<size_t, size_t>> in_order_;     // steps of a way
  std::vector<std::pair<size_t, size_t>> overwritten_;  // a send; a node that overwrites the source
};

}  // namespace

void arrange(FilePlan& plan) {
  for (int copies = 0; copies < kMostCycles; ++copies) {
    StepGraph graph(plan);
    if (graph.sort()) return;
    graph.copy_a_source();
  }
  throw Error(MPI_ERR_ARG, strf("%s: more than %d sends wait in cycles for the overwriting of "
                                "their sources",
                                plan.file.c_str(), kMostCycles));
}

}  // namespace tern::coll

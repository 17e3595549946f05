// SPDX-License-Identifier: Apache-2.0
// MSCCL++: operations get a sequence, then they become steps of MSCCL.
//
// Reads and writes of remote memory become messages. Signals, barriers and packets give the
// sequence only: Tern derives dependencies from slices.
#include "coll/exchange/mscclpp_read.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "coll/exchange/msccl_read.hpp"
#include "coll/exchange/mscclpp_file.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int32_t kLanesOfPair = 16;

[[noreturn]] void refuse_operation(const MscclppFile& file, const MscclppOperation& at,
                                   const std::string& cause) {
  throw Error(MPI_ERR_ARG, strf("%s: GPU %d, thread block %d, operation %d (line %d): %s: %s",
                                file.plan.file.c_str(), at.gpu, at.block, at.number, at.line,
                                at.type->name, cause.c_str()));
}

class MscclppOrder {
 public:
  explicit MscclppOrder(const MscclppFile& file) : file_(file) {
    after_.resize(file.operations.size());
    waits_.resize(file.operations.size());
    for (size_t i = 1; i < file.operations.size(); ++i)
      if (same_block(i - 1, i)) edge(i - 1, i);
    connect_signals();
    connect_barriers();
    connect_packets();
  }

  [[nodiscard]] std::vector<size_t> sorted() {
    std::deque<size_t> now;
    std::vector<size_t> made;
    for (size_t i = 0; i < waits_.size(); ++i)
      if (waits_[i] == 0) now.push_back(i);
    for (; !now.empty(); now.pop_front()) {
      if (now.front() < file_.operations.size()) made.push_back(now.front());
      for (const size_t after : after_[now.front()])
        if (--waits_[after] == 0) now.push_back(after);
    }
    for (size_t i = 0; i < file_.operations.size(); ++i)
      if (waits_[i] > 0)
        refuse_operation(file_, file_.operations[i], "waits in vain, or for itself through others");
    return made;
  }

 private:
  struct Ends {
    std::vector<size_t> sent, awaited;
  };

  [[nodiscard]] bool same_block(size_t one, size_t other) const {
    const MscclppOperation &a = file_.operations[one], &b = file_.operations[other];
    return a.gpu == b.gpu && a.block == b.block;
  }

  [[nodiscard]] size_t new_node() {
    after_.emplace_back();
    waits_.push_back(0);
    return waits_.size() - 1;
  }

  void edge(size_t before, size_t after) {
    after_[before].push_back(after);
    ++waits_[after];
  }

  // The k-th signal meets the k-th wait. Two thread blocks at one end have no order.
  void connect_signals() {
    std::map<MscclppSignal, Ends> channels;
    for (size_t i = 0; i < file_.operations.size(); ++i) {
      const MscclppOperation& at = file_.operations[i];
      for (const MscclppSignal& signal : at.signals) {
        Ends& ends = channels[signal];
        std::vector<size_t>& mine = at.type->form == MscclppForm::kWait ? ends.awaited : ends.sent;
        if (!mine.empty() && !same_block(mine.back(), i))
          refuse_operation(file_, at, "another thread block has this end of the channel, too");
        mine.push_back(i);
      }
    }
    for (const auto& [signal, ends] : channels)
      for (size_t k = 0; k < ends.awaited.size(); ++k) {
        if (k >= ends.sent.size())
          refuse_operation(file_, file_.operations[ends.awaited[k]],
                           strf("GPU %d sends %zu signals by this channel, and this is wait %zu",
                                signal.from, ends.sent.size(), k + 1));
        edge(ends.sent[k], ends.awaited[k]);
      }
  }

  // A barrier follows the operations before it.
  void connect_barriers() {
    std::map<std::pair<int32_t, int64_t>, std::map<int32_t, std::vector<size_t>>> barriers;
    for (size_t i = 0; i < file_.operations.size(); ++i) {
      const MscclppOperation& at = file_.operations[i];
      if (at.type->form == MscclppForm::kBarrier)
        barriers[{at.gpu, at.barrier}][at.block].push_back(i);
    }
    for (const auto& [name, blocks] : barriers) {
      std::vector<size_t> meetings;  // nodes of their own, by use
      for (const auto& [block, uses] : blocks)
        for (size_t k = 0; k < uses.size(); ++k) {
          const MscclppOperation& at = file_.operations[uses[k]];
          if (static_cast<int64_t>(blocks.size()) != at.meets)
            refuse_operation(file_, at,
                             strf("barrier %lld is for %lld thread blocks, but %zu use it",
                                  static_cast<long long>(at.barrier),
                                  static_cast<long long>(at.meets), blocks.size()));
          if (k == meetings.size()) meetings.push_back(new_node());
          if (uses[k] > 0 && same_block(uses[k] - 1, uses[k])) edge(uses[k] - 1, meetings[k]);
          edge(meetings[k], uses[k]);
        }
    }
  }

  [[nodiscard]] static size_t first_packet(const MscclppOperation& at) noexcept {
    return at.type->form == MscclppForm::kSum ? 1 : 0;
  }

  void connect_packets() {
    std::map<std::pair<int32_t, int32_t>, size_t> writers;  // by GPU, place
    for (size_t i = 0; i < file_.operations.size(); ++i) {
      const MscclppOperation& at = file_.operations[i];
      if (!at.type->writes_packets) continue;
      for (size_t d = first_packet(at); d < at.destinations.size(); ++d) {
        const MscclppRange& to = at.destinations[d];
        if (to.buffer != MscclBuffer::kScratch)
          refuse_operation(file_, at, "writes packets outside the scratch");
        for (int32_t k = 0; k < to.count; ++k)
          if (!writers.try_emplace({to.gpu, to.at + k}, i).second)
            refuse_operation(file_, at, strf("a second packet for the scratch of GPU %d", to.gpu));
      }
    }
    for (size_t i = 0; i < file_.operations.size(); ++i) {
      const MscclppOperation& at = file_.operations[i];
      if (!at.type->reads_packets) continue;
      std::set<size_t> before;
      for (size_t s = first_packet(at); s < at.sources.size(); ++s)
        for (int32_t k = 0; k < at.sources[s].count; ++k) {
          const auto found = writers.find({at.sources[s].gpu, at.sources[s].at + k});
          if (found == writers.end() || at.sources[s].buffer != MscclBuffer::kScratch)
            refuse_operation(file_, at, "reads packets that no operation writes");
          before.insert(found->second);
        }
      for (const size_t writer : before) edge(writer, i);
    }
  }

  const MscclppFile& file_;
  std::vector<std::vector<size_t>> after_;
  std::vector<int32_t> waits_;
};

// A made thread block has one peer and one lane, or no peer.
class MscclppSteps {
 public:
  explicit MscclppSteps(const MscclppFile& file) : file_(file), made_(file.plan) {
    for (const size_t i : MscclppOrder(file).sorted()) run(file.operations[i]);
  }

  [[nodiscard]] std::shared_ptr<const FilePlan> plan() const {
    return coll::plan_of(made_, order_);
  }

 private:
  using Range = MscclppRange;

  void run(const MscclppOperation& at) {
    switch (at.type->form) {
      case MscclppForm::kEach:
        for (size_t i = 0; i < at.sources.size(); ++i) move(at, at.sources[i], at.destinations[i]);
        break;
      case MscclppForm::kSpread:
        for (const Range& to : at.destinations) move(at, at.sources[0], to);
        break;
      case MscclppForm::kSum:
        sum(at);
        break;
      case MscclppForm::kNothing:
      case MscclppForm::kWait:
      case MscclppForm::kBarrier:
        break;
    }
  }

  // A sum starts with the source that lies at the destination: sources have no order.
  void sum(const MscclppOperation& at) {
    const Range& total = at.destinations[0];
    auto start = std::find(at.sources.begin(), at.sources.end(), total);
    if (start == at.sources.end()) {
      start = at.sources.begin();
      for (auto other = start + 1; other != at.sources.end(); ++other)
        if (overlap(*other, total))
          refuse_operation(file_, at, "the sum overwrites a part of a source");
      move(at, *start, total);
    }
    for (auto source = at.sources.begin(); source != at.sources.end(); ++source)
      if (source != start) add(at, *source, total);
    for (size_t i = 1; i < at.destinations.size(); ++i) move(at, total, at.destinations[i]);
  }

  [[nodiscard]] bool overlap(const Range& one, const Range& other) const noexcept {
    const auto storage = [&](MscclBuffer buffer) {
      return file_.plan.in_place && buffer == MscclBuffer::kOutput ? MscclBuffer::kInput : buffer;
    };
    return one.gpu == other.gpu && storage(one.buffer) == storage(other.buffer) &&
           one.at < other.at + other.count && other.at < one.at + one.count;
  }

  void move(const MscclppOperation& at, const Range& from, const Range& to) {
    if (from == to) return;
    if (from.gpu == to.gpu) return step(at, "cpy", from.gpu, -1, from, to);
    step(at, "s", from.gpu, to.gpu, from, to);
    step(at, "r", to.gpu, from.gpu, from, to);
  }

  void add(const MscclppOperation& at, const Range& from, const Range& to) {
    if (from.gpu == to.gpu) return step(at, "re", to.gpu, -1, from, to);
    step(at, "s", from.gpu, to.gpu, from, from);
    step(at, "rrc", to.gpu, from.gpu, to, to);
  }

  void step(const MscclppOperation& at, const char* type, int32_t gpu, int32_t peer,
            const Range& from, const Range& to) {
    const int32_t lane = at.block % kLanesOfPair;
    std::vector<MscclBlock>& blocks = made_.gpus[static_cast<size_t>(gpu)].blocks;
    const auto [found, is_new] =
        blocks_.try_emplace({gpu, peer, lane}, static_cast<int32_t>(blocks.size()));
    if (is_new) blocks.push_back({peer, peer, lane, {}});
    std::vector<MscclStep>& steps = blocks[static_cast<size_t>(found->second)].steps;
    order_.push_back({gpu, found->second, static_cast<int32_t>(steps.size())});
    steps.push_back({msccl_type(type), from.buffer, to.buffer, from.at, to.at, from.count, -1, -1,
                     at.line, at.block, at.number});
  }

  const MscclppFile& file_;
  MscclFile made_;
  std::vector<MscclPlace> order_;
  std::map<std::tuple<int32_t, int32_t, int32_t>, int32_t> blocks_;  // by GPU, peer and lane
};

}  // namespace

std::shared_ptr<const FilePlan> read_mscclpp(std::string_view text, const std::string& file) {
  return MscclppSteps(parse_mscclpp(text, file)).plan();
}

}  // namespace tern::coll

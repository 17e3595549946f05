// SPDX-License-Identifier: Apache-2.0
// Order: a breadth-first topological sort.
#include "coll/exchange/msccl_order.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

class MscclGraph {
 public:
  explicit MscclGraph(const MscclFile& file) : file_(file) {
    first_.resize(file.gpus.size());
    for (int32_t g = 0; g < file.ranks(); ++g) number(g);
    after_.resize(places_.size());
    waits_.resize(places_.size());
    for (size_t node = 0; node < places_.size(); ++node) connect(node);
  }

  [[nodiscard]] std::vector<MscclPlace> sorted() {
    std::vector<size_t> now;
    std::vector<MscclPlace> made;
    for (size_t node = 0; node < places_.size(); ++node)
      if (waits_[node] == 0) now.push_back(node);
    while (!now.empty()) {
      std::vector<size_t> next;
      for (const size_t node : now) {
        made.push_back(places_[node]);
        for (const size_t after : after_[node])
          if (--waits_[after] == 0) next.push_back(after);
      }
      std::sort(next.begin(), next.end());
      now = std::move(next);
    }
    if (made.size() < places_.size()) refuse_cycle();
    return made;
  }

 private:
  void number(int32_t gpu) {
    const MscclGpu& one = file_.gpus[static_cast<size_t>(gpu)];
    for (size_t b = 0; b < one.blocks.size(); ++b) {
      first_[static_cast<size_t>(gpu)].push_back(places_.size());
      for (size_t s = 0; s < one.blocks[b].steps.size(); ++s)
        places_.push_back({gpu, static_cast<int32_t>(b), static_cast<int32_t>(s)});
    }
  }

  [[nodiscard]] size_t node(int32_t gpu, int32_t block, int32_t step) const {
    return first_[static_cast<size_t>(gpu)][static_cast<size_t>(block)] + static_cast<size_t>(step);
  }

  [[nodiscard]] const MscclBlock& block_of(const MscclPlace& place) const {
    return file_.gpus[static_cast<size_t>(place.gpu)].blocks[static_cast<size_t>(place.block)];
  }

  void edge(size_t before, size_t after) {
    after_[before].push_back(after);
    ++waits_[after];
  }

  void connect(size_t node_number) {
    const MscclPlace& at = places_[node_number];
    const MscclBlock& block = block_of(at);
    const MscclStep& step = block.steps[static_cast<size_t>(at.step)];
    if (at.step > 0) edge(node_number - 1, node_number);
    if (step.wait_block >= 0) edge(node(at.gpu, step.wait_block, step.wait_step), node_number);
    if (step.type->sends) meet({at.gpu, block.send, block.channel}, node_number, true);
    if (step.type->receives) meet({block.recv, at.gpu, block.channel}, node_number, false);
  }

  // The k-th send of a way meets its k-th receive; the nodes of a thread block come in order.
  void meet(const std::tuple<int32_t, int32_t, int32_t>& way, size_t node_number, bool sends) {
    Meeting& meeting = meetings_[way];
    std::vector<size_t>& mine = sends ? meeting.sends : meeting.receives;
    const std::vector<size_t>& theirs = sends ? meeting.receives : meeting.sends;
    mine.push_back(node_number);
    if (theirs.size() < mine.size()) return;
    const size_t other = theirs[mine.size() - 1];
    sends ? edge(node_number, other) : edge(other, node_number);
  }

  // Nodes left wait for nodes left: a walk back ends in a cycle.
  [[noreturn]] void refuse_cycle() const {
    std::vector<size_t> before(places_.size(), places_.size());
    for (size_t node = 0; node < places_.size(); ++node)
      for (const size_t after : after_[node])
        if (waits_[node] > 0 && waits_[after] > 0) before[after] = node;
    size_t at = 0;
    while (waits_[at] == 0) ++at;
    for (size_t i = 0; i < places_.size(); ++i) at = before[at];
    throw Error(MPI_ERR_ARG, file_.place(places_[at].gpu, places_[at].block, places_[at].step) +
                                 ": waits for itself, through other steps");
  }

  struct Meeting {
    std::vector<size_t> sends, receives;
  };

  const MscclFile& file_;
  std::vector<MscclPlace> places_;
  std::vector<std::vector<size_t>> first_;  // by GPU and thread block
  std::vector<std::vector<size_t>> after_;
  std::vector<int32_t> waits_;
  std::map<std::tuple<int32_t, int32_t, int32_t>, Meeting> meetings_;
};

}  // namespace

std::vector<MscclPlace> order_msccl(const MscclFile& file) { return MscclGraph(file).sorted(); }

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// MSCCL: from schedules to thread blocks.
//
// The steps of all ranks become one sequence. Thread blocks take steps in this order. A step waits
// for the last accesses to the same chunks.
#include "coll/exchange/msccl_write.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

struct WrittenStep {
  const char* type;
  char source = 'i', destination = 'o';
  int32_t source_at = -1, destination_at = -1, count = 0;
  int32_t wait_block = -1, wait_step = -1;
  bool awaited = false;
};

struct WrittenBlock {
  int32_t send = -1, recv = -1, channel = 0;
  std::vector<WrittenStep> steps;
};

struct Range {
  char buffer;
  int32_t at, count;
};

struct StepPlace {
  int32_t block = -1, step = -1;
};

struct ChunkUse {
  StepPlace written;
  std::vector<StepPlace> read;  // since the last write, one per thread block
};

/// The file's <gpu> of a rank.
class WrittenGpu {
 public:
  explicit WrittenGpu(const Schedule& schedule) : schedule_(schedule) {}

  void add(const Step& step, int lane) {
    const bool sends = step.verb == Verb::kSend, receives = step.verb == Verb::kRecv;
    const int32_t block = block_of(sends ? step.peer : -1, receives ? step.peer : -1, lane);
    if (sends) return put(block, {.type = "s"}, {range(schedule_.source(step))}, {});
    if (receives) return put(block, {.type = "r"}, {}, {range(schedule_.destination(step))});
    const Range to = range(schedule_.destination(step));
    const Range last = range(schedule_.source(step, step.sources - 1));
    const bool in_place = last.buffer == to.buffer && last.at == to.at;
    if (!in_place) put(block, {.type = "cpy"}, {last}, {to});
    if (step.verb == Verb::kCopy) return;
    for (int i = step.sources - 2; i >= 0; --i)
      put(block, {.type = "re"}, {range(schedule_.source(step, i)), to}, {to});
  }

  void write(int32_t id, std::string& text) const {
    text += strf("  <gpu id=\"%d\" i_chunks=\"%d\" o_chunks=\"%d\" s_chunks=\"%d\">\n", id,
                 schedule_.blocks_of(Space::kInput), schedule_.blocks_of(Space::kOutput),
                 schedule_.stage_slots + schedule_.blocks_of(Space::kMirror));
    for (size_t b = 0; b < blocks_.size(); ++b) write_block(b, text);
    text += "  </gpu>\n";
  }

 private:
  [[nodiscard]] Range range(const Slice& slice) const {
    switch (slice.space) {
      case Space::kInput:
        return {'i', slice.place, slice.blocks};
      case Space::kOutput:
        return {'o', slice.place, slice.blocks};
      case Space::kMirror:
        return {'s', schedule_.stage_slots + slice.place, slice.blocks};
      default:
        return {'s', slice.place, slice.blocks};
    }
  }

  int32_t block_of(int32_t send, int32_t recv, int lane) {
    const auto [found, made] =
        numbers_.try_emplace({send, recv, lane}, static_cast<int32_t>(blocks_.size()));
    if (made) blocks_.push_back({send, recv, lane, {}});
    return found->second;
  }

  void put(int32_t block, WrittenStep step, const std::vector<Range>& reads,
           const std::vector<Range>& writes) {
    std::map<int32_t, int32_t> waits;  // by thread block: its last step
    for (const Range& range : reads) need(range, false, waits);
    for (const Range& range : writes) need(range, true, waits);
    waits.erase(block);
    std::vector<WrittenStep>& steps = blocks_[static_cast<size_t>(block)].steps;
    for (auto wait = waits.begin(); wait != waits.end(); ++wait) {
      blocks_[static_cast<size_t>(wait->first)].steps[static_cast<size_t>(wait->second)].awaited =
          true;
      step.wait_block = wait->first;
      step.wait_step = wait->second;
      if (std::next(wait) != waits.end())
        steps.push_back(
            {.type = "nop", .wait_block = step.wait_block, .wait_step = step.wait_step});
    }
    const Range& from = reads.empty() ? writes[0] : reads[0];
    const Range& to = writes.empty() ? reads[0] : writes[0];
    step.source = from.buffer;
    step.source_at = from.at;
    step.destination = to.buffer;
    step.destination_at = to.at;
    step.count = to.count;
    steps.push_back(step);
    const StepPlace here{block, static_cast<int32_t>(steps.size()) - 1};
    for (const Range& range : reads) mark(range, false, here);
    for (const Range& range : writes) mark(range, true, here);
  }

  void need(const Range& range, bool writes, std::map<int32_t, int32_t>& waits) {
    const auto wait = [&](const StepPlace& on) {
      if (on.block < 0) return;
      int32_t& step = waits.try_emplace(on.block, on.step).first->second;
      step = std::max(step, on.step);
    };
    for (int32_t i = 0; i < range.count; ++i) {
      const ChunkUse& use = uses_[{range.buffer, range.at + i}];
      wait(use.written);
      if (!writes) continue;
      for (const StepPlace& reader : use.read) wait(reader);
    }
  }

  void mark(const Range& range, bool writes, const StepPlace& here) {
    for (int32_t i = 0; i < range.count; ++i) {
      ChunkUse& use = uses_[{range.buffer, range.at + i}];
      if (writes) {
        use = {here, {}};
        continue;
      }
      std::erase_if(use.read, [&](const StepPlace& one) { return one.block == here.block; });
      use.read.push_back(here);
    }
  }

  void write_block(size_t number, std::string& text) const {
    const WrittenBlock& block = blocks_[number];
    text += strf("    <tb id=\"%zu\" send=\"%d\" recv=\"%d\" chan=\"%d\">\n", number, block.send,
                 block.recv, block.channel);
    for (size_t s = 0; s < block.steps.size(); ++s) {
      const WrittenStep& step = block.steps[s];
      text += strf(
          "      <step s=\"%zu\" type=\"%s\" srcbuf=\"%c\" srcoff=\"%d\" dstbuf=\"%c\" "
          "dstoff=\"%d\" cnt=\"%d\" depid=\"%d\" deps=\"%d\" hasdep=\"%d\"/>\n",
          s, step.type, step.source, step.source_at, step.destination, step.destination_at,
          step.count, step.wait_block, step.wait_step, step.awaited ? 1 : 0);
    }
    text += "    </tb>\n";
  }

  const Schedule& schedule_;
  std::map<std::tuple<int32_t, int32_t, int>, int32_t> numbers_;  // by send, recv and lane
  std::vector<WrittenBlock> blocks_;
  std::map<std::pair<char, int32_t>, ChunkUse> uses_;
};

/// Runs the schedules: lanes start steps in order, as in coll/schedule/schedule.hpp. A step enters
/// the file at completion, a receive after the matching send.
class Sequence {
 public:
  explicit Sequence(const std::vector<Schedule>& schedules) : schedules_(schedules) {
    for (const Schedule& schedule : schedules) {
      gpus_.emplace_back(schedule);
      lanes_.emplace_back(static_cast<size_t>(schedule.lanes()));
    }
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t rank = 0; rank < schedules.size(); ++rank)
        for (int lane = 0; lane < schedules[rank].lanes(); ++lane) moved |= advance(rank, lane);
    }
    for (size_t rank = 0; rank < schedules.size(); ++rank)
      for (int lane = 0; lane < schedules[rank].lanes(); ++lane)
        if (at(rank, lane).complete < schedules[rank].lane_size(lane))
          throw Error(MPI_ERR_ARG, strf("%s never ends: rank %zu waits for ever",
                                        schedules[rank].algorithm, rank));
  }

  [[nodiscard]] const std::vector<WrittenGpu>& gpus() const noexcept { return gpus_; }

 private:
  struct Lane {
    int32_t started = 0, complete = 0;  // complete: steps before the first incomplete one
    std::vector<int32_t> waiting;       // receives started without a message
  };

  [[nodiscard]] Lane& at(size_t rank, int lane) { return lanes_[rank][static_cast<size_t>(lane)]; }

  bool advance(size_t rank, int lane) {
    const Schedule& schedule = schedules_[rank];
    Lane& run = at(rank, lane);
    const int32_t before = run.started;
    const size_t waited = run.waiting.size();
    std::erase_if(run.waiting, [&](int32_t step) { return received(rank, lane, step); });
    bool moved = run.waiting.size() < waited;
    while (run.started < schedule.lane_size(lane)) {
      const Step& step = schedule.step(lane, run.started);
      count(run);
      if (run.complete < step.after) break;
      if (step.wait_steps > 0 && at(rank, step.wait_lane).complete < step.wait_steps) break;
      start(rank, lane, run.started++);
    }
    count(run);
    return moved || run.started > before;
  }

  static void count(Lane& run) {
    run.complete = run.waiting.empty() ? run.started : run.waiting.front();
  }

  void start(size_t rank, int lane, int32_t number) {
    const Step& step = schedules_[rank].step(lane, number);
    if (step.verb == Verb::kRecv) {
      if (!received(rank, lane, number)) at(rank, lane).waiting.push_back(number);
      return;
    }
    if (step.verb == Verb::kSend) ++sent_[{static_cast<int32_t>(rank), step.peer, lane}];
    if (step.verb != Verb::kJoin) gpus_[rank].add(step, lane);
  }

  // Receives from one rank complete in order: the messages of a lane match in order.
  bool received(size_t rank, int lane, int32_t number) {
    const Step& step = schedules_[rank].step(lane, number);
    int32_t& ready = sent_[{step.peer, static_cast<int32_t>(rank), lane}];
    for (const int32_t earlier : at(rank, lane).waiting)
      if (earlier < number && schedules_[rank].step(lane, earlier).peer == step.peer) return false;
    if (ready == 0) return false;
    --ready;
    gpus_[rank].add(step, lane);
    return true;
  }

  const std::vector<Schedule>& schedules_;
  std::vector<WrittenGpu> gpus_;
  std::vector<std::vector<Lane>> lanes_;  // by rank
  std::map<std::tuple<int32_t, int32_t, int>, int32_t> sent_;
};

const char* msccl_name(Collective collective) noexcept {
  switch (collective) {
    case Collective::kAllreduce:
      return "allreduce";
    case Collective::kAllgather:
      return "allgather";
    case Collective::kReduceScatter:
      return "reducescatter";
    case Collective::kAlltoall:
      return "alltoall";
    default:
      return nullptr;
  }
}

}  // namespace

std::string write_msccl(const std::vector<Schedule>& schedules, const std::string& name) {
  const Schedule& any = schedules.front();
  const char* collective = msccl_name(any.collective);
  if (collective == nullptr)
    throw Error(MPI_ERR_ARG,
                strf("MSCCL files hold allreduce, allgather, reduce_scatter and alltoall, not %s",
                     name_of(any.collective)));
  for (const Schedule& schedule : schedules)
    if (schedule.remote || schedule.inbox_slots > 0)
      throw Error(MPI_ERR_ARG, strf("%s puts into the memory of peers: MSCCL files hold messages",
                                    any.algorithm));
  const int32_t chunks = any.collective == Collective::kReduceScatter
                             ? any.blocks_of(Space::kInput)
                             : any.blocks_of(Space::kOutput);
  std::string text = strf(
      "<algo name=\"%s\" proto=\"Simple\" nchannels=\"%d\" nchunksperloop=\"%d\" ngpus=\"%d\" "
      "coll=\"%s\" inplace=\"0\" outofplace=\"1\" minBytes=\"0\">\n",
      name.c_str(), any.lanes(), chunks, any.ranks, collective);
  const Sequence sequence(schedules);
  for (size_t rank = 0; rank < schedules.size(); ++rank)
    sequence.gpus()[rank].write(static_cast<int32_t>(rank), text);
  return text + "</algo>\n";
}

}  // namespace tern::coll

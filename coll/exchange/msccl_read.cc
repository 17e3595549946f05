// SPDX-License-Identifier: Apache-2.0
// MSCCL: from thread blocks to steps of ranks.
//
// Each chunk in a buffer has a number: the place in the vector. The translation runs the file on
// these numbers, since a slot of the stage has the size of the chunk held there. The input stays
// unwritten: sums in the input go to the output, or to a copy of the vector.
#include "coll/exchange/msccl_read.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <tuple>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/exchange/arrange.hpp"
#include "coll/exchange/msccl_file.hpp"
#include "coll/exchange/msccl_order.hpp"
#include "coll/laboratory/verify/verify.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int32_t kEmpty = -1, kNoOrigin = -1;
constexpr size_t kMostFileLanes = 64;
constexpr int64_t kMostOperandCells = 16 << 20;  // of all GPUs
constexpr size_t kMostSources = 15;              // beside the destination

using FileWay = std::tuple<int32_t, int32_t, int32_t>;  // sender, receiver, channel

struct Cells {
  int32_t at, count;
};

struct Message {
  std::vector<int32_t> chunks;
  std::vector<int32_t> runs;  // chunks of each message sent
};

// A pair of GPUs numbers the channels between them: lane 0, 1, ...
class FileLanes {
 public:
  explicit FileLanes(const MscclFile& file) {
    std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> channels;
    for (int32_t g = 0; g < file.ranks(); ++g)
      for (const MscclBlock& block : file.gpus[static_cast<size_t>(g)].blocks)
        if (block.send >= 0) channels[{g, block.send}].push_back(block.channel);
    for (auto& [pair, all] : channels) {
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
      most_ = std::max(most_, all.size());
      for (size_t lane = 0; lane < all.size(); ++lane)
        lanes_[{pair.first, pair.second, all[lane]}] = static_cast<uint8_t>(lane);
    }
    static_assert(kMostFileLanes <= 128, "a lane is half of a byte of the message tag");
    TERN_ASSERT(most_ <= kMostFileLanes);
  }

  [[nodiscard]] uint8_t of(const FileWay& way) const { return lanes_.at(way); }
  [[nodiscard]] bool has(const FileWay& way) const { return lanes_.contains(way); }
  [[nodiscard]] int32_t most() const noexcept { return static_cast<int32_t>(most_); }

 private:
  std::map<FileWay, uint8_t> lanes_;
  size_t most_ = 1;
};

/// The memory of a rank, in cells of a chunk: output, input or its copy, stage.
class Memory {
 public:
  Memory(const MscclFile& file, int32_t rank, bool writes_input, int32_t extra)
      : collective_(file.collective),
        all_(file.chunks),
        per_(file.per_block()),
        rank_(rank),
        exact_(file.collective != Collective::kAlltoall),
        at_output_(file.in_place && file.collective != Collective::kReduceScatter),
        copied_(!at_output_ && (file.in_place || writes_input)),
        joined_(file.in_place) {
    const auto fixed = static_cast<size_t>(2 * all_);
    held_.assign(fixed + static_cast<size_t>(file.gpus[static_cast<size_t>(rank)].scratch + extra),
                 kEmpty);
    untouched_.assign(held_.size(), 0);
    const int32_t own = collective_ == Collective::kAllgather ? per_ : all_;
    for (int32_t i = 0; i < own; ++i) {
      const auto cell = static_cast<size_t>(cells(MscclBuffer::kInput, i, 1).at);
      held_[cell] = static_cast<int32_t>(cell) % all_;
      untouched_[cell] = 1;
    }
  }

  [[nodiscard]] Cells cells(MscclBuffer buffer, int32_t at, int32_t count) const noexcept {
    if (buffer == MscclBuffer::kScratch) return {2 * all_ + at, count};
    const bool input = buffer == MscclBuffer::kInput;
    const bool one_block =
        collective_ == (input ? Collective::kAllgather : Collective::kReduceScatter);
    const bool in_output = joined_ ? at_output_ : !input;
    return {(in_output ? 0 : all_) + (one_block ? rank_ * per_ : 0) + at, count};
  }

  [[nodiscard]] int32_t held(int32_t cell) const { return held_[static_cast<size_t>(cell)]; }
  [[nodiscard]] bool untouched(int32_t cell) const {
    return untouched_[static_cast<size_t>(cell)] != 0;
  }
  [[nodiscard]] bool staged(int32_t cell) const noexcept { return cell >= 2 * all_; }
  [[nodiscard]] bool copied() const noexcept { return copied_; }
  /// Chunks of equal size have equal kind().
  [[nodiscard]] int32_t kind(int32_t chunk) const noexcept { return exact_ ? chunk : chunk % per_; }
  [[nodiscard]] bool follows(int32_t before, int32_t chunk) const noexcept {
    return chunk == before + 1 && chunk / per_ == before / per_;
  }

  /// False: the cell belongs to a chunk of another size.
  [[nodiscard]] bool write(int32_t cell, int32_t chunk) {
    if (!staged(cell) && kind(cell % all_) != kind(chunk)) return false;
    held_[static_cast<size_t>(cell)] = chunk;
    untouched_[static_cast<size_t>(cell)] = 0;
    return true;
  }

  [[nodiscard]] Slice source(Cells run) const {
    return untouched(run.at) ? input(run) : place(run);
  }
  [[nodiscard]] Slice input(Cells run) const {
    const int32_t first =
        run.at % all_ - (collective_ == Collective::kAllgather ? rank_ * per_ : 0);
    return Builder::input(first, run.count);
  }
  [[nodiscard]] Slice place(Cells run) const {
    if (staged(run.at)) return Builder::staged(run.at - 2 * all_, kind(held(run.at)), run.count);
    const int32_t first = run.at % all_;
    if (run.at >= all_) return {Space::kMirror, first, run.count, first};
    return Builder::output(first - (collective_ == Collective::kReduceScatter ? rank_ * per_ : 0),
                           run.count);
  }

 private:
  Collective collective_;
  int32_t all_, per_, rank_;
  bool exact_;      // chunks of all ranks and places may differ in size
  bool at_output_;  // the input buffer stands for the output
  bool copied_;     // the input buffer stands for a copy
  bool joined_;     // the output buffer is the input buffer
  std::vector<int32_t> held_;
  std::vector<char> untouched_;  // holds the rank's input still
};

class Translation {
 public:
  Translation(const MscclFile& file, const std::vector<MscclPlace>& order, bool copies_input)
      : file_(file),
        lanes_(file),
        plan_(std::make_unique<FilePlan>(file.collective, file.ranks(), file.file)) {
    plan_->name = file.name.empty() ? file.file : file.name;
    plan_->parts = file.per_block();
    plan_->lanes = lanes_.most();
    plan_->least_bytes = file.least_bytes;
    plan_->most_bytes = file.most_bytes;
    sums_.resize(file.gpus.size());
    for (int32_t rank = 0; rank < file.ranks(); ++rank) prepare(rank, copies_input);
    for (origin_ = 0; index(origin_) < order.size(); ++origin_) run(order[index(origin_)]);
    origin_ = kNoOrigin;
    for (int32_t rank = 0; rank < file.ranks(); ++rank) finish(rank);
  }

  [[nodiscard]] std::unique_ptr<FilePlan> take() { return std::move(plan_); }

 private:
  struct Sum {
    std::vector<int32_t> sources;
    uint8_t lane;
    int32_t origin;
  };
  using Sums = std::map<int32_t, Sum>;  // by the destination's cell

  static size_t index(int32_t number) noexcept { return static_cast<size_t>(number); }
  [[nodiscard]] const MscclBlock& block_of(const MscclPlace& p) const {
    return file_.gpus[index(p.gpu)].blocks[index(p.block)];
  }

  // Each thread block gets two slots for each chunk of a received operand.
  void prepare(int32_t rank, bool copies_input) {
    const MscclGpu& gpu = file_.gpus[index(rank)];
    bool writes_input = copies_input;
    int32_t extra = 0;
    operands_.emplace_back();
    for (const MscclBlock& block : gpu.blocks) {
      int32_t most = 0;
      for (const MscclStep& step : block.steps) {
        writes_input |= step.type->writes && step.destination == MscclBuffer::kInput;
        if (step.type->receives && step.type->reduces) most = std::max(most, step.count);
        if (step.type->receives)
          direct_[{block.recv, rank, block.channel}].push_back(
              !step.type->reduces && step.destination != MscclBuffer::kScratch);
      }
      operands_.back().push_back({2 * file_.chunks + gpu.scratch + extra, most});
      extra += 2 * most;
      cells_ += 2 * most;
      if (cells_ > kMostOperandCells)
        throw Error(MPI_ERR_ARG,
                    strf("%s: received operands need more than %lld chunks of scratch",
                         file_.file.c_str(), static_cast<long long>(kMostOperandCells)));
    }
    memories_.emplace_back(file_, rank, writes_input, extra);
    plan_->stage = std::max(plan_->stage, gpu.scratch + extra);
    if (memories_.back().copied()) plan_->mirrors = 1;
    if (copies_input) copy_input(rank);
  }

  void copy_input(int32_t rank) {
    Memory& memory = memories_[index(rank)];
    for (int32_t i = 0; i < file_.size_of(MscclBuffer::kInput, rank); ++i) {
      const Cells cell = memory.cells(MscclBuffer::kInput, i, 1);
      const Slice source = memory.source(cell);
      (void)memory.write(cell.at, memory.held(cell.at));
      emit(rank, Verb::kCopy, 0, kSelf, {source, memory.place(cell)});
    }
  }

  void run(const MscclPlace& p) {
    const MscclBlock& block = block_of(p);
    const MscclStep& step = block.steps[index(p.step)];
    const MscclType& type = *step.type;
    Memory& memory = memories_[index(p.gpu)];
    const Cells from = memory.cells(step.source, step.source_at, step.count);
    const Cells to = memory.cells(step.destination, step.destination_at, step.count);
    if (type.reads) need(p, from);
    if (!type.receives && type.reduces) return add(p, from, to);
    if (!type.receives && type.writes) return copy(p, from, to);
    Cells last = type.reads ? from : to;
    if (type.receives) {
      last = type.reduces ? operand(p, step.count) : to;
      receive(p, last);
    }
    if (type.receives && type.reduces) {
      reduce(p, last, from, type.writes ? to : last);
      if (type.writes) last = to;
    }
    if (type.sends) send(p, last);
  }

  [[noreturn]] void refuse(const MscclPlace& p, const std::string& cause) const {
    throw Error(MPI_ERR_ARG, file_.place(p.gpu, p.block, p.step) + ": " + cause);
  }

  // The cells of operands alternate, so a message may arrive while the previous one is reduced.
  Cells operand(const MscclPlace& p, int32_t count) {
    const Cells room = operands_[index(p.gpu)][index(p.block)];
    return {room.at + (p.step % 2) * room.count, count};
  }

  void need(const MscclPlace& p, Cells cells) {
    for (int32_t i = 0; i < cells.count; ++i) {
      settle(p.gpu, cells.at + i);
      if (memories_[index(p.gpu)].held(cells.at + i) == kEmpty)
        refuse(p, "reads a chunk that no step before has written");
    }
  }

  void write(const MscclPlace& p, int32_t cell, int32_t chunk) {
    settle(p.gpu, cell);
    settle_readers(p.gpu, cell);
    if (!memories_[index(p.gpu)].write(cell, chunk))
      refuse(p, strf("writes chunk %d to the place of another chunk", chunk));
  }

  void emit(int32_t rank, Verb verb, uint8_t lane, int32_t peer, std::vector<Slice> slices) {
    plan_->steps[index(rank)].push_back({verb, lane, peer, std::move(slices), origin_});
  }

  [[nodiscard]] uint8_t lane_of(const MscclPlace& p) const {
    const MscclBlock& block = block_of(p);
    if (block.send >= 0) return lanes_.of({p.gpu, block.send, block.channel});
    const FileWay in{block.recv, p.gpu, block.channel};
    if (block.recv >= 0 && lanes_.has(in)) return lanes_.of(in);
    return static_cast<uint8_t>(p.block % lanes_.most());
  }

  void send(const MscclPlace& p, Cells from) {
    const MscclBlock& block = block_of(p);
    const FileWay way{p.gpu, block.send, block.channel};
    const Memory& memory = memories_[index(p.gpu)];
    const bool direct = direct_[way][sent_[way]++];
    Message message;
    for (int32_t i = 0; i < from.count; ++i) {
      const int32_t cell = from.at + i, chunk = memory.held(cell);
      const bool joins = i > 0 && memory.follows(message.chunks.back(), chunk) &&
                         memory.untouched(cell) == memory.untouched(cell - 1) &&
                         !memory.staged(cell) && direct;
      joins ? ++message.runs.back() : message.runs.emplace_back(1);
      message.chunks.push_back(chunk);
    }
    int32_t at = from.at;
    for (const int32_t run : message.runs) {
      emit(p.gpu, Verb::kSend, lanes_.of(way), block.send, {memory.source({at, run})});
      at += run;
    }
    messages_[way].push_back(std::move(message));
  }

  void receive(const MscclPlace& p, Cells to) {
    const MscclBlock& block = block_of(p);
    const FileWay way{block.recv, p.gpu, block.channel};
    const Message message = std::move(messages_[way].front());
    messages_[way].pop_front();
    if (static_cast<int32_t>(message.chunks.size()) != to.count)
      refuse(p, strf("receives %d chunks, but GPU %d sends %zu", to.count, block.recv,
                     message.chunks.size()));
    int32_t at = to.at;
    for (const int32_t run : message.runs) {
      for (int32_t i = 0; i < run; ++i) write(p, at + i, message.chunks[index(at + i - to.at)]);
      emit(p.gpu, Verb::kRecv, lanes_.of(way), block.recv,
           {memories_[index(p.gpu)].place({at, run})});
      at += run;
    }
  }

  void copy(const MscclPlace& p, Cells from, Cells to) {
    Memory& memory = memories_[index(p.gpu)];
    for (int32_t i = 0; i < from.count; ++i) {
      const Slice source = memory.source({from.at + i, 1});
      write(p, to.at + i, memory.held(from.at + i));
      emit(p.gpu, Verb::kCopy, lane_of(p), kSelf, {source, memory.place({to.at + i, 1})});
    }
  }

  void match(const MscclPlace& p, int32_t chunk, int32_t other) const {
    const Memory& memory = memories_[index(p.gpu)];
    if (memory.kind(chunk) != memory.kind(other))
      refuse(p, strf("reduces chunks %d and %d of the vector into one", chunk, other));
  }

  // to = received op own; all cells of `received` are slots.
  void reduce(const MscclPlace& p, Cells received, Cells own, Cells to) {
    Memory& memory = memories_[index(p.gpu)];
    for (int32_t i = 0; i < own.count; ++i) {
      const int32_t chunk = memory.held(own.at + i);
      match(p, memory.held(received.at + i), chunk);
      Slice left = memory.place({received.at + i, 1}), right = memory.source({own.at + i, 1});
      write(p, to.at + i, chunk);
      const Slice into = memory.place({to.at + i, 1});
      if (left == into) std::swap(left, right);
      emit(p.gpu, Verb::kReduce, lane_of(p), kSelf, {left, right, into});
    }
  }

  // Sums into a cell wait for the next access to one of the cells read or written.
  void add(const MscclPlace& p, Cells from, Cells to) {
    Memory& memory = memories_[index(p.gpu)];
    for (int32_t i = 0; i < from.count; ++i) {
      const int32_t source = from.at + i, cell = to.at + i;
      if (memory.held(cell) == kEmpty) refuse(p, "reduces into a chunk that no step has written");
      match(p, memory.held(source), memory.held(cell));
      if (source == cell) refuse(p, "reduces a chunk with itself");
      settle_readers(p.gpu, cell);
      Sums& sums = sums_[index(p.gpu)];
      const auto [sum, made] = sums.try_emplace(cell, Sum{{}, lane_of(p), origin_});
      if (std::find(sum->second.sources.begin(), sum->second.sources.end(), source) !=
          sum->second.sources.end())
        refuse(p, "reduces the same chunk twice");
      sum->second.sources.push_back(source);
      if (sum->second.sources.size() == kMostSources) settle(p.gpu, cell);
    }
  }

  void settle(int32_t rank, int32_t cell) {
    Sums& sums = sums_[index(rank)];
    const auto found = sums.find(cell);
    if (found == sums.end()) return;
    const Sum sum = std::move(found->second);
    sums.erase(found);
    Memory& memory = memories_[index(rank)];
    std::vector<Slice> slices;
    for (const int32_t source : sum.sources) slices.push_back(memory.source({source, 1}));
    slices.push_back(memory.source({cell, 1}));
    (void)memory.write(cell, memory.held(cell));
    slices.push_back(memory.place({cell, 1}));
    const int32_t now = std::exchange(origin_, sum.origin);
    emit(rank, Verb::kReduce, sum.lane, kSelf, std::move(slices));
    origin_ = now;
  }

  void settle_readers(int32_t rank, int32_t cell) {
    std::vector<int32_t> readers;
    for (const auto& [to, sum] : sums_[index(rank)])
      if (std::find(sum.sources.begin(), sum.sources.end(), cell) != sum.sources.end())
        readers.push_back(to);
    for (const int32_t reader : readers) settle(rank, reader);
  }

  // Copies results from the cells of the output buffer to the output.
  void finish(int32_t rank) {
    while (!sums_[index(rank)].empty()) settle(rank, sums_[index(rank)].begin()->first);
    if (!file_.in_place) return;
    const Memory& memory = memories_[index(rank)];
    const bool one = file_.collective == Collective::kReduceScatter ||
                     file_.collective == Collective::kAllgather;
    for (int32_t i = 0; i < (one ? plan_->parts : file_.chunks); ++i) {
      const Cells cell =
          memory.cells(one && file_.collective == Collective::kAllgather ? MscclBuffer::kInput
                                                                         : MscclBuffer::kOutput,
                       i, 1);
      const Slice output =
          file_.collective == Collective::kReduceScatter ? Builder::output(i) : memory.place(cell);
      const Slice source = memory.source(cell);
      if (source == output || memory.held(cell.at) == kEmpty) continue;
      emit(rank, Verb::kCopy, 0, kSelf, {source, output});
    }
  }

  const MscclFile& file_;
  FileLanes lanes_;
  std::unique_ptr<FilePlan> plan_;
  std::vector<Memory> memories_;
  std::vector<std::vector<Cells>> operands_;     // by rank and thread block: half of the slots
  std::map<FileWay, std::vector<char>> direct_;  // receives go straight to the vector
  std::map<FileWay, size_t> sent_;
  std::map<FileWay, std::deque<Message>> messages_;  // on their way
  std::vector<Sums> sums_;
  int64_t cells_ = 0;
  int32_t origin_ = kNoOrigin;  // the step that runs, in the order
};

// "; written last by FILE: GPU 1, thread block 2, step 3 (line 4)"
std::string writer_of(const Proof& proof, const FilePlan& plan, const MscclFile& file,
                      const std::vector<MscclPlace>& order) {
  if (proof.block < 0) return "";
  int32_t origin = kNoOrigin;
  for (const FileStep& step : plan.steps[static_cast<size_t>(proof.rank)]) {
    const Slice& to = step.slices.back();
    if (step.verb != Verb::kSend && to.space == Space::kOutput && to.first <= proof.block &&
        proof.block < to.first + to.blocks && step.origin != kNoOrigin)
      origin = step.origin;
  }
  if (origin == kNoOrigin) return "; no step writes it";
  const MscclPlace& at = order[static_cast<size_t>(origin)];
  return "; written last by " + file.place(at.gpu, at.block, at.step);
}

std::string fault_of(const FilePlan& plan, const MscclFile& file,
                     const std::vector<MscclPlace>& order) {
  const Proof proof =
      verify(*find_algorithm(plan.collective, kFileRow), plan.ranks(), 0, nullptr, &plan);
  return proof.fault + writer_of(proof, plan, file, order);
}

}  // namespace

// A file may overwrite the output before a read of the input; with a copy of the input, such a file
// works in place.
std::shared_ptr<const FilePlan> plan_of(const MscclFile& file,
                                        const std::vector<MscclPlace>& order) {
  std::string fault;
  for (const bool copies_input : {false, true}) {
    std::unique_ptr<FilePlan> plan = Translation(file, order, copies_input).take();
    arrange(*plan);
    fault = fault_of(*plan, file, order);
    if (fault.empty()) return plan;
  }
  throw Error(MPI_ERR_ARG, strf("%s: this is no correct %s: %s", file.file.c_str(),
                                name_of(file.collective), fault.c_str()));
}

std::shared_ptr<const FilePlan> read_msccl(std::string_view text, const std::string& file) {
  const MscclFile parsed = parse_msccl(text, file);
  return plan_of(parsed, order_msccl(parsed));
}

}  // namespace tern::coll

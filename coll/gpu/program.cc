// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/program.hpp"

#include <cstring>

#include "base/error.hpp"
#include "coll/gpu/team_memory.hpp"

namespace tern::coll {
namespace {

using cuda::Instruction;
using cuda::Operand;

constexpr size_t kRoom = 1 << 20;  // bytes
constexpr size_t kGrain = 256;

int32_t block_of(const Schedule& schedule, const Slice& slice) noexcept {
  const bool alone =
      (schedule.collective == Collective::kAllgather && slice.space == Space::kInput) ||
      (schedule.collective == Collective::kReduceScatter && slice.space == Space::kOutput);
  return (alone ? schedule.rank * schedule.parts : 0) + slice.first;
}

// Local slots are numbered as in Pieces::in_local(), behind the sides' blocks.
Operand operand_of(const Placed& placed, size_t index) noexcept {
  const Schedule& schedule = placed.schedule;
  const Slice& slice = schedule.slices[index];
  Operand made{};
  made.first = block_of(schedule, slice);
  switch (slice.space) {
    case Space::kInput:
      made.space = Operand::kInput;
      break;
    case Space::kOutput:
      made.space = Operand::kOutput;
      break;
    case Space::kStage:
      made.space = Operand::kLocal;
      made.slot = slice.place;
      break;
    case Space::kMirror: {
      const int32_t each = schedule.mirror_blocks();
      const bool vector = splits(schedule.collective);
      made.space = Operand::kLocal;
      made.in_mirror = 1;
      made.slot = schedule.stage_slots + slice.place / each * each +
                  (vector ? 0 : slice.first / schedule.parts * schedule.parts);
      break;
    }
    case Space::kInbox: {
      const Placed::SlotPlace& place = placed.places[index];
      made.space = Operand::kInbox;
      made.owner = static_cast<int16_t>(place.owner);
      made.from = static_cast<int16_t>(place.from);
      made.slot = place.before;
      break;
    }
  }
  return made;
}

Instruction instruction_of(const Placed& placed, size_t index) noexcept {
  const Step& step = placed.schedule.steps[index];
  Instruction made{};
  made.step = static_cast<int32_t>(index);
  if (step.verb == Verb::kSignal || step.verb == Verb::kWait) {
    made.verb = step.verb == Verb::kSignal ? Instruction::kSignal : Instruction::kWait;
    made.peer = step.peer;
    made.message = placed.words[index].message;
    return made;
  }
  made.verb = step.verb == Verb::kReduce ? Instruction::kReduce : Instruction::kMove;
  const Slice& slice = placed.schedule.source(step);
  made.first = block_of(placed.schedule, slice);
  made.blocks = slice.blocks;
  made.sources = step.sources;
  made.destinations = step.destinations;
  return made;
}

}  // namespace

static_assert(Placed::kCredit == Instruction::kCredit);

Program compile(const Placed& placed) {
  Program made;
  const Schedule& schedule = placed.schedule;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    if (step.verb == Verb::kJoin) continue;
    Instruction instruction = instruction_of(placed, i);
    instruction.operand = static_cast<uint32_t>(made.operands.size());
    for (int k = 0; k < instruction.sources + instruction.destinations; ++k) {
      const Operand operand = operand_of(placed, step.operand + static_cast<size_t>(k));
      if (operand.space == Operand::kInput || operand.space == Operand::kOutput)
        made.uses[operand.space] = true;
      made.operands.push_back(operand);
    }
    made.instructions.push_back(instruction);
  }
  return made;
}

std::string Programs::prepare() { return add_room(kRoom); }

std::string Programs::add_room(size_t bytes) {
  cuda::Device& device = memory_.device();
  const cuda::Current current(device);
  Room& room = rooms_.emplace_back();
  const char* function = "cuCtxPushCurrent";
  CUresult error = current.result();
  const auto take = [&](cuda::Store store, const char* name, size_t* size) {
    if (error != CUDA_SUCCESS) return static_cast<std::byte*>(nullptr);
    function = name;
    *size = bytes;
    return device.blocks.acquire(store, size, &error);
  };
  room.device = take(cuda::Store::kDevice, "cuMemAlloc", &room.device_bytes);
  room.pinned = take(cuda::Store::kPinned, "cuMemHostAlloc", &room.pinned_bytes);
  if (room.pinned != nullptr) return {};
  if (room.device != nullptr)
    device.blocks.release(cuda::Store::kDevice, room.device, room.device_bytes);
  rooms_.pop_back();
  return strf("no memory for programs of %zu bytes: %s", bytes,
              cuda::words_of(function, error).c_str());
}

Programs::Stored* Programs::store(const Placed& placed, std::string* why) {
  if (const auto found = stored_.find(&placed); found != stored_.end()) return &found->second;
  const Program program = compile(placed);
  const size_t bases = static_cast<size_t>(memory_.ranks()) * sizeof(std::byte*);
  const size_t instructions = program.instructions.size() * sizeof(Instruction);
  const size_t operands = program.operands.size() * sizeof(Operand);
  // The array of bases has a multiple of 8 bytes, so the instructions and operands behind it are
  // aligned.
  const size_t bytes = bases + instructions + operands;
  if (rooms_.empty() || rooms_.back().left() < bytes) {
    *why = add_room(std::max(bytes, kRoom));
    if (!why->empty()) return nullptr;
  }
  Stored& made = stored_[&placed];
  Room& room = rooms_.back();
  made.at = room.device + room.used;
  made.pinned = room.pinned + room.used;
  made.bytes = bytes;
  room.used += (bytes + kGrain - 1) / kGrain * kGrain;
  memory_.write_bases(reinterpret_cast<const char**>(made.pinned));
  if (instructions > 0) std::memcpy(made.pinned + bases, program.instructions.data(), instructions);
  if (operands > 0)
    std::memcpy(made.pinned + bases + instructions, program.operands.data(), operands);
  made.instructions = static_cast<int32_t>(program.instructions.size());
  made.operands_at = static_cast<int32_t>(bases + instructions);
  std::memcpy(made.uses, program.uses, sizeof made.uses);
  return &made;
}

void Programs::bring(Stored& program, cuda::Job& job, bool captured) noexcept {
  if (TERN_LIKELY(program.arrives)) return;
  job.copy_mapped(program.at, program.pinned, program.bytes);
  program.arrives = !captured && !job.failed();
}

void Programs::give_back() noexcept {
  cuda::Device& device = memory_.device();
  if (device.gone()) return;
  for (const Room& room : rooms_) {
    device.blocks.release(cuda::Store::kDevice, room.device, room.device_bytes);
    device.blocks.release(cuda::Store::kPinned, room.pinned, room.pinned_bytes);
  }
  rooms_.clear();
  stored_.clear();
}

}  // namespace tern::coll

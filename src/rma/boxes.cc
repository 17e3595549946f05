// SPDX-License-Identifier: Apache-2.0
#include "rma/boxes.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "base/relax.hpp"
#include "core/datatype.hpp"
#include "core/reduce/table.hpp"
#include "mpi.h"
#include "rma/engine.hpp"
#include "rma/stripes.hpp"
#include "rma/targets.hpp"

namespace tern::rma {
namespace {

uint64_t number_of(const void* address) noexcept { return reinterpret_cast<uint64_t>(address); }

int accumulate_here(MappedElements& own, Box& box, std::byte* at) noexcept {
  const Errand& errand = box.errand;
  const auto row = core::loops::best_table().row(errand.reduction);
  Element element;
  element.loop = row[static_cast<size_t>(errand.number)];
  element.size = errand.size;
  element.extent = errand.extent;
  element.span = errand.span;
  element.alignment = errand.alignment;
  if (element.loop == nullptr || size_t{errand.count} * errand.extent > Box::kRoom)
    return MPI_ERR_INTERN;
  alignas(16) std::byte in[Box::kRoom];
  std::memcpy(in, box.data, errand.bytes);
  return own.apply(at, errand.count, element,
                   {errand.reads ? nullptr : in, errand.fetches ? box.data : nullptr});
}

int swap_here(MappedElements& own, Box& box, std::byte* at) noexcept {
  std::byte both[Box::kRoom];
  const size_t bytes = box.errand.size;
  std::memcpy(both, box.data, box.errand.bytes);
  return own.compare_and_swap(at, bytes, both, both + bytes, box.data);
}

}  // namespace

Boxes::Boxes(Targets& targets)
    : targets_(targets), known_(new BoxTarget[static_cast<size_t>(targets.size())]) {
  const core::ChannelLock lock(targets.progress());
  Engine::join(targets.communicator().channel(),
               {this, [](void* self) noexcept { return static_cast<Boxes*>(self)->serve(); }});
}

Boxes::~Boxes() { Engine::leave(targets_.communicator().channel(), this); }

int Boxes::serve() noexcept {
  Box& box = targets_.own().control.box();
  box.polls.store(box.polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  uint32_t posted = Box::kPosted;
  if (TERN_LIKELY(box.state.load(std::memory_order_relaxed) != Box::kPosted) ||
      !box.state.compare_exchange_strong(posted, Box::kTaken, std::memory_order_acquire,
                                         std::memory_order_relaxed))
    return 0;
  box.code = execute(box);
  box.state.store(Box::kDone, std::memory_order_release);
  return 1;
}

int Boxes::execute(Box& box) noexcept {
  const Errand& errand = box.errand;
  if (errand.bytes > Box::kRoom || 2 * size_t{errand.size} > Box::kRoom) return MPI_ERR_INTERN;
  auto* const at = reinterpret_cast<std::byte*>(errand.address);
  MappedElements own(targets_.elements_of(targets_.rank()));
  switch (errand.kind) {
    case Errand::Kind::kPut:
      copy_bytes(at, box.data, errand.bytes);
      return MPI_SUCCESS;
    case Errand::Kind::kGet:
      copy_bytes(box.data, at, errand.bytes);
      return MPI_SUCCESS;
    case Errand::Kind::kAccumulate:
      return accumulate_here(own, box, at);
    case Errand::Kind::kSwap:
      return swap_here(own, box, at);
  }
  return MPI_ERR_INTERN;
}

/// Posting pays unless the target has been slow; after a slow answer the target must have polled
/// again.
bool Boxes::looks_alive(BoxTarget& known, const Box& box) noexcept {
  if (TERN_LIKELY(known.pause.load(std::memory_order_relaxed) == 0)) return true;
  const uint32_t polls = box.polls.load(std::memory_order_relaxed);
  if (known.polls.exchange(polls, std::memory_order_relaxed) == polls) return false;
  const uint8_t left = known.left.load(std::memory_order_relaxed);
  if (left > 0) known.left.store(static_cast<uint8_t>(left - 1), std::memory_order_relaxed);
  return left == 0;
}

Box* Boxes::claim(int target) noexcept {
  Box& box = targets_[target].control.box();
  if (!looks_alive(known_[static_cast<size_t>(target)], box)) return nullptr;
  uint32_t empty = Box::kEmpty;
  const bool is_ours = box.state.compare_exchange_strong(
      empty, Box::kClaimed, std::memory_order_acquire, std::memory_order_relaxed);
  return is_ours ? &box : nullptr;
}

// The waiting origin serves its own box, because two ranks may wait for each other.
bool Boxes::await(int target, Box& box, int* code) noexcept {
  constexpr int kMoment = 64, kRoundsBetweenLooks = 4096;
  BoxTarget& known = known_[static_cast<size_t>(target)];
  box.state.store(Box::kPosted, std::memory_order_release);
  for (int round = 1;; ++round) {
    if (box.state.load(std::memory_order_acquire) == Box::kDone) break;
    if (round < kMoment) {
      (void)serve();
      relax();
      continue;
    }
    uint32_t posted = Box::kPosted;
    if (box.state.compare_exchange_strong(posted, Box::kEmpty, std::memory_order_acq_rel)) {
      const auto pause = known.pause.load(std::memory_order_relaxed);
      const auto longer = static_cast<uint8_t>(std::min(2 * pause + 1, 127));
      known.pause.store(longer, std::memory_order_relaxed);
      known.left.store(longer, std::memory_order_relaxed);
      known.polls.store(box.polls.load(std::memory_order_relaxed), std::memory_order_relaxed);
      return false;
    }
    if (round % kRoundsBetweenLooks == 0 && targets_.has_died(target)) {
      *code = targets_.fail_dead(target);
      return true;  // the box is lost
    }
    ::sched_yield();
  }
  known.pause.store(0, std::memory_order_relaxed);
  auto& counts = targets_.process().window_operations;
  counts.add_to(counts.by_target);
  *code = box.code;
  if (TERN_UNLIKELY(*code != MPI_SUCCESS))
    *code = fail(
        *code,
        "%s could not execute the operation: a process ended while writing to memory of %s there",
        targets_.rank_in_words(target).c_str(), targets_.words().c_str());
  return true;
}

bool Boxes::put(int target, std::byte* to, const std::byte* from, size_t bytes,
                int* code) noexcept {
  Box* const box = bytes <= Box::kRoom ? claim(target) : nullptr;
  if (box == nullptr) return false;
  copy_bytes(box->data, from, bytes);
  box->errand = {Errand::Kind::kPut};
  box->errand.bytes = static_cast<uint32_t>(bytes);
  box->errand.address = number_of(to);
  if (!await(target, *box, code)) return false;
  box->state.store(Box::kEmpty, std::memory_order_release);
  return true;
}

bool Boxes::get(int target, const std::byte* from, std::byte* to, size_t bytes,
                int* code) noexcept {
  Box* const box = bytes <= Box::kRoom ? claim(target) : nullptr;
  if (box == nullptr) return false;
  box->errand = {Errand::Kind::kGet};
  box->errand.bytes = static_cast<uint32_t>(bytes);
  box->errand.address = number_of(from);
  if (!await(target, *box, code)) return false;
  if (*code == MPI_SUCCESS) copy_bytes(to, box->data, bytes);
  box->state.store(Box::kEmpty, std::memory_order_release);
  return true;
}

bool Boxes::accumulate(int target, std::byte* to, size_t count, const Element& element,
                       const Operands& operands, int* code) noexcept {
  if (count > Box::kRoom / element.extent) return false;
  Box* const box = claim(target);
  if (box == nullptr) return false;
  // The data excludes the last gap.
  const size_t bytes = (count - 1) * element.extent + element.span;
  if (operands.in != nullptr) copy_bytes(box->data, operands.in, bytes);
  box->errand = {Errand::Kind::kAccumulate,
                 operands.in == nullptr,
                 operands.result != nullptr,
                 element.op->reduction(),
                 element.basic->number(),
                 static_cast<uint16_t>(element.size),
                 static_cast<uint16_t>(element.extent),
                 static_cast<uint16_t>(element.span),
                 static_cast<uint16_t>(element.alignment),
                 static_cast<uint32_t>(bytes),
                 static_cast<uint32_t>(count),
                 number_of(to)};
  if (!await(target, *box, code)) return false;
  if (*code == MPI_SUCCESS && operands.result != nullptr)
    copy_bytes(operands.result, box->data, bytes);
  box->state.store(Box::kEmpty, std::memory_order_release);
  return true;
}

bool Boxes::swap(int target, std::byte* to, size_t bytes, const void* compare, const void* value,
                 void* result, int* code) noexcept {
  Box* const box = claim(target);
  if (box == nullptr) return false;
  copy_bytes(box->data, compare, bytes);
  copy_bytes(box->data + bytes, value, bytes);
  box->errand = {Errand::Kind::kSwap};
  box->errand.size = static_cast<uint16_t>(bytes);
  box->errand.bytes = static_cast<uint32_t>(2 * bytes);
  box->errand.address = number_of(to);
  if (!await(target, *box, code)) return false;
  if (*code == MPI_SUCCESS) copy_bytes(result, box->data, bytes);
  box->state.store(Box::kEmpty, std::memory_order_release);
  return true;
}

}  // namespace tern::rma

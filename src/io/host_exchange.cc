// SPDX-License-Identifier: Apache-2.0
#include "io/host_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "io/tags.hpp"
#include "pml/pml.hpp"

namespace tern::io {
namespace {

constexpr size_t kMessageBytes = 256 * 1024;
constexpr int64_t kMostUnits = 128 * 1024;  // of a message

constexpr size_t bit_bytes(int64_t units) noexcept {
  return static_cast<size_t>((units + 63) / 64 * 8);
}

/// Eight marks, 0 or 1, to the bits of a byte.
unsigned char to_bits(const std::byte* marks) noexcept {
  uint64_t eight = 0;
  std::memcpy(&eight, marks, sizeof eight);
  return static_cast<unsigned char>((eight * 0x0102040810204080) >> 56);
}

void to_marks(unsigned char bits, std::byte* marks) noexcept {
  constexpr uint64_t kOnes = 0x0101010101010101, kSevenBits = 0x7f7f7f7f7f7f7f7f;
  const uint64_t one_bit_each = bits * kOnes & 0x8040201008040201;
  const uint64_t eight = (one_bit_each + kSevenBits) >> 7 & kOnes;
  std::memcpy(marks, &eight, sizeof eight);
}

}  // namespace

struct HostExchange::Head {
  int64_t begin;  // of the first unit, from the begin of the round on
  int64_t bytes;  // of data
  uint32_t units;
  uint32_t slot;      // of the asking rank
  uint64_t messages;  // with the last message: in all, otherwise 0
};

HostExchange::Head& HostExchange::Slot::head() const noexcept {
  return *reinterpret_cast<Head*>(memory.get());
}
std::byte* HostExchange::Slot::bits() const noexcept { return memory.get() + sizeof(Head); }
int64_t& HostExchange::Slot::end() const noexcept {
  return *reinterpret_cast<int64_t*>(bits() + bit_bytes(head().units));
}
std::byte* HostExchange::Slot::data() const noexcept {
  return bits() + bit_bytes(head().units) + sizeof(int64_t);
}

HostExchange::HostExchange(Meeting& meeting, Stage& stage) : meeting_(meeting), stage_(stage) {
  const Hosts& hosts = meeting.hosts();
  const std::vector<Hosts::Aggregator>& aggregators = hosts.aggregators();
  const int self = meeting.communicator().rank();
  // The hosts begin with different aggregators.
  size_t start = 0;
  while (start < aggregators.size() && aggregators[start].host <= hosts.mine()) ++start;
  for (size_t i = 0; i < aggregators.size(); ++i) {
    const size_t domain = (start + i) % aggregators.size();
    const Hosts::Aggregator& one = aggregators[domain];
    if (one.host != hosts.mine() && hosts.partner(hosts.mine(), one) == self)
      asked_.push_back(static_cast<int>(domain));
  }
  const auto make = [](Slots& slots) {
    for (Slot& slot : slots) slot.memory.reset(new std::byte[kMessageBytes]);
  };
  marks_.resize(static_cast<size_t>(kMostUnits));
  if (!asked_.empty()) make(asking_);
  if (hosts.own_domain() >= 0) make(serving_);
}

HostExchange::~HostExchange() {
  for (Slots* slots : {&asking_, &serving_})
    for (Slot& slot : *slots) {
      drop(&slot, &slot.received);
      drop(&slot, &slot.sent);
    }
}

void HostExchange::drop(Slot* slot, core::Request** request) noexcept {
  if (*request == nullptr) return;
  if (!(*request)->done()) (*request)->cancel_locked();
  // A send, or a receive with a message, still uses the memory.
  if (!(*request)->done()) (void)slot->memory.release();
  std::exchange(*request, nullptr)->release();
}

void HostExchange::fail(Failure why) noexcept {
  if (failed_) return;
  meeting_.give_up(why);
  failed_ = std::move(why);
}

void HostExchange::begin(const Rounds& rounds, int64_t round, bool writes, bool moves) noexcept {
  rounds_ = rounds;
  round_ = round;
  writes_ = writes;
  next_asked_ = moves ? 0 : asked_.size();
  piece_ = position_ = 0;
  const bool serves = moves && meeting_.hosts().own_domain() >= 0;
  to_end_ = serves ? meeting_.hosts().count() - 1 : 0;
  missing_ = 0;
  messages_ = 0;
  // Reads and refused rounds leave marks of this host's own domain.
  if (meeting_.hosts().own_domain() >= 0 && (!writes || !moves))
    stage_.clear_marks(rounds, round, meeting_.hosts().own_domain());
  for (const int domain : asked_) {
    if (!moves) stage_.clear_marks(rounds, round, domain);
    if (!writes)
      stage_.end_of(round, domain)
          .store(std::numeric_limits<int64_t>::max(), std::memory_order_relaxed);
  }
}

bool HostExchange::ended(core::Request** request) noexcept {
  if (*request == nullptr) return true;
  if (!(*request)->done()) return false;
  const core::Request& one = **request;
  if (one.outcome.error != MPI_SUCCESS)
    fail(failure(one.outcome.error, "%s",
                 one.error_text == nullptr ? "a host is unreachable" : one.error_text->c_str()));
  std::exchange(*request, nullptr)->release();
  return true;
}

void HostExchange::send(Slot* slot, int rank, int tag, std::byte* from, size_t bytes) noexcept {
  core::Communicator& own = meeting_.communicator();
  core::Datatype& byte = core::predefined_type(own.process(), MPI_BYTE);
  const int code = own.channel().pml->isend_locked(
      {from, static_cast<MPI_Count>(bytes), &byte, cuda::MemoryKind::kHost},
      {&own, rank, tag, pml::Plane::kInternal}, &slot->sent);
  if (code != MPI_SUCCESS) fail({code, take_last_error().text});
}

void HostExchange::pack(Slot* slot, int64_t begin, int64_t units) noexcept {
  Head& head = slot->head();
  std::byte* const marks = stage_.marks(round_) + (begin >> rounds_.shift);
  const int64_t limit = std::min(units, kMostUnits);
  const auto room = static_cast<int64_t>(kMessageBytes - sizeof(Head) - 2 * sizeof(int64_t));
  int64_t first = -1, end = 0, bytes = 0;
  for_each_run(marks, units, [&](int64_t from, int64_t to) {
    if (first < 0) first = from;
    const int64_t stop = std::min(to, first + limit);
    if (from >= stop) return false;
    // One more unit takes its bytes and a bit.
    const int64_t left = room - bytes - static_cast<int64_t>(bit_bytes(from - first));
    const int64_t some = std::min(stop - from, left * 8 / (8 * rounds_.unit() + 1));
    if (some <= 0) return false;
    end = from + some;
    bytes += some << rounds_.shift;
    return end == to;
  });
  head.begin = begin + (std::max<int64_t>(first, 0) << rounds_.shift);
  head.bytes = bytes;
  head.units = first < 0 ? 0 : static_cast<uint32_t>(end - first);
  if (head.units == 0) return;
  std::byte* const from = marks + first;
  const auto count = static_cast<size_t>(head.units);
  std::memset(slot->bits(), 0, bit_bytes(head.units));
  auto* const bits = reinterpret_cast<unsigned char*>(slot->bits());
  for (size_t unit = 0; unit + 8 <= count; unit += 8) bits[unit / 8] = to_bits(from + unit);
  for (size_t unit = count & ~size_t{7}; unit < count; ++unit)
    bits[unit / 8] |= static_cast<unsigned char>(static_cast<unsigned>(from[unit]) << unit % 8);
  std::memset(from, 0, count);
}

template <class Visit>
void HostExchange::for_each_block(const Slot& slot, Visit&& visit) noexcept {
  const Head& head = slot.head();
  std::byte* const marks = marks_.data();
  const auto* const bits = reinterpret_cast<const unsigned char*>(slot.bits());
  for (size_t unit = 0; unit < head.units; unit += 8) to_marks(bits[unit / 8], marks + unit);
  std::byte* const stage = stage_.data(round_) + head.begin;
  std::byte* message = slot.data();
  for_each_run(marks, head.units, [&](int64_t from, int64_t to) {
    const auto bytes = static_cast<size_t>((to - from) << rounds_.shift);
    visit(stage + (from << rounds_.shift), message, bytes);
    message += bytes;
    return true;
  });
}

void HostExchange::pack_next(Slot* slot, int domain) noexcept {
  for (;; ++piece_, position_ = 0) {
    const auto [begin, end] = rounds_.piece_of(round_, domain, piece_);
    position_ = std::max(position_, begin);
    pack(slot, position_, (end - position_) >> rounds_.shift);
    const Head& head = slot->head();
    position_ = head.begin + (static_cast<int64_t>(head.units) << rounds_.shift);
    if (head.units > 0 || piece_ + 1 == rounds_.pieces) return;
  }
}

void HostExchange::ask(Slot* slot) noexcept {
  const int domain = asked_[next_asked_];
  pack_next(slot, domain);
  Head& head = slot->head();
  head.slot = static_cast<uint32_t>(slot - asking_.data());
  head.messages = 0;
  ++messages_;
  // A message without marks is the last one about its domain.
  if (head.units == 0) {
    head.messages = std::exchange(messages_, 0);
    ++next_asked_;
    piece_ = position_ = 0;
  }
  slot->domain = domain;
  const int rank = meeting_.hosts().aggregators()[static_cast<size_t>(domain)].rank;
  if (writes_) {
    slot->end() = 0;
    std::byte* to = slot->data();
    for_each_block(*slot, [&to](const std::byte* stage, std::byte* message, size_t bytes) {
      std::memcpy(message, stage, bytes);
      to = message + bytes;
    });
    send(slot, rank, kAskTag, slot->memory.get(), static_cast<size_t>(to - slot->memory.get()));
    return;
  }
  core::Communicator& own = meeting_.communicator();
  core::Datatype& byte = core::predefined_type(own.process(), MPI_BYTE);
  if (head.units > 0) {
    const int code = own.channel().pml->irecv_locked(
        {&slot->end(), static_cast<MPI_Count>(sizeof(int64_t)) + head.bytes, &byte,
         cuda::MemoryKind::kHost},
        {&own, rank, kGivenTag + static_cast<int>(head.slot), pml::Plane::kInternal},
        &slot->received);
    if (code != MPI_SUCCESS) fail({code, take_last_error().text});
  }
  send(slot, rank, kAskTag, slot->memory.get(), sizeof(Head) + bit_bytes(head.units));
}

void HostExchange::take_answer(Slot* slot) noexcept {
  for_each_block(*slot, [](std::byte* stage, const std::byte* message, size_t bytes) {
    std::memcpy(stage, message, bytes);
  });
  std::atomic<int64_t>& end = stage_.end_of(round_, slot->domain);
  end.store(std::min(end.load(std::memory_order_relaxed), slot->end()), std::memory_order_relaxed);
}

bool HostExchange::advance_asking(Slot* slot) noexcept {
  if (!ended(&slot->sent) || !ended(&slot->received)) return false;
  if (slot->domain >= 0 && !failed_ && !writes_ && slot->head().units > 0) take_answer(slot);
  slot->domain = -1;
  if (!asks_more() || failed_) return false;
  ask(slot);
  return true;
}

void HostExchange::receive(Slot* slot) noexcept {
  core::Communicator& own = meeting_.communicator();
  core::Datatype& byte = core::predefined_type(own.process(), MPI_BYTE);
  const int code = own.channel().pml->irecv_locked(
      {slot->memory.get(), kMessageBytes, &byte, cuda::MemoryKind::kHost},
      {&own, MPI_ANY_SOURCE, kAskTag, pml::Plane::kInternal}, &slot->received);
  if (code != MPI_SUCCESS) fail({code, take_last_error().text});
}

/// Stores the units of a write, or answers a read.
void HostExchange::serve(Slot* slot) noexcept {
  const Head& head = slot->head();
  // Messages complete in any order.
  missing_ += static_cast<int64_t>(head.messages) - 1;
  if (head.messages > 0) --to_end_;
  if (head.units == 0) return;
  if (writes_) {
    std::byte* const marks = stage_.marks(round_);
    std::byte* const stage_data = stage_.data(round_);
    for_each_block(*slot, [&](std::byte* stage, const std::byte* message, size_t bytes) {
      std::memcpy(stage, message, bytes);
      std::memset(marks + ((stage - stage_data) >> rounds_.shift), 1, bytes >> rounds_.shift);
    });
    return;
  }
  slot->end() = stage_.end_of(round_, meeting_.hosts().own_domain());
  for_each_block(*slot, [](const std::byte* stage, std::byte* message, size_t bytes) {
    std::memcpy(message, stage, bytes);
  });
  slot->answers = true;
}

bool HostExchange::advance_serving(Slot* slot) noexcept {
  if (!ended(&slot->sent)) return false;
  if (slot->received == nullptr) {
    if (!serves_more() || failed_) return false;
    receive(slot);
    return true;
  }
  if (!slot->received->done()) return false;
  const int from = slot->received->outcome.source;
  (void)ended(&slot->received);
  if (failed_) return false;
  serve(slot);
  if (std::exchange(slot->answers, false))
    send(slot, from, kGivenTag + static_cast<int>(slot->head().slot),
         reinterpret_cast<std::byte*>(&slot->end()),
         sizeof(int64_t) + static_cast<size_t>(slot->head().bytes));
  return true;
}

bool HostExchange::advance() noexcept {
  if (!failed_ && meeting_.finds_end()) failed_ = meeting_.failed();
  bool busy = false;
  if (!asked_.empty())
    for (Slot& slot : asking_) {
      while (advance_asking(&slot)) {
      }
      busy = busy || slot.sent != nullptr || slot.received != nullptr;
    }
  if (meeting_.hosts().own_domain() >= 0)
    for (Slot& slot : serving_) {
      while (advance_serving(&slot)) {
      }
      busy = busy || slot.sent != nullptr;
    }
  if (failed_) {
    for (Slot& slot : asking_) drop(&slot, &slot.received);
    for (Slot& slot : serving_) drop(&slot, &slot.received);
    return true;
  }
  if (busy || asks_more() || serves_more()) return false;
  for (Slot& slot : serving_) drop(&slot, &slot.received);
  return true;
}

void HostExchange::describe(WaitReport* report) const {
  report->words += "data of other hosts in a collective transfer of a file";
  const Hosts& hosts = meeting_.hosts();
  const core::Communicator& own = meeting_.communicator();
  for (const Slot& slot : asking_)
    if (slot.sent != nullptr || slot.received != nullptr)
      core::report_wait_for(own.peer(hosts.aggregators()[static_cast<size_t>(slot.domain)].rank),
                            report);
}

}  // namespace tern::io

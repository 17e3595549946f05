// SPDX-License-Identifier: Apache-2.0
#include "boot/questions.hpp"

#include <algorithm>
#include <atomic>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace tern::boot {

struct alignas(64) Questions::Header {
  std::atomic<std::uint32_t> question;
};

struct alignas(64) Questions::Slot {
  std::atomic<std::int64_t> waiting_since;
  std::atomic<std::int64_t> waiting_until;
  std::atomic<std::uint64_t> call_address;
};

// Answer: a page for one rank's reports. An untouched page costs nothing.
struct Questions::Answer {
  std::atomic<std::uint32_t> question;
  std::uint32_t bytes;
  char text[kAnswerRoom];
};

std::size_t Questions::bytes_for(int size) noexcept {
  return sizeof(Header) + static_cast<std::size_t>(size) * (sizeof(Slot) + sizeof(Answer));
}

Questions::Header& Questions::header() const noexcept {
  return *reinterpret_cast<Header*>(memory_);
}

Questions::Slot& Questions::slot(int rank) const noexcept {
  TERN_ASSERT(rank >= 0 && rank < size_);
  return reinterpret_cast<Slot*>(memory_ + sizeof(Header))[rank];
}

Questions::Answer& Questions::answer_of(int rank) const noexcept {
  TERN_ASSERT(rank >= 0 && rank < size_);
  std::byte* const answers =
      memory_ + sizeof(Header) + static_cast<std::size_t>(size_) * sizeof(Slot);
  return reinterpret_cast<Answer*>(answers)[rank];
}

void Questions::ask() const noexcept {
  header().question.fetch_add(1);
  futex_wake_all(header().question);
}
FutexWord Questions::question() const noexcept {
  return {&header().question, header().question.load(std::memory_order_relaxed)};
}

void Questions::answer(int rank, std::uint32_t question, std::string_view text) const noexcept {
  Answer& mine = answer_of(rank);
  mine.bytes = static_cast<std::uint32_t>(std::min(text.size(), kAnswerRoom));
  text.copy(mine.text, mine.bytes);
  mine.question.store(question, std::memory_order_release);
}

bool Questions::answered(int rank, std::string* text) const {
  const Answer& its = answer_of(rank);
  if (its.question.load(std::memory_order_acquire) != question().value) return false;
  const std::uint32_t bytes = its.bytes;
  text->assign(its.text, std::min<std::size_t>(bytes, kAnswerRoom));
  return true;
}

void Questions::set_waiting(int rank, std::int64_t since_ns, std::int64_t until_ns) const noexcept {
  slot(rank).waiting_until.store(until_ns, std::memory_order_relaxed);
  slot(rank).waiting_since.store(since_ns, std::memory_order_relaxed);
}
std::int64_t Questions::waiting_since(int rank) const noexcept {
  const bool stale = slot(rank).waiting_until.load(std::memory_order_relaxed) < now_ns();
  return stale ? 0 : slot(rank).waiting_since.load(std::memory_order_relaxed);
}
void Questions::set_call_address(int rank, std::uint64_t address) const noexcept {
  slot(rank).call_address.store(address, std::memory_order_relaxed);
}
std::uint64_t Questions::call_address(int rank) const noexcept {
  return slot(rank).call_address.load(std::memory_order_relaxed);
}

}  // namespace tern::boot

// SPDX-License-Identifier: Apache-2.0
// Calls: the proxy's part.
#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "mpix.h"
#include "stream/calls.hpp"

namespace tern::stream {
namespace {

/// system_fence() orders memory between CPU and devices; on some machines a CPU fence does not
/// reach devices.
void system_fence() noexcept {
#if defined(__aarch64__)
  asm volatile("dmb sy" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

int Calls::advance() noexcept {
  int ended = 0;
  for (size_t i = 0; i < flights_.size();) {
    if (!end(flights_[i])) {
      ++i;
      continue;
    }
    flights_.erase(flights_.begin() + static_cast<ptrdiff_t>(i));
    ++ended;
  }
  moves_ += static_cast<uint64_t>(ended);
  return ended;
}

uint32_t Calls::mail() noexcept {
  const uint32_t number = board_.mail.here->load(std::memory_order_acquire);
  if (number == 0) return 0;
  system_fence();
  ++moves_;
  return number;
}

void Calls::take(uint32_t number) noexcept {
  ActiveCall* entry = nullptr;
  int poison = 0;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (number <= entries_.size()) entry = &entries_[number - 1];
    if (entry != nullptr) poison = entry->poison;
  }
  board_.mail.here->store(0, std::memory_order_release);
  if (entry == nullptr || entry->call == nullptr) return;
  Call& call = *entry->call;
  const int pass = entry->next;
  entry->next = pass + 1 == call.passes ? 0 : pass + 1;
  if (pass == 0) entry->code = MPI_SUCCESS;
  if (pass == 0 && trace::is_on()) entry->begin_ns = trace::now();
  Flight flight{number, {&call, pass, {}}};
  if (entry->code == MPI_SUCCESS) entry->code = poison;
  if (TERN_UNLIKELY(fate.dead() && entry->captured && entry->code == MPI_SUCCESS)) {
    entry->code = MPIX_ERR_STREAM;  // a word of the cut call may be left
    error_.keep(call, failure(entry->code, "the graph ran after a partly enqueued operation"));
  }
  int code = entry->code;
  if (code == MPI_SUCCESS) {
    const Failure why = flight.pass.begin(board_.half(pass));
    if (why) error_.keep(call, why);
    code = entry->code = why.code;
  }
  if (code != MPI_SUCCESS && flight.pass.requests.empty()) return finish(flight, code);
  if (flight.pass.requests.empty()) {
    const core::Outcome none;
    const Failure why = flight.pass.end(board_.half(pass), none);
    if (why) error_.keep(call, why);
    entry->code = why.code;
    return finish(flight, why.code);
  }
  flights_.push_back(std::move(flight));
}

bool Calls::end(Flight& flight) noexcept {
  Pass& pass = flight.pass;
  if (!pass.done()) return false;
  core::Outcome first;
  Failure why = pass.collect(&first);
  ActiveCall* entry = nullptr;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    entry = &entries_[flight.number - 1];
  }
  const bool failed_before = entry->code != MPI_SUCCESS;
  if (!why && !failed_before) why = pass.end(board_.half(pass.number), first);
  if (why && !failed_before) {
    error_.keep(*pass.call, why);
    entry->code = why.code;
  }
  finish(flight, failed_before ? entry->code : why.code);
  return true;
}

void Calls::finish(const Flight& flight, int code) noexcept {
  Call& call = *flight.pass.call;
  if (code != MPI_SUCCESS) call.failed(code);
  bool over = false, waits = true;
  int64_t ran_since = 0;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ActiveCall& entry = entries_[flight.number - 1];
    const bool last = ++entry.ended == (entry.cut == 0 ? call.passes : entry.cut);
    if (last) {
      entry.ended = 0;
      ran_since = entry.begin_ns;
    }
    waits = entry.cut == 0 || flight.pass.number < entry.heard;
    over = last && !entry.captured;
  }
  if (trace::is_on() && ran_since != 0) trace::record_run(call.traced, ran_since);
  system_fence();
  if (waits) board_.done_of(flight.pass.number).here->store(1, std::memory_order_release);
  if (over) leave(flight.number);
}

bool Calls::none_alive() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  return alive_ == 0;
}

bool Calls::has_ended_flight() const noexcept {
  return std::any_of(flights_.begin(), flights_.end(),
                     [](const Flight& one) { return one.pass.done(); });
}

void Calls::describe(WaitReport* report) const {
  for (const Flight& flight : flights_) {
    if (flight.pass.done()) continue;
    report->words += strf("%s, reached by the stream: ", flight.pass.call->name);
    return flight.pass.describe(report);
  }
}

}  // namespace tern::stream

// SPDX-License-Identifier: Apache-2.0
// CommStream: the proxy's part (look): what the stream has come to is begun, and what is complete
// is said to it.
#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "core/current_call.hpp"
#include "stream/comm_stream.hpp"
#include "stream/islands.hpp"
#include "stream/proxy.hpp"

namespace tern::stream {
namespace {

/// What the processor has written, devices see, and the other way round: on some machines a fence
/// for other processors does not reach devices.
void system_fence() noexcept {
#if defined(__aarch64__)
  asm volatile("dmb sy" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

int CommStream::look() noexcept {
  int events = device_calls_.look();
  if (events != 0) proxy_->count_outstanding(gpu()->device(), -events);
  for (size_t i = 0; i < flights_.size();) {
    if (!advance(flights_[i])) {
      ++i;
      continue;
    }
    flights_.erase(flights_.begin() + static_cast<ptrdiff_t>(i));
    ++events;
  }
  const uint32_t number = board_.mail.here->load(std::memory_order_acquire);
  if (number != 0) {
    system_fence();
    ++events;
  }
  moves_ += static_cast<uint64_t>(events);
  // Before what the stream brings is taken: a kernel in front of it may have given up.
  const auto whole = whole_.lock();
  Islands* const islands = (whole != nullptr ? *whole : *this).watched_.load();
  if (islands != nullptr) islands->watch();
  if (number != 0) take(number);
  return events;
}

void CommStream::take(uint32_t number) noexcept {
  Entry* entry = nullptr;
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
  Flight flight{number, &call, pass, {}};
  if (entry->code == MPI_SUCCESS) entry->code = poison;  // the call itself has told why
  if (TERN_UNLIKELY(broken() && entry->captured && entry->code == MPI_SUCCESS)) {
    entry->code = MPIX_ERR_STREAM;  // a word may be left of the call that was cut
    keep_error(call, entry->code, "its graph came after an operation that was put there in part");
  }
  int code = entry->code;  // of a pass before this one: its text was kept then
  if (code == MPI_SUCCESS) {
    code = begin(call, pass, board_.halves[static_cast<size_t>(pass) % 2], &flight.requests);
    if (code != MPI_SUCCESS) {
      keep_error(call, code, take_last_error().text);
      entry->code = code;
    }
  }
  if (code != MPI_SUCCESS && flight.requests.empty()) return finish(flight, code);
  if (flight.requests.empty()) {
    core::Outcome none;
    code = call.end(pass, board_.halves[static_cast<size_t>(pass) % 2], none);
    return finish(flight, code);
  }
  flights_.push_back(std::move(flight));
}

bool CommStream::advance(Flight& flight) noexcept {
  if (!all_done(flight.requests)) return false;
  core::Outcome first;
  int code = collect(flight.requests, &first);
  Entry* entry = nullptr;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    entry = &entries_[flight.number - 1];
  }
  const bool failed_before = entry->code != MPI_SUCCESS;
  if (code == MPI_SUCCESS && !failed_before)
    code =
        flight.call->end(flight.pass, board_.halves[static_cast<size_t>(flight.pass) % 2], first);
  if (code != MPI_SUCCESS && !failed_before) {
    keep_error(*flight.call, code, take_last_error().text);
    entry->code = code;
  }
  finish(flight, failed_before ? entry->code : code);
  return true;
}

void CommStream::finish(Flight& flight, int code) noexcept {
  Call& call = *flight.call;
  if (code != MPI_SUCCESS) call.failed(code);
  bool over = false, waits = true;  // passes that overlap may end in any order
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    Entry& entry = entries_[flight.number - 1];
    const bool last = ++entry.ended == (entry.cut == 0 ? call.passes : entry.cut);
    if (last) entry.ended = 0;
    waits = entry.cut == 0 || flight.pass < entry.heard;
    over = last && !entry.captured;
  }
  system_fence();
  if (waits)
    board_.done[static_cast<size_t>(flight.pass) % 2].here->store(1, std::memory_order_release);
  if (over) leave(flight.number);
}

// Ranks that do other parts have wrong data, too: all hear of it.
void CommStream::tell_of_part(int code, const std::string& text) noexcept {
  if (std::exchange(told_of_part_, true)) return;
  (void)fail(code, "%s", text.c_str());
  shadow_.channel().coll->refusals().refuse(shadow_, false, code, std::nullopt);
}

void CommStream::lose_island(const coll::GpuTeam& team) noexcept {
  std::string why;
  try {
    why = team.waits.why_given_up();
  } catch (const std::bad_alloc&) {  // told without a reason
  }
  forsake(why);
  tell_of_part(MPI_ERR_OTHER, why);
  keep_error(MPI_ERR_OTHER, why);
}

void CommStream::keep_error(const Call& call, int code, const std::string& text) noexcept {
  if (const auto whole = whole_.lock()) {
    whole->keep_error(call, code, text);
    return whole->tell_of_part(code, text);
  }
  try {
    keep_error(code,
               strf("%s, which was enqueued earlier, has failed: %s", call.name, text.c_str()));
  } catch (const std::bad_alloc&) {
    error_code_.store(code, std::memory_order_release);
  }
}

void CommStream::keep_error(int code, const std::string& words) noexcept {
  try {
    proxy_->raise_now(communicator_, code, words);
    const std::lock_guard<std::mutex> guard(mutex_);
    if (error_code_.load() != 0) return;
    error_ = words;
    error_code_.store(code, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    error_code_.store(code, std::memory_order_release);
  }
}

bool CommStream::has_lost_island() const noexcept {
  Islands* const islands = watched_.load();
  return islands != nullptr && islands->is_due();
}

bool CommStream::has_ended_flight() const noexcept {
  return std::any_of(flights_.begin(), flights_.end(),
                     [](const Flight& one) { return all_done(one.requests); });
}

bool CommStream::describe_device(WaitReport* report) const {
  return device_calls_.describe(report);
}

void CommStream::describe(WaitReport* report) const {
  for (const Flight& flight : flights_)
    for (const core::Request* one : flight.requests)
      if (!one->done()) {
        report->words += strf("%s, which the stream has come to: ", flight.call->name);
        return one->describe(report);
      }
}

const char* CommStream::first_name() const noexcept {
  return flights_.empty() ? "" : flights_.front().call->name;
}

}  // namespace tern::stream

// SPDX-License-Identifier: Apache-2.0
#include "trace/profile.hpp"

#include <algorithm>
#include <mutex>

namespace tern::trace {
namespace {

template <class Number>
void increase(Number& counter, Number more, bool several_threads) noexcept {
  std::atomic_ref<Number> shared(counter);
  if (several_threads)
    shared.fetch_add(more, std::memory_order_relaxed);
  else
    shared.store(shared.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

/// The rank with most waits, by majority vote: rivals lower the count of the leading rank.
void vote(ProfiledWait& wait, const ProfiledCall& call) noexcept {
  if (wait.cause == call.cause) {
    wait.cause_ns += call.waited_ns;
  } else if (wait.cause_ns < call.waited_ns) {
    wait.cause = call.cause;
    wait.cause_ns = call.waited_ns - wait.cause_ns;
  } else {
    wait.cause_ns -= call.waited_ns;
  }
}

}  // namespace

std::set<uint32_t> costly_sites(const Area& area, double share) {
  const auto* const rows = reinterpret_cast<const ProfileRow*>(area.profile());
  const size_t used = std::min<size_t>(area.head().profile_rows.load(), kProfileRows);
  double all = 0;
  for (size_t i = 0; i < used; ++i) all += static_cast<double>(rows[i].ns);
  std::set<uint32_t> sites;
  for (size_t i = 0; i < used; ++i)
    if (static_cast<double>(rows[i].ns) >= share * all) sites.insert(rows[i].site);
  return sites;
}

uint16_t& Profile::place(const ProfiledCall& call) noexcept {
  const uint64_t key = (uint64_t{call.record.site} << 32 | call.group) + call.record.function;
  for (size_t at = key * 0x9e3779b97f4a7c15ULL >> 52;; at = (at + 1) % kIndex) {
    if (index_[at] == 0) return index_[at];
    const ProfileRow& row = rows_[index_[at] - 1];
    if (row.function == call.record.function && row.site == call.record.site &&
        row.group == call.group)
      return index_[at];
  }
}

ProfileRow& Profile::row(const ProfiledCall& call) noexcept {
  const std::lock_guard<SpinLock> lock(making_);
  const uint32_t used = used_->load(std::memory_order_relaxed);
  uint16_t& found = place(call);
  if (found != 0) return rows_[found - 1];
  if (used == kProfileRows) return rows_[kProfileRows - 1];
  ProfileRow& made = rows_[used];
  made.kind = static_cast<uint16_t>(call.record.kind);
  for (ProfiledWait& wait : made.waits) wait.cause = kNoPeer;
  const bool is_last = used + 1 == kProfileRows;  // of all further calls
  made.function = is_last ? UINT16_MAX : call.record.function;
  made.site = is_last ? 0 : call.record.site;
  made.group = is_last ? 0 : call.group;
  if (!is_last) found = static_cast<uint16_t>(used + 1);
  used_->store(used + 1, std::memory_order_release);
  return made;
}

void Profile::add(ProfileRow& row, const ProfiledCall& call, bool several_threads) noexcept {
  const Record& record = call.record;
  const int64_t ns = record.end - record.begin;
  increase<int64_t>(row.calls, 1, several_threads);
  increase<int64_t>(row.ns, ns, several_threads);
  if (ns > row.most_ns) row.most_ns = ns;
  if (record.bytes >= 0) {
    increase<int64_t>(row.bytes, record.bytes, several_threads);
    increase<uint32_t>(row.sizes[size_class(record.bytes)], 1, several_threads);
  }
  if ((record.flags & kFailed) != 0) increase<uint32_t>(row.failed, 1, several_threads);
  if (call.waited_ns <= 0) return;
  ProfiledWait& wait = row.waits[call.waited == Waited::kReceiver ? 1 : 0];
  increase<int64_t>(wait.ns, call.waited_ns, several_threads);
  vote(wait, call);
}

}  // namespace tern::trace

// SPDX-License-Identifier: Apache-2.0
// Profile: counters per (function, call site, group), in the constant memory of an Area.
// Why: the profiles of long and short jobs cost the same. A full table counts in the last row.
// Cost: a look-up in the thread's cache, or in the index of all rows; eight additions.
// Lifetime: the Area's. Threads: any; counters are atomic once a second thread records.
// See: page.hpp (the report).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>

#include "trace/area.hpp"
#include "trace/format.hpp"
#include "trace/notes.hpp"

namespace tern::trace {

inline constexpr size_t kSizeClasses = 12;  // messages up to 4^0, 4^1 ... 4^10 bytes, and larger

/// size_class() is the smallest class with room for `bytes`.
[[nodiscard]] constexpr size_t size_class(int64_t bytes) noexcept {
  size_t found = 0;
  for (int64_t most = 1; found + 1 < kSizeClasses && bytes > most; most *= 4) ++found;
  return found;
}

/// The waits of a row's calls.
struct ProfiledWait {
  int64_t ns;
  int64_t cause_ns;  // of `cause`; a rival subtracts
  int32_t cause;     // rank in the row's group with most of `ns`; kNoPeer
  uint32_t reserved;
};

struct ProfileRow {
  uint16_t function;  // 0: unused
  uint16_t kind;      // RecordKind
  uint32_t site, group;
  uint32_t failed;
  int64_t calls, bytes;
  int64_t ns, most_ns;
  ProfiledWait waits[2];  // for a late receiver: 1; others: 0, for locks in rows of kEpoch
  uint32_t sizes[kSizeClasses];
};
static_assert(sizeof(ProfileRow) == 144);

inline constexpr size_t kProfileRows = kProfileBytes / sizeof(ProfileRow);

/// The sites of the rows with at least this share of the time in all rows. Throws std::bad_alloc.
[[nodiscard]] std::set<uint32_t> costly_sites(const Area& area, double share);

/// An outermost call.
struct ProfiledCall {
  const Record& record;
  uint32_t group;     // of the record, or of the completed requests
  int64_t waited_ns;  // part of the call before the wait's end
  int32_t cause;
  Waited waited = Waited::kSender;
};

class Profile {
 public:
  explicit Profile(const Area& area) noexcept
      : rows_(reinterpret_cast<ProfileRow*>(area.profile())), used_(&area.head().profile_rows) {}

  /// The row of a call, made if necessary; the last row if the table is full.
  [[nodiscard]] ProfileRow& row(const ProfiledCall& call) noexcept;
  static void add(ProfileRow& row, const ProfiledCall& call, bool several_threads) noexcept;

 private:
  static constexpr size_t kIndex = 4096;  // a power of two, about twice the rows
  static_assert(kIndex > kProfileRows && kProfileRows < UINT16_MAX);
  [[nodiscard]] uint16_t& place(const ProfiledCall& call) noexcept;

  ProfileRow* rows_;
  std::atomic<uint32_t>* used_;
  uint16_t index_[kIndex] = {};  // 1 + row, by hash; 0: none
  SpinLock making_;
};

/// ProfileCache is a thread's way to recent rows.
class ProfileCache {
 public:
  void add(Profile& profile, const ProfiledCall& call, bool several_threads) noexcept {
    ProfileRow*& cached =
        rows_[(call.record.site * 31 + call.record.function * 7 + call.group) % kEntries];
    if (cached == nullptr || cached->function != call.record.function ||
        cached->site != call.record.site || cached->group != call.group)
      cached = &profile.row(call);
    Profile::add(*cached, call, several_threads);
  }

 private:
  static constexpr size_t kEntries = 128;
  ProfileRow* rows_[kEntries] = {};
};

}  // namespace tern::trace

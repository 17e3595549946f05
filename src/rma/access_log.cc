// SPDX-License-Identifier: Apache-2.0
#include "rma/access_log.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>

#include "base/call_site.hpp"
#include "base/error.hpp"
#include "core/current_call.hpp"
#include "core/datatype.hpp"
#include "mpi.h"
#include "rma/held_stripe.hpp"
#include "rma/path.hpp"
#include "rma/targets.hpp"

namespace tern::rma {

struct AccessLog::Entry {
  int32_t origin = 0;  // rank + 1; 0: free
  Intent intent = Intent::kPut;
  uint32_t type = 0;  // basic type of an update
  int64_t low = 0, high = 0;
  char call[32] = {}, site[64] = {};

  [[nodiscard]] bool conflicts_with(const Entry& other) const noexcept {
    if (high <= other.low || other.high <= low) return false;
    if (intent == Intent::kGet && other.intent == Intent::kGet) return false;
    return intent != Intent::kUpdate || other.intent != Intent::kUpdate || type != other.type;
  }
};

struct AccessLog::Table {
  static constexpr uint32_t kEntries = 500;
  std::atomic<int32_t> holder;
  uint32_t used;
  Entry entries[kEntries];

  [[nodiscard]] const Entry* find_conflict(const Entry& entry) const noexcept {
    for (uint32_t i = 0; i < used; ++i)
      if (entries[i].origin != 0 && entry.conflicts_with(entries[i])) return &entries[i];
    return nullptr;
  }
  bool add(const Entry& entry) noexcept {
    uint32_t free = 0;
    while (free < used && entries[free].origin != 0) ++free;
    if (free == kEntries) return false;
    entries[free] = entry;
    used = std::max(used, free + 1);
    return true;
  }
  void remove(int32_t origin) noexcept {
    for (uint32_t i = 0; i < used; ++i)
      if (entries[i].origin == origin) entries[i].origin = 0;
    while (used > 0 && entries[used - 1].origin == 0) --used;
  }
};

namespace {

constexpr const char* kDone[] = {"put", "get", "accumulate"};

const char* name_of(Intent intent) noexcept { return kDone[static_cast<int>(intent)]; }

/// Calls body(low, high) for each block, until the body returns false.
template <class Body>
void for_each_piece(const TargetData& place, int64_t at, Body&& body) noexcept {
  // The base is not 0, because pointer arithmetic from 0 is undefined.
  constexpr int64_t kAway = int64_t{1} << 46;
  constexpr size_t kPieces = 64;
  auto* const first = reinterpret_cast<std::byte*>(at + kAway);
  const auto total = static_cast<size_t>(place.count * place.type->size());
  iovec pieces[kPieces];
  for (size_t done = 0, covered = 0; done < total; done += covered) {
    const size_t count =
        place.type->pieces(first, place.count, done, total - done, pieces, kPieces, &covered);
    for (size_t i = 0; i < count; ++i) {
      const int64_t low = reinterpret_cast<int64_t>(pieces[i].iov_base) - kAway;
      if (!body(low, low + static_cast<int64_t>(pieces[i].iov_len))) return;
    }
  }
}

}  // namespace

size_t AccessLog::bytes() noexcept { return (sizeof(Table) + 63) / 64 * 64; }

AccessLog::Table* AccessLog::table(int target) noexcept {
  const Control control = targets_[target].control;
  return control.valid() ? reinterpret_cast<Table*>(control.behind()) : nullptr;
}

int AccessLog::begin(const TargetData& place, int64_t at, Intent intent) noexcept {
  Table* const there = table(place.target);
  if (there == nullptr) return MPI_SUCCESS;
  Entry entry;
  entry.origin = targets_.rank() + 1;
  entry.intent = intent;
  if (intent == Intent::kUpdate && place.type->basic() != nullptr)
    entry.type = static_cast<uint32_t>(place.type->basic()->number()) << 8 |
                 static_cast<uint32_t>(place.type->basic()->size());
  const core::CallPlace call = core::current_call;
  std::snprintf(entry.call, sizeof entry.call, "%s", call.call != nullptr ? call.call : "?");
  try {
    const std::string site = call_site_in_words(call.site);
    const size_t folder = site.rfind('/');
    std::snprintf(entry.site, sizeof entry.site, "%s",
                  site.c_str() + (folder == std::string::npos ? 0 : folder + 1));
  } catch (const std::bad_alloc&) {  // the entry then lacks its call site
  }
  const HeldStripe held(there->holder, targets_.pid);
  if (held.code() != MPI_SUCCESS) return held.code();
  const Entry* met = nullptr;
  for_each_piece(place, at, [&](int64_t low, int64_t high) {
    entry.low = low;
    entry.high = high;
    met = there->find_conflict(entry);
    return met == nullptr;
  });
  if (met != nullptr) return refuse(entry, *met, place.target);
  for_each_piece(place, at, [&](int64_t low, int64_t high) {
    entry.low = low;
    entry.high = high;
    return there->add(entry);
  });
  return MPI_SUCCESS;
}

int AccessLog::refuse(const Entry& entry, const Entry& met, int target) noexcept {
  const auto number = [](int64_t value) { return static_cast<long long>(value); };
  return fail(MPI_ERR_RMA_CONFLICT,
              "this %s of the bytes %lld to %lld of rank %d's part of %s, at %s, conflicts with "
              "the pending %s of the bytes %lld to %lld by %s of rank %d at %s: the result in "
              "memory is undefined. End an access with a flush, unlock, fence or MPI_Win_complete",
              name_of(entry.intent), number(entry.low), number(entry.high), target,
              targets_.words().c_str(), entry.site, name_of(met.intent), number(met.low),
              number(met.high), met.call, met.origin - 1, met.site);
}

void AccessLog::end(int target) noexcept {
  const int first = target < 0 ? 0 : target, last = target < 0 ? targets_.size() - 1 : target;
  for (int rank = first; rank <= last; ++rank) {
    Table* const there = table(rank);
    if (there == nullptr) continue;
    const HeldStripe held(there->holder, targets_.pid);
    if (held.code() == MPI_SUCCESS) there->remove(targets_.rank() + 1);
  }
}

}  // namespace tern::rma

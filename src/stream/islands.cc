// SPDX-License-Identifier: Apache-2.0
#include "stream/islands.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "base/clock.hpp"
#include "coll/coll.hpp"
#include "mpi.h"

namespace tern::stream {
namespace {

constexpr int64_t kMomentNs = 100'000'000;

}  // namespace

IslandMap::IslandMap(const std::vector<int>& islands, int of)
    : island_of(islands.size()), place_of(islands.size()), rank(of) {
  std::vector<int> sizes, firsts;
  for (size_t i = 0; i < islands.size(); ++i) {
    const auto found = std::find(firsts.begin(), firsts.end(), islands[i]);
    const auto number = static_cast<size_t>(found - firsts.begin());
    if (found == firsts.end()) {
      firsts.push_back(islands[i]);
      sizes.push_back(0);
    }
    island_of[i] = static_cast<int>(number);
    place_of[i] = sizes[number]++;
  }
  const auto same = [&](int size) { return size == sizes.front(); };
  if (sizes.size() < 2 || sizes.front() < 2 || !std::all_of(sizes.begin(), sizes.end(), same))
    return;
  const auto own = static_cast<size_t>(rank);
  for (size_t i = 0; i < islands.size(); ++i) {
    if (island_of[i] == island_of[own]) here.push_back(static_cast<int>(i));
    if (place_of[i] == place_of[own]) across.push_back(static_cast<int>(i));
  }
}

// After a kernel gave up, this island's data is undefined. After a reported error, calls in flight
// on all ranks get 100 ms.
void IslandWatch::watch() noexcept {
  if (TERN_LIKELY(!is_due())) return;
  if (moves_ != across_calls_.moves()) still_since_ = 0;
  moves_ = across_calls_.moves();
  if (still_since_ == 0) still_since_ = now_ns();
  const bool undefined = here_.has_given_up();
  if (!undefined && now_ns() - still_since_ < kMomentNs) return;
  ended_ = true;
  {
    const core::ChannelLock lock(channel_.progress);
    if (closed_) return;
    ++whole_.pending;
  }
  if (undefined && !team_.abandoned.dead()) tell_ranks();
  channel_.coll->refusals().end(across_, team_.abandoned.why());
  const core::ChannelLock lock(channel_.progress);
  whole_.operation_ended();
}

bool IslandWatch::is_due() noexcept {
  if (ended_) return false;
  if (here_.has_given_up()) return true;
  return team_.abandoned.dead() && (still_since_ == 0 || now_ns() - still_since_ >= kMomentNs);
}

void IslandWatch::tell_ranks() noexcept {
  std::string why;
  try {
    why = team_.waits.why_given_up();
  } catch (const std::bad_alloc&) {
  }
  const Failure failure{MPI_ERR_OTHER, std::move(why)};
  team_.abandoned.end(failure);
  error_.tell_ranks(failure);
  error_.keep(failure);
}

}  // namespace tern::stream

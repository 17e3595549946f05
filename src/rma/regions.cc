// SPDX-License-Identifier: Apache-2.0
// Regions: a rank's private table. The control block has its address and version, odd during
// changes; origins copy a changed table through the kernel.
#include "rma/regions.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "btl/sm/cma.hpp"
#include "rma/copied.hpp"
#include "rma/targets.hpp"

namespace tern::rma {

int Regions::attach(void* address, int64_t length) {
  if (!targets_.dynamic())
    return fail(MPI_ERR_RMA_FLAVOR, "%s was not created by MPI_Win_create_dynamic",
                targets_.words().c_str());
  const auto first = reinterpret_cast<uint64_t>(address);
  const auto size = static_cast<uint64_t>(length);
  const std::lock_guard<std::mutex> guard(mutex_);
  for (const Region& region : own_)
    if (size > 0 && first < region.first + region.bytes && region.first < first + size)
      return fail(MPI_ERR_RMA_ATTACH,
                  "the %llu bytes from %p on overlap attached memory (%llu bytes from 0x%llx on)",
                  static_cast<unsigned long long>(size), address,
                  static_cast<unsigned long long>(region.bytes),
                  static_cast<unsigned long long>(region.first));
  Table next = own_;
  next.push_back({first, size});
  show(std::move(next));
  return MPI_SUCCESS;
}

int Regions::detach(const void* address) {
  if (!targets_.dynamic())
    return fail(MPI_ERR_RMA_FLAVOR, "%s was not created by MPI_Win_create_dynamic",
                targets_.words().c_str());
  const auto first = reinterpret_cast<uint64_t>(address);
  const std::lock_guard<std::mutex> guard(mutex_);
  Table next = own_;
  const auto found = std::find_if(next.begin(), next.end(),
                                  [first](const Region& region) { return region.first == first; });
  if (found == next.end())
    return fail(MPI_ERR_RMA_ATTACH, "no memory was attached from %p on", address);
  next.erase(found);
  show(std::move(next));
  return MPI_SUCCESS;
}

/// The old table stays until the new table is visible.
void Regions::show(Table next) noexcept {
  Control::Head::Attached& told = targets_.own().control.head().attached;
  told.version.fetch_add(1);
  told.regions.store(reinterpret_cast<uint64_t>(next.data()));
  told.count.store(next.size());
  told.version.fetch_add(1);
  own_.swap(next);
}

// An access may span adjacent regions.
bool Regions::covers(const Table& regions, uint64_t address, uint64_t length) noexcept {
  uint64_t end = 0;
  if (__builtin_add_overflow(address, length, &end)) return false;
  while (address < end) {
    const auto found = std::find_if(regions.begin(), regions.end(), [&](const Region& region) {
      return region.first <= address && address < region.first + region.bytes;
    });
    if (found == regions.end()) return false;
    address = found->first + found->bytes;
  }
  return true;
}

bool Regions::attached(uint64_t address, uint64_t length) const noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  return covers(own_, address, length);
}

int Regions::look_up(int target, uint64_t address, uint64_t length, bool* found) {
  const std::lock_guard<std::mutex> guard(mutex_);
  known_.resize(static_cast<size_t>(targets_.size()));
  CachedRegions& known = known_[static_cast<size_t>(target)];
  const int code = read(target, &known);
  *found = code == MPI_SUCCESS && covers(known.regions, address, length);
  return code;
}

int Regions::read(int target, CachedRegions* known) {
  constexpr uint32_t kRoundsBeforeLook = 1024;
  const Target& there = targets_[target];
  const Control::Head::Attached& told = there.control.head().attached;
  for (uint32_t round = 1;; ++round) {
    const uint32_t version = told.version.load();
    if (version == known->version) return MPI_SUCCESS;
    const uint64_t count = told.count.load(), address = told.regions.load();
    if (version % 2 == 0 && told.version.load() == version) {
      Table next(count);
      const iovec near{next.data(), count * sizeof(Region)};
      const iovec far{reinterpret_cast<void*>(address), near.iov_len};
      const int error = count == 0 ? 0 : btl::sm::cma_get(there.process, &near, 1, &far, 1);
      if (told.version.load() == version) {
        if (error != 0)
          return targets_.has_died(target) ? targets_.fail_dead(target)
                                           : fail_copy(there.process, error);
        *known = {version, std::move(next)};
        return MPI_SUCCESS;
      }
    }
    if (round % kRoundsBeforeLook == 0 && targets_.has_died(target))
      return targets_.fail_dead(target);
    ::sched_yield();
  }
}

}  // namespace tern::rma

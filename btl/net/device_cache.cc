// SPDX-License-Identifier: Apache-2.0
#include "btl/net/device_cache.hpp"

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"
#include "btl/net/registrations.hpp"
#include "mpi.h"

namespace tern::btl::net {
namespace {

bool is_same(const cuda::Memory& one, const cuda::Memory& other) noexcept {
  return one.buffer_id == other.buffer_id && one.id_kind == other.id_kind &&
         one.base == other.base && one.bytes == other.bytes;
}

bool overlap(const cuda::Memory& one, const cuda::Memory& other) noexcept {
  return one.base < other.base + other.bytes && other.base < one.base + one.bytes;
}

void explain(const core::Process& process, const char* what, const cuda::Memory& memory) noexcept {
  if (!process.explain.on()) return;
  try {
    process.explain.say(
        "registration",
        {{"what", what}, {"bytes", memory.bytes}, {"device", strf("%d", memory.device)}},
        strf("device memory for RDMA: %s %s of device %d", what,
             bytes_in_words(memory.bytes).c_str(), memory.device));
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

DeviceCache::DeviceCache(core::Process& process, Register registers)
    : process_(process),
      registers_(std::move(registers)),
      most_(process.params.net_cache == 0 ? SIZE_MAX
                                          : static_cast<size_t>(process.params.net_cache)) {}

DeviceCache::~DeviceCache() {
  while (!entries_.empty()) drop(entries_.begin());
}

std::unique_ptr<MemoryRegion> DeviceCache::lease(const iovec& block) noexcept {
  try {
    const auto first = reinterpret_cast<uintptr_t>(block.iov_base);
    const cuda::Memory memory = cuda::mapping_at(first);
    if (memory.kind != cuda::MemoryKind::kDevice ||
        first + block.iov_len > memory.base + memory.bytes)
      throw Error(MPI_ERR_OTHER, "a buffer lies in several mappings");
    return std::make_unique<DeviceLease>(shared_from_this(), region_of(memory));
  } catch (const std::exception& error) {
    note_refused_device(process_, error.what());
    return nullptr;
  }
}

std::shared_ptr<const MemoryRegion> DeviceCache::region_of(const cuda::Memory& memory) {
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& one) { return is_same(one.memory, memory); });
  if (known == entries_.end()) return registered(memory, 0);
  if (known->region == nullptr) {
    if (releases_ < known->next_question) throw Error(MPI_ERR_OTHER, known->why_refused);
    const uint32_t refusals = known->refusals;
    entries_.erase(known);
    return registered(memory, refusals);
  }
  entries_.splice(entries_.begin(), entries_, known);
  core::Process::Registrations::add_to(process_.registrations.devices.hits);
  return known->region;
}

// The library is asked again for refused memory after 1, 2, 4, ... releases, because a question
// takes long and evicts all idle regions, and UCX prints a line.
std::shared_ptr<const MemoryRegion> DeviceCache::registered(const cuda::Memory& memory,
                                                            uint32_t refusals) {
  constexpr uint32_t kMostDoublings = 16;
  drop_freed();
  drop_if([&](const Entry& one) { return overlap(one.memory, memory); });
  trim(most_ - std::min(most_, memory.bytes));
  entries_.push_front({memory, nullptr});
  for (;;) try {
      entries_.front().region = registers_(memory);
      break;
    } catch (const std::exception& error) {
      if (evict_one()) continue;
      Entry& refused = entries_.front();
      refused.why_refused = error.what();
      refused.next_question = releases_ + (uint64_t{1} << std::min(refusals, kMostDoublings));
      refused.refusals = refusals + 1;
      throw;
    }
  bytes_ += memory.bytes;
  auto& counts = process_.registrations.devices;
  core::Process::Registrations::add_to(counts.made);
  counts.bytes.fetch_add(memory.bytes, std::memory_order_relaxed);
  explain(process_, "registered", memory);
  return entries_.front().region;
}

// Any other buffer may have the address now.
void DeviceCache::drop_freed() noexcept {
  try {
    drop_if(
        [](const Entry& one) { return !is_same(cuda::mapping_at(one.memory.base), one.memory); });
  } catch (const std::bad_alloc&) {
  }
}

void DeviceCache::drop_if(const std::function<bool(const Entry&)>& condition) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto entry = at++;
    if (!condition(*entry)) continue;
    if (entry->region != nullptr) explain(process_, "released after the free", entry->memory);
    drop(entry);
  }
}

void DeviceCache::drop(Entries::iterator entry) noexcept {
  if (entry->region != nullptr) {
    ++releases_;
    bytes_ -= entry->memory.bytes;
    process_.registrations.devices.bytes.fetch_sub(entry->memory.bytes, std::memory_order_relaxed);
  }
  entries_.erase(entry);
}

bool DeviceCache::evict_one() noexcept {
  for (auto at = entries_.end(); at != entries_.begin();) {
    if (!(--at)->is_idle()) continue;
    core::Process::Registrations::add_to(process_.registrations.devices.evicted);
    explain(process_, "evicted", at->memory);
    drop(at);
    return true;
  }
  return false;
}

void DeviceCache::trim(size_t most) noexcept {
  while (bytes_ > most && evict_one()) {
  }
}

void DeviceCache::end_lease(std::shared_ptr<const MemoryRegion>* region) noexcept {
  region->reset();
  ++releases_;
  trim(most_);
}

DeviceLease::~DeviceLease() { cache_->end_lease(&region_); }

}  // namespace tern::btl::net

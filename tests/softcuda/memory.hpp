// SPDX-License-Identifier: Apache-2.0
// The table of all memory that the driver knows, by address.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "context.hpp"
#include "space.hpp"
#include "stream.hpp"

namespace softcuda {

enum class Kind { kDevice, kImport, kMapped, kPool, kPoolImport, kManaged, kHost, kRegistered };

struct Allocation {
  Kind kind = Kind::kDevice;
  uintptr_t base = 0;
  size_t bytes = 0;
  CUcontext context = nullptr;  // null: of none (pools, cuMemMap)
  int physical = 0;
  uint64_t id = 0;  // never used again in this process
  StoragePtr storage;
  size_t offset = 0;  // in the storage
  unsigned long long handle_types = 0;
  CUmemoryPool pool = nullptr;
  CUmemGenericAllocationHandle handle = 0;
  bool sync_memops = false;
  Place late = {};  // the last synchronous call that may not have written yet
  int opened = 0;   // kImport: how often
  /// May be touched by a device: kMapped and pools; by number of the machine's device.
  std::map<int, unsigned long long> access = {};

  [[nodiscard]] bool on_device() const { return kind < Kind::kManaged; }
};

/// Enters it into the table and gives it its id. The caller does not hold table_mutex.
void enter_allocation(Allocation allocation);
/// A copy of what an address lies in.
std::optional<Allocation> find_allocation(uintptr_t address);
/// Takes it out of the table, where it begins at this address and is of that kind.
std::optional<Allocation> remove_allocation(uintptr_t base, Kind kind);
/// Calls `change` with the entry that the address lies in, under table_mutex.
bool change_allocation(uintptr_t address, const std::function<void(Allocation&)>& change);
/// Begin and length of what was reserved around a mapping; of other memory its own.
std::pair<uintptr_t, size_t> range_of(const Allocation& here);
/// The memory of a context that ends.
void free_all_of(CUcontext context);

/// What a copy may touch: device memory within one allocation (or mappings side by side), or
/// memory of the host. Sets what its bytes are to the driver.
CUresult check_range(uintptr_t address, size_t bytes, int physical);
/// Fills new or freed memory with a pattern.
void poison(uintptr_t address, size_t bytes);
/// cuMemFree of managed memory.
CUresult free_managed(uintptr_t address);

}  // namespace softcuda

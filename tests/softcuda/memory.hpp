// SPDX-License-Identifier: Apache-2.0
// The table of all memory, by address.
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
  CUcontext context = nullptr;  // null for pools and cuMemMap
  int physical = 0;
  uint64_t id = 0;  // never reused in this process
  StoragePtr storage;
  size_t offset = 0;
  unsigned long long handle_types = 0;
  CUmemoryPool pool = nullptr;
  CUmemGenericAllocationHandle handle = 0;
  bool sync_memops = false;
  Place late = {};
  int opened = 0;
  /// access rights by device, for kMapped and pools
  std::map<int, unsigned long long> access = {};

  [[nodiscard]] bool on_device() const { return kind < Kind::kManaged; }
};

/// enter_allocation() assigns a new id. The caller must not hold table_mutex.
void enter_allocation(Allocation allocation);
std::optional<Allocation> find_allocation(uintptr_t address);
std::optional<Allocation> remove_allocation(uintptr_t base, Kind kind);
bool change_allocation(uintptr_t address, const std::function<void(Allocation&)>& change);
/// range_of() returns the reservation around a mapping, otherwise the allocation.
std::pair<uintptr_t, size_t> range_of(const Allocation& here);
void free_all_of(CUcontext context);

/// A copy may touch adjacent mappings, but no more than a single allocation.
CUresult check_range(uintptr_t address, size_t bytes, int physical);
void poison(uintptr_t address, size_t bytes);
CUresult free_managed(uintptr_t address);

}  // namespace softcuda

// SPDX-License-Identifier: Apache-2.0
// Where device memory is: addresses that fault (the guard), and the bytes behind them (the alias).
//
// Why: host code that touches device memory must fail at once, in every test.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace softcuda {

constexpr size_t kGranule = size_t{2} << 20;

/// Memory of a device, in a file without a name. Its last page says whose it is, so that a process
/// that gets the file knows.
struct Storage {
  int fd = -1;
  size_t bytes = 0;  // without the last page
  ino_t inode = 0;
  int physical = 0;
  uint64_t block = next_block();  // its id, never used again in this process
  bool multicast = false;         // a multicast object: memory of others lies behind it
  bool owned = false;             // made by this process: counts towards the device's memory
  static uint64_t next_block();
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();
};
using StoragePtr = std::shared_ptr<Storage>;

/// Null where the device has not so much left.
StoragePtr make_storage(int physical, size_t bytes);
/// A page that no device has, for a multicast object.
StoragePtr make_object();
/// The memory in a file that another process made; takes the descriptor. Null if it is no such
/// file.
StoragePtr adopt_storage(int fd);
/// Opens descriptor `fd` of process `pid`, where its inode is still that one; -1 otherwise.
int open_of_process(pid_t pid, int fd, ino_t inode);
/// Bytes of the device's memory that were allocated in this process and are still held by anyone:
/// what was freed counts as long as an exported descriptor or an import of it is open.
size_t bytes_used(int physical);

/// A range of addresses, not yet backed by anything; 0 if no range is free. `align` is at least a
/// granule.
uintptr_t take_addresses(size_t bytes, size_t align = kGranule);
void give_addresses(uintptr_t address, size_t bytes);
bool back(uintptr_t address, const Storage& storage, size_t offset, size_t bytes);
/// What lies there is memory of this process alone from now on.
void forget_storage(uintptr_t address, size_t bytes);
void unback(uintptr_t address, size_t bytes);
bool is_device_address(uintptr_t address);
/// The bytes behind a device's address; any other address as it is.
void* translate(const void* address);
/// The device's address of such bytes; any other address as it is.
uintptr_t address_of_bytes(const void* bytes);
inline char* behind(uintptr_t address) {
  return static_cast<char*>(translate(reinterpret_cast<const void*>(address)));
}

}  // namespace softcuda

// SPDX-License-Identifier: Apache-2.0
// Device memory: addresses that fault on access (guard), and a readable mapping (alias).
// Why: host code that touches device memory must fail in every test.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace softcuda {

constexpr size_t kGranule = size_t{2} << 20;

/// Device memory in an unnamed file. The last page names the owner for importing processes.
struct Storage {
  int fd = -1;
  size_t bytes = 0;  // without the last page
  ino_t inode = 0;
  int physical = 0;
  uint64_t block = next_block();  // id, never reused in this process
  bool multicast = false;         // a multicast object
  bool owned = false;             // made by this process, so counted as used
  static uint64_t next_block();
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();
};
using StoragePtr = std::shared_ptr<Storage>;

/// Null if the device has too little memory left.
StoragePtr make_storage(int physical, size_t bytes);
/// A page of no device, for a multicast object.
StoragePtr make_object();
/// The memory in another process's file. Takes the descriptor. Null for a foreign file.
StoragePtr adopt_storage(int fd);
/// Opens descriptor `fd` of process `pid`. Returns -1 if the inode differs.
int open_of_process(pid_t pid, int fd, ino_t inode);
/// Bytes allocated by this process. Freed memory counts until all exported descriptors and imports
/// are closed.
size_t bytes_used(int physical);

/// A free address range without memory, or 0. `align` is at least a granule.
uintptr_t take_addresses(size_t bytes, size_t align = kGranule);
void give_addresses(uintptr_t address, size_t bytes);
bool back(uintptr_t address, const Storage& storage, size_t offset, size_t bytes);
/// Turns the range into private memory of this process.
void forget_storage(uintptr_t address, size_t bytes);
void unback(uintptr_t address, size_t bytes);
bool is_device_address(uintptr_t address);
/// The host address behind a device address. Other addresses stay.
void* translate(const void* address);
/// The device address of host bytes. Other addresses stay.
uintptr_t address_of_bytes(const void* bytes);
inline char* behind(uintptr_t address) {
  return static_cast<char*>(translate(reinterpret_cast<const void*>(address)));
}

}  // namespace softcuda

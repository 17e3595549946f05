// SPDX-License-Identifier: Apache-2.0
// Device memory: addresses that fault (guard) and readable mappings (alias).
// Why: host code that touches device memory must fail.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace softcuda {

constexpr size_t kGranule = size_t{2} << 20;

/// A Storage is an unnamed file. The last page names the owner.
struct Storage {
  int fd = -1;
  size_t bytes = 0;  // without the last page
  ino_t inode = 0;
  int physical = 0;
  uint64_t block = next_block();  // never reused in this process
  bool multicast = false;
  bool rdma = true;  // cuMemCreate: only with gpuDirectRDMACapable
  bool owned = false;
  static uint64_t next_block();
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();
};
using StoragePtr = std::shared_ptr<Storage>;

/// make_storage() returns null if the device is full.
StoragePtr make_storage(int physical, size_t bytes);
StoragePtr make_object();
/// adopt_storage() takes the descriptor and returns null for a foreign file.
StoragePtr adopt_storage(int fd);
/// open_of_process() returns -1 if the inode differs.
int open_of_process(pid_t pid, int fd, ino_t inode);
/// bytes_used() counts memory of this process; freed memory counts until all descriptors and
/// imports are closed.
size_t bytes_used(int physical);

/// take_addresses() maps no memory. Returns 0 if no range is free.
uintptr_t take_addresses(size_t bytes, size_t align = kGranule);
void give_addresses(uintptr_t address, size_t bytes);
bool back(uintptr_t address, const Storage& storage, size_t offset, size_t bytes);
/// forget_storage() makes the range private memory.
void forget_storage(uintptr_t address, size_t bytes);
void unback(uintptr_t address, size_t bytes);
bool is_device_address(uintptr_t address);
/// translate() turns device addresses into host addresses and keeps other addresses.
void* translate(const void* address);
uintptr_t address_of_bytes(const void* bytes);
inline char* behind(uintptr_t address) {
  return static_cast<char*>(translate(reinterpret_cast<const void*>(address)));
}

}  // namespace softcuda

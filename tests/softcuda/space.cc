// SPDX-License-Identifier: Apache-2.0
// Two reservations of the same size, unnamed files, and a list of free addresses.
#include "space.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "config.hpp"

namespace softcuda {
namespace {

constexpr size_t kSpace = size_t{64} << 30;
constexpr size_t kPage = 4096;
constexpr uint64_t kMagic = 0x7466'6f73'6475'6361;

struct Label {
  uint64_t magic;
  uint64_t bytes;
  int physical;
  bool multicast;
};

struct Space {
  char* guard = nullptr;
  char* alias = nullptr;
  std::mutex mutex;
  std::map<uintptr_t, size_t> free;  // address: bytes
};

char* reserve(size_t bytes) {
  void* got = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) give_up("cannot reserve %zu GiB of addresses", bytes >> 30);
  const auto at = reinterpret_cast<uintptr_t>(got);
  return reinterpret_cast<char*>((at + kGranule - 1) / kGranule * kGranule);
}

// Addresses differ between processes.
Space& space() {
  static Space& made = []() -> Space& {
    auto& fresh = *new Space;
    fresh.guard = reserve(kSpace + kGranule);
    fresh.alias = reserve(kSpace + kGranule);
    const size_t begin = (static_cast<size_t>(getpid()) * 0x9E3779B1u % 4096 + 1) * kGranule;
    fresh.free[reinterpret_cast<uintptr_t>(fresh.guard) + begin] = kSpace - begin;
    return fresh;
  }();
  return made;
}

std::atomic<size_t> used[64];

// Freed storage counts as used until the last holder closes the file.
void lock_for_holder(int fd) {
  struct flock first_byte {};
  first_byte.l_type = F_RDLCK;
  first_byte.l_whence = SEEK_SET;
  first_byte.l_len = 1;
  fcntl(fd, F_OFD_SETLK, &first_byte);
}

bool has_holder(int watcher) {
  struct flock first_byte {};
  first_byte.l_type = F_WRLCK;
  first_byte.l_whence = SEEK_SET;
  first_byte.l_len = 1;
  return fcntl(watcher, F_OFD_GETLK, &first_byte) == 0 && first_byte.l_type != F_UNLCK;
}

/// Lingering memory is freed here and held elsewhere.
struct Lingering {
  ino_t inode;
  int physical;
  size_t bytes;
};
struct LingeringList {
  std::mutex mutex;
  std::vector<Lingering> all;
};
LingeringList& lingering() {
  static auto& made = *new LingeringList;
  return made;
}

// An open descriptor would disturb tests that count descriptors.
void drop_what_no_one_holds() {
  std::lock_guard lock(lingering().mutex);
  if (lingering().all.empty()) return;
  std::ifstream file("/proc/locks");
  const std::string locks{std::istreambuf_iterator<char>(file), {}};
  std::erase_if(lingering().all, [&](const Lingering& one) {
    if (locks.find(":" + std::to_string(one.inode) + " ") != std::string::npos) return false;
    used[one.physical] -= one.bytes;
    return true;
  });
}

int open_again(int fd) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return open(path, O_RDWR | O_CLOEXEC);
}

}  // namespace

// Block ids count separately from buffer ids.
uint64_t Storage::next_block() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

Storage::~Storage() {
  const int watcher = owned && fd >= 0 ? open_again(fd) : -1;
  if (fd >= 0) close(fd);
  if (!owned) return;
  if (watcher >= 0 && has_holder(watcher)) {
    std::lock_guard lock(lingering().mutex);
    lingering().all.push_back({inode, physical, bytes});
  } else {
    used[physical] -= bytes;
  }
  if (watcher >= 0) close(watcher);
}

namespace {

StoragePtr make_file(size_t bytes, int physical, bool multicast) {
  auto storage = std::make_shared<Storage>();
  storage->fd = memfd_create("softcuda", MFD_CLOEXEC);
  const Label label{kMagic, bytes, physical, multicast};
  struct stat about;
  if (storage->fd < 0 || ftruncate(storage->fd, static_cast<off_t>(bytes + kPage)) != 0 ||
      pwrite(storage->fd, &label, sizeof label, static_cast<off_t>(bytes)) != sizeof label ||
      fstat(storage->fd, &about) != 0)
    return nullptr;
  lock_for_holder(storage->fd);
  storage->bytes = bytes;
  storage->physical = physical;
  storage->multicast = multicast;
  storage->inode = about.st_ino;
  return storage;
}

}  // namespace

StoragePtr make_storage(int physical, size_t bytes) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  drop_what_no_one_holds();
  if (used[physical] + bytes > config().memory) return nullptr;
  StoragePtr storage = make_file(bytes, physical, /*multicast=*/false);
  if (!storage) return nullptr;
  storage->owned = true;
  used[physical] += bytes;
  return storage;
}

StoragePtr make_object() { return make_file(kPage, 0, /*multicast=*/true); }

StoragePtr adopt_storage(int fd) {
  auto storage = std::make_shared<Storage>();
  storage->fd = fd;
  Label label{};
  struct stat about;
  if (fd < 0 || fstat(fd, &about) != 0 || about.st_size < static_cast<off_t>(2 * kPage) ||
      pread(fd, &label, sizeof label, about.st_size - static_cast<off_t>(kPage)) != sizeof label ||
      label.magic != kMagic)
    return nullptr;
  lock_for_holder(fd);
  storage->bytes = label.bytes;
  storage->physical = label.physical;
  storage->multicast = label.multicast;
  storage->inode = about.st_ino;
  return storage;
}

int open_of_process(pid_t pid, int fd, ino_t inode) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
  const int opened = open(path, O_RDWR | O_CLOEXEC);
  struct stat about;
  if (opened >= 0 && fstat(opened, &about) == 0 && about.st_ino == inode) return opened;
  if (opened >= 0) close(opened);
  return -1;
}

size_t bytes_used(int physical) {
  drop_what_no_one_holds();
  return used[physical];
}

uintptr_t take_addresses(size_t bytes, size_t align) {
  bytes = (bytes + kGranule - 1) / kGranule * kGranule + kGranule;  // one granule stays empty
  Space& all = space();
  std::lock_guard lock(all.mutex);
  for (auto at = all.free.begin(); at != all.free.end(); ++at) {
    const uintptr_t begin = at->first, end = begin + at->second;
    const uintptr_t address = (begin + align - 1) / align * align;
    if (address + bytes > end) continue;
    all.free.erase(at);
    if (address > begin) all.free[begin] = address - begin;
    if (address + bytes < end) all.free[address + bytes] = end - address - bytes;
    return address;
  }
  return 0;
}

void give_addresses(uintptr_t address, size_t bytes) {
  bytes = (bytes + kGranule - 1) / kGranule * kGranule + kGranule;
  Space& all = space();
  std::lock_guard lock(all.mutex);
  auto after = all.free.lower_bound(address);
  if (after != all.free.end() && address + bytes == after->first) {
    bytes += after->second;
    after = all.free.erase(after);
  }
  if (after != all.free.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == address) {
      before->second += bytes;
      return;
    }
  }
  all.free[address] = bytes;
}

bool back(uintptr_t address, const Storage& storage, size_t offset, size_t bytes) {
  const auto show = [&](char* at) {
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, storage.fd,
                static_cast<off_t>(offset)) != MAP_FAILED;
  };
  return show(behind(address)) && (!config().open || show(reinterpret_cast<char*>(address)));
}

void forget_storage(uintptr_t address, size_t bytes) {
  if (mmap(behind(address), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
           -1, 0) == MAP_FAILED)
    give_up("cannot map private memory at %#lx", address);
}

void unback(uintptr_t address, size_t bytes) {
  for (char* at : {behind(address), reinterpret_cast<char*>(address)})
    if (mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED)
      give_up("cannot unmap memory at %#lx", address);
}

bool is_device_address(uintptr_t address) {
  return address - reinterpret_cast<uintptr_t>(space().guard) < kSpace;
}

uintptr_t address_of_bytes(const void* bytes) {
  const uintptr_t offset =
      reinterpret_cast<uintptr_t>(bytes) - reinterpret_cast<uintptr_t>(space().alias);
  return offset < kSpace ? reinterpret_cast<uintptr_t>(space().guard) + offset
                         : reinterpret_cast<uintptr_t>(bytes);
}

void* translate(const void* address) {
  const uintptr_t offset =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(space().guard);
  if (offset < kSpace) return space().alias + offset;
  return const_cast<void*>(address);
}

}  // namespace softcuda

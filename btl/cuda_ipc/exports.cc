// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/exports.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

namespace tern::btl::cuda_ipc {
namespace {

constexpr size_t kMostKnown = 4096;  // legacy handles, refusals; then all are new again

size_t most_descriptors() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
  return std::min<size_t>(limit.rlim_cur / 2, LedgerFile::kRows);
}

/// The driver will say the same next time.
bool for_good(CUresult result) noexcept {
  return result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED ||
         result == CUDA_ERROR_NOT_PERMITTED;
}

unsigned types_of(const cuda::Driver& driver, CUmemGenericAllocationHandle handle) noexcept {
  CUmemAllocationProp properties{};
  if (driver.cuMemGetAllocationPropertiesFromHandle == nullptr ||
      driver.cuMemGetAllocationPropertiesFromHandle(&properties, handle) != CUDA_SUCCESS)
    return CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return static_cast<unsigned>(properties.requestedHandleTypes);
}

/// How one export ended.
struct Named {
  CUresult result = CUDA_SUCCESS;
  const char* function = "";
};

// By all that its creator has allowed: whether a fabric handle can be imported is for the importer
// to find out.
Named export_mapping(const cuda::Driver& driver, uintptr_t base, Row* row,
                     Fd* descriptor) noexcept {
  if (driver.cuMemRetainAllocationHandle == nullptr ||
      driver.cuMemExportToShareableHandle == nullptr)
    return {CUDA_ERROR_NOT_SUPPORTED, "cuMemExportToShareableHandle"};
  CUmemGenericAllocationHandle handle = 0;
  const CUresult retained =
      driver.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(base));
  if (retained != CUDA_SUCCESS) return {retained, "cuMemRetainAllocationHandle"};
  const unsigned types = types_of(driver, handle);
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  if ((types & CU_MEM_HANDLE_TYPE_FABRIC) != 0) {
    static_assert(sizeof(CUmemFabricHandle) == sizeof row->handle);
    result = driver.cuMemExportToShareableHandle(row->handle, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0);
    if (result == CUDA_SUCCESS) row->forms |= Row::kFabric;
  }
  if ((types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) {
    int fd = -1;
    result = driver.cuMemExportToShareableHandle(&fd, handle,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result == CUDA_SUCCESS) {
      *descriptor = Fd(fd);
      (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
      row->forms |= Row::kDescriptor;
    }
  }
  (void)driver.cuMemRelease(handle);
  return {row->forms != 0 ? CUDA_SUCCESS : result, "cuMemExportToShareableHandle"};
}

}  // namespace

Exports& Exports::instance() noexcept {
  static Exports all;
  return all;
}

void Exports::join() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  ++ranks_;
}

void Exports::leave() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (--ranks_ > 0) return;
  for (uint32_t row = 1; row < entries_.size(); ++row)
    if (entries_[row].buffer_id != 0) withdraw(row);
  legacy_.clear();
  refused_.clear();
}

bool Exports::name_legacy(cuda::Device& device, const cuda::Memory& memory, MemoryCard* card,
                          std::string* why_not) {
  const std::lock_guard<std::mutex> guard(mutex_);
  ++turn_;
  look_after(1);
  auto known = legacy_.find(memory.buffer_id);
  if (known == legacy_.end()) {
    CUipcMemHandle handle;
    const cuda::Current current(device);
    const CUresult result =
        device.driver.cuIpcGetMemHandle(&handle, static_cast<CUdeviceptr>(memory.base));
    if (result != CUDA_SUCCESS) {
      *why_not =
          "the driver gives no handle for it: " + cuda::words_of("cuIpcGetMemHandle", result);
      return false;
    }
    if (legacy_.size() >= kMostKnown) legacy_.clear();
    known = legacy_.emplace(memory.buffer_id, handle).first;
  }
  static_assert(sizeof known->second == sizeof card->handle);
  std::memcpy(card->handle, &known->second, sizeof card->handle);
  card->form = MemoryCard::Form::kLegacy;
  return true;
}

bool Exports::name_mappings(cuda::Device& device, const cuda::Memory& memory, size_t bytes,
                            MemoryCard* card, std::string* why_not) {
  const std::lock_guard<std::mutex> guard(mutex_);
  ++turn_;
  look_after(1);
  Listed place{};
  uint32_t last = 0;
  uint64_t end = memory.base;
  for (cuda::Memory piece = memory;; piece = cuda::look_up(reinterpret_cast<void*>(end))) {
    if (piece.kind != cuda::MemoryKind::kDevice || piece.base != end || piece.bytes == 0 ||
        piece.legacy_ipc || piece.pooled) {
      *why_not = "it does not lie in one allocation, nor in mappings side by side";
      return false;
    }
    const uint32_t row = row_of(device, piece, why_not);
    if (row == 0) return false;
    if (last != 0)
      ledger_->chain(last, row);
    else
      place.row = row;
    last = row;
    end += piece.bytes;
    if (end >= card->address + bytes) break;
  }
  place.ledger = ledger_->number();
  place.descriptor = ledger_->descriptor();
  std::memcpy(card->handle, &place, sizeof place);
  card->bytes = end - card->base;
  card->form = MemoryCard::Form::kListed;
  return true;
}

// 0 with a reason where it cannot be shared.
uint32_t Exports::row_of(cuda::Device& device, const cuda::Memory& memory, std::string* why_not) {
  if (const auto known = rows_.find(memory.buffer_id); known != rows_.end()) {
    entries_[known->second].used = turn_;
    return known->second;
  }
  if (const auto no = refused_.find(memory.buffer_id); no != refused_.end()) {
    *why_not = no->second;
    return 0;
  }
  look_after(4);
  if (!make_room()) {
    *why_not =
        "it consists of more mappings than this process may have descriptors for at once: "
        "a higher limit (ulimit -n) cures it";
    return 0;
  }
  Row row{};
  Fd descriptor;
  const Named named = export_mapping(device.driver, memory.base, &row, &descriptor);
  if (named.result == CUDA_SUCCESS) return enter(memory, row, std::move(descriptor));
  *why_not =
      "a mapping of it (cuMemCreate) cannot be shared; it was made without "
      "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, or the driver refuses: " +
      cuda::words_of(named.function, named.result);
  if (for_good(named.result)) refuse(memory, *why_not);
  return 0;
}

void Exports::refuse(const cuda::Memory& memory, const std::string& why) {
  if (refused_.size() >= kMostKnown) refused_.clear();
  refused_.emplace(memory.buffer_id, why);
}

// For one more row with a descriptor. False where this offer has taken all.
bool Exports::make_room() {
  if (ledger_ == nullptr) ledger_ = std::make_unique<Ledger>();
  if (descriptors_ < most_descriptors() && rows_.size() + 2 < LedgerFile::kRows) return true;
  uint32_t oldest = 0;
  for (uint32_t row = 1; row < entries_.size(); ++row) {
    const Entry& entry = entries_[row];
    if (entry.buffer_id == 0 || entry.used == turn_) continue;
    if (oldest == 0 || entry.used < entries_[oldest].used) oldest = row;
  }
  if (oldest == 0) return false;
  withdraw(oldest);
  return true;
}

uint32_t Exports::enter(const cuda::Memory& memory, Row row, Fd descriptor) {
  row.buffer_id = memory.buffer_id;
  row.base = memory.base;
  row.bytes = memory.bytes;
  row.descriptor = descriptor.get();
  const uint32_t place = ledger_->add(row);
  if (entries_.size() <= place) entries_.resize(place + 1);
  rows_[memory.buffer_id] = place;
  if (descriptor.valid()) ++descriptors_;
  entries_[place] = {memory.buffer_id, memory.base, turn_, std::move(descriptor)};
  return place;
}

// The row first: who takes the descriptor looks there afterwards.
void Exports::withdraw(uint32_t row) noexcept {
  ledger_->clear(row);
  Entry& entry = entries_[row];
  rows_.erase(entry.buffer_id);
  if (entry.descriptor.valid()) --descriptors_;
  entry = {};
}

// A descriptor keeps the memory that it names, and importers drop what is withdrawn.
void Exports::look_after(int entries) noexcept {
  for (const size_t all = entries_.size(); all > 1 && entries > 0; --entries) {
    looked_at_ = looked_at_ + 1 < all ? looked_at_ + 1 : 1;
    const Entry& entry = entries_[looked_at_];
    if (entry.buffer_id == 0 || entry.used == turn_) continue;
    if (cuda::look_up(reinterpret_cast<void*>(entry.base)).buffer_id != entry.buffer_id)
      withdraw(looked_at_);
  }
}

}  // namespace tern::btl::cuda_ipc

// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/exports.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "btl/cuda_ipc/naming.hpp"
#include "cuda/mapping.hpp"

namespace tern::btl::cuda_ipc {
namespace {

constexpr size_t kMostKnown = 4096;

size_t most_descriptors() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
  return std::min<size_t>(limit.rlim_cur / 2, LedgerFile::kRows);
}

bool for_good(CUresult result) noexcept {
  return result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED ||
         result == CUDA_ERROR_NOT_PERMITTED;
}

}  // namespace

void Exports::answer() {
  const std::lock_guard<std::mutex> guard(mutex_);
  answer_locked();
}

void Exports::answer_locked() {
  if (outbox_ == nullptr) return;
  Ask ask;
  Address from;
  while (outbox_->next(&ask, &from)) send_rows(ask, from);
}

void Exports::send_rows(const Ask& ask, const Address& to) {
  outbox_->add(to, 0, 0, ledger_->descriptor());
  uint64_t left = ask.bytes;
  for (uint32_t place = ask.row; place != 0 && place < entries_.size() && left > 0;) {
    const Row row = (*ledger_)[place];
    if (row.stamp == 0) break;
    if (entries_[place].descriptor.valid())
      outbox_->add(to, place, row.stamp, entries_[place].descriptor.get());
    const bool is_pool = (row.forms & Row::kPool) != 0;
    if (is_pool || (row.bytes >= left && (row.forms & Row::kPointer) == 0)) break;
    if ((row.forms & Row::kPointer) == 0) left -= row.bytes;
    place = row.next;
  }
  outbox_->send(to);
}

void Exports::send_fresh() {
  if (fresh_.empty()) return;
  for (const Address& reader : outbox_->readers()) {
    for (const uint32_t place : fresh_)
      if (entries_[place].descriptor.valid())
        outbox_->add(reader, place, (*ledger_)[place].stamp, entries_[place].descriptor.get());
    outbox_->send(reader);
  }
  outbox_->forget_the_gone();
  fresh_.clear();
}

Exports& Exports::instance() noexcept {
  static Exports& all = *new Exports;  // outlives all static objects
  return all;
}

void Exports::join(bool sends) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (++ranks_ == 1) sends_ = sends;
  cuda::withdraw.store(
      [](uintptr_t address, size_t bytes) noexcept { instance().forget(address, bytes); });
}

void Exports::forget(uintptr_t address, size_t bytes) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (uint32_t row = 1; row < entries_.size(); ++row)
    if (entries_[row].name.id != 0 && entries_[row].base - address < bytes) withdraw(row);
}

void Exports::leave() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  trials_.drop_unlisted();
  if (--ranks_ > 0) return;
  for (uint32_t row = 1; row < entries_.size(); ++row)
    if (entries_[row].name.id != 0) withdraw(row);
  trials_.end();
  refused_.clear();
  unshared_pools_.clear();
  outbox_.reset();
  ledger_.reset();
  entries_.clear();
  fresh_.clear();
}

bool Exports::name_legacy(cuda::Device& device, const cuda::Memory& memory, MemoryHandle* handle,
                          std::string* why_not) {
  const std::lock_guard<std::mutex> guard(mutex_);
  ++turn_;
  answer_locked();
  look_at(1, now_ns());
  uint32_t place = known_row(memory, false, why_not);
  if (place == 0) {
    if (!why_not->empty()) return false;
    CUipcMemHandle named;
    const cuda::Current current(device);
    const CUresult result =
        device.driver.cuIpcGetMemHandle(&named, static_cast<CUdeviceptr>(memory.base));
    if (result != CUDA_SUCCESS) {
      *why_not = "the driver gives no handle for the memory: " +
                 cuda::words_of("cuIpcGetMemHandle", result);
      return false;
    }
    Row row{};
    row.forms = Row::kLegacy;
    static_assert(sizeof named == sizeof row.handle);
    std::memcpy(row.handle, &named, sizeof named);
    place = enter(memory, row, {});
  }
  put(device, place, handle);
  return true;
}

bool Exports::name_mappings(cuda::Device& device, size_t bytes, MemoryHandle* handle,
                            std::string* why_not) {
  const std::lock_guard<std::mutex> guard(mutex_);
  ++turn_;
  answer_locked();
  look_at(1, now_ns());
  uint32_t first = 0, last = 0;
  cuda::Memory piece = cuda::mapping_at(handle->address);
  handle->base = piece.base;
  handle->buffer_id = piece.buffer_id;
  uint64_t end = piece.base;
  for (;; piece = cuda::mapping_at(end)) {
    if (piece.kind != cuda::MemoryKind::kDevice || piece.base != end || piece.bytes == 0 ||
        piece.buffer_id == 0 || piece.legacy_ipc || piece.pooled) {
      *why_not = "the buffer is neither in a single allocation nor in adjacent mappings";
      return false;
    }
    const uint32_t row = row_of(device, piece, why_not);
    if (row == 0) return false;
    if (last != 0) ledger_->chain(last, row);
    if (first == 0) first = row;
    last = row;
    end += piece.bytes;
    if (end >= handle->address + bytes) break;
  }
  handle->bytes = end - handle->base;
  send_fresh();
  put(device, first, handle);
  return true;
}

bool Exports::name_pooled(cuda::Device& device, const cuda::Memory& memory, MemoryHandle* handle,
                          std::string* why_not) {
  const std::lock_guard<std::mutex> guard(mutex_);
  ++turn_;
  answer_locked();
  look_at(1, now_ns());
  uint32_t place = known_row(memory, true, why_not);
  if (place == 0) {
    const uint32_t pool = why_not->empty() ? pool_of(device.driver, memory, why_not) : 0;
    if (pool == 0) return false;
    Row row{};
    CUmemPoolPtrExportData words;
    static_assert(sizeof words == sizeof row.handle);
    const CUresult result = device.driver.cuMemPoolExportPointer(&words, memory.base);
    count_pointer(pool, 1);
    if (result != CUDA_SUCCESS) {
      count_pointer(pool, -1);
      *why_not = "the driver refuses to share the memory: " +
                 cuda::words_of("cuMemPoolExportPointer", result);
      return false;
    }
    std::memcpy(row.handle, &words, sizeof words);
    row.forms = Row::kPointer;
    row.next = pool;
    place = enter(memory, row, {});
    entries_[place].pool = pool;
    send_fresh();
  }
  put(device, place, handle);
  return true;
}

void Exports::put(cuda::Device& device, uint32_t row, MemoryHandle* handle) noexcept {
  trials_.list(device, *ledger_);
  handle->listed = {ledger_->number(), ledger_->descriptor(), row};
  const Row& listed = (*ledger_)[row];
  const bool alone = listed.bytes == handle->bytes;
  handle->form = (listed.forms & Row::kLegacy) != 0            ? MemoryHandle::HandleForm::kLegacy
                 : alone && (listed.forms & Row::kFabric) != 0 ? MemoryHandle::HandleForm::kFabric
                                                               : MemoryHandle::HandleForm::kListed;
  if (handle->form != MemoryHandle::HandleForm::kListed)
    std::memcpy(handle->driver_handle, listed.handle, sizeof handle->driver_handle);
}

uint32_t Exports::known_row(const cuda::Memory& memory, bool with_descriptor,
                            std::string* why_not) {
  if (const auto known = rows_.find(Name::of(memory)); known != rows_.end()) {
    const uint32_t place = known->second;
    entries_[place].used = turn_;
    entries_[place].offered_ns = now_ns();
    if (entries_[place].base == memory.base) return place;
    withdraw(place);
  }
  if (const auto no = refused_.find(Name::of(memory)); no != refused_.end()) {
    *why_not = no->second;
    return 0;
  }
  look_at(4, now_ns());
  if (!make_room(with_descriptor))
    *why_not =
        "the buffer has more mappings than this process may have descriptors: raise the "
        "limit (ulimit -n)";
  return 0;
}

// row_of() and known_row() return 0 with a reason if sharing is impossible.
uint32_t Exports::row_of(cuda::Device& device, const cuda::Memory& memory, std::string* why_not) {
  if (const uint32_t known = known_row(memory, true, why_not); known != 0 || !why_not->empty())
    return known == 0 || open_again(device, known, why_not) ? known : 0;
  Row row{};
  Fd descriptor;
  const Named named = export_mapping(device.driver, memory.base, &row, &descriptor);
  if (named.result == CUDA_SUCCESS) return enter(memory, row, std::move(descriptor));
  *why_not =
      "a mapping of the buffer (cuMemCreate) cannot be shared; the program created it without "
      "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, or the driver refuses: " +
      cuda::words_of(named.function, named.result);
  if (for_good(named.result)) refuse(memory, *why_not);
  return 0;
}

// Importers' mappings stay valid, because the reopened descriptor names the same memory.
bool Exports::open_again(cuda::Device& device, uint32_t place, std::string* why_not) {
  Export& entry = entries_[place];
  if (entry.descriptor.valid() || ((*ledger_)[place].forms & Row::kDescriptor) == 0) return true;
  Row row{};
  Fd descriptor;
  const Named named = export_mapping(device.driver, entry.base, &row, &descriptor);
  if (named.result == CUDA_SUCCESS && descriptor.valid()) {
    ledger_->set_descriptor(place, descriptor.get());
    note_fresh(place);
    entry.descriptor = std::move(descriptor);
    ++descriptors_;
    return true;
  }
  *why_not = "a mapping of the buffer cannot be shared again: " +
             cuda::words_of(named.function, named.result);
  withdraw(place);
  return false;
}

// A descriptor keeps memory alive, perhaps as the last holder. A receiver that comes later takes
// the message through the host, which costs little beside the delay.
void Exports::close_idle(uint32_t place, int64_t now) noexcept {
  constexpr int64_t kIdle = 5'000'000'000;
  Export& entry = entries_[place];
  if (!entry.descriptor.valid() || entry.name.id == 0 || now - entry.offered_ns < kIdle) return;
  ledger_->set_descriptor(place, -1);
  entry.descriptor.reset();
  --descriptors_;
}

// The first pointer shares the pool. When all listed memory of a pool is gone, the pool's handle
// may name another pool.
uint32_t Exports::pool_of(const cuda::Driver& driver, const cuda::Memory& memory,
                          std::string* why_not) {
  constexpr int kBetweenQuestions = 256;  // retry: the handle may name another pool
  CUmemoryPool handle = nullptr;
  CUpointer_attribute name = CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
  void* value = &handle;
  CUresult result = driver.cuPointerGetAttributes(1, &name, &value, memory.base);
  if (result != CUDA_SUCCESS || driver.cuMemPoolExportToShareableHandle == nullptr ||
      driver.cuMemPoolExportPointer == nullptr) {
    *why_not = "the driver cannot name or share the memory's pool";
    return 0;
  }
  const auto known = [&]() -> uint32_t {
    for (const ListedPool& pool : pools_)
      if (pool.handle == handle) return pool.row;
    return 0;
  };
  if (const uint32_t row = known(); row != 0) {
    for (uint32_t i = 1; i < entries_.size() && known() == row; ++i) {
      if (entries_[i].pool != row) continue;
      if (is_there(entries_[i])) return row;
      withdraw(i);
    }
  }
  const auto no = unshared_pools_.find(handle);
  if (no != unshared_pools_.end() && ++no->second % kBetweenQuestions != 0)
    result = CUDA_ERROR_INVALID_VALUE;
  else if (const uint32_t row = share_pool(driver, handle, &result); row != 0)
    return row;
  *why_not =
      "the memory's pool (cudaMallocAsync) is not exportable; use cudaMalloc, or a pool "
      "with a handle type (cudaMemPoolCreate)";
  if (for_good(result)) {
    refuse(memory, *why_not);
    unshared_pools_.try_emplace(handle, 0);
  }
  return 0;
}

uint32_t Exports::share_pool(const cuda::Driver& driver, CUmemoryPool handle, CUresult* result) {
  int fd = -1;
  *result = driver.cuMemPoolExportToShareableHandle(&fd, handle,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (*result != CUDA_SUCCESS) return 0;
  Row row{};
  row.forms = Row::kPool;
  const uint32_t place = enter({}, row, Fd(fd));
  (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);
  pools_.push_back({handle, place});
  return place;
}

void Exports::count_pointer(uint32_t row, int change) noexcept {
  for (auto pool = pools_.begin(); pool != pools_.end(); ++pool) {
    if (pool->row != row) continue;
    pool->pointers += change;
    if (pool->pointers > 0) return;
    pools_.erase(pool);
    return withdraw(row);
  }
}

void Exports::refuse(const cuda::Memory& memory, const std::string& why) {
  if (refused_.size() >= kMostKnown) refused_.clear();
  refused_.emplace(Name::of(memory), why);
}

bool Exports::make_room(bool with_descriptor) {
  if (ledger_ == nullptr) ledger_ = std::make_unique<Ledger>();
  if (sends_ && outbox_ == nullptr) outbox_ = std::make_unique<Outbox>(*ledger_);
  if ((!with_descriptor || descriptors_ < most_descriptors()) &&
      rows_.size() + pools_.size() + 2 < LedgerFile::kRows)
    return true;
  uint32_t oldest = 0;
  for (uint32_t row = 1; row < entries_.size(); ++row) {
    const Export& entry = entries_[row];
    if (entry.name.id == 0 || entry.used == turn_) continue;
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
  if (memory.buffer_id != 0) rows_[Name::of(memory)] = place;
  if (descriptor.valid()) ++descriptors_;
  if (descriptor.valid()) note_fresh(place);
  entries_[place] = {Name::of(memory), memory.base, turn_, now_ns(), 0, std::move(descriptor)};
  return place;
}

void Exports::note_fresh(uint32_t row) {
  if (outbox_ != nullptr && !outbox_->readers().empty()) fresh_.push_back(row);
}

// The row is cleared first, because importers check the row after taking the descriptor.
void Exports::withdraw(uint32_t row) noexcept {
  ledger_->clear(row);
  Export& entry = entries_[row];
  rows_.erase(entry.name);
  if (entry.descriptor.valid()) --descriptors_;
  const uint32_t pool = entry.pool;
  entry = {};
  if (pool != 0) count_pointer(pool, -1);
}

bool Exports::is_there(const Export& entry) noexcept {
  return Name::of(cuda::mapping_at(entry.base)) == entry.name;
}

void Exports::look_after() noexcept {
  constexpr int64_t kPeriod = 5'000'000;
  constexpr int kEntries = 8;
  const std::lock_guard<std::mutex> guard(mutex_);
  const int64_t now = now_ns();
  if (ledger_ == nullptr || now < next_look_ns_) return;
  next_look_ns_ = now + kPeriod;
  ++turn_;
  look_at(kEntries, now);
  try {
    answer_locked();
  } catch (const std::bad_alloc&) {
  }
  trials_.look_after(*ledger_);
  for (uint32_t place = 1; place < entries_.size(); ++place) close_idle(place, now);
}

void Exports::look_at(int entries, int64_t now) noexcept {
  constexpr int64_t kFresh = 100'000'000;  // ns; recently offered memory exists
  for (const size_t all = entries_.size(); all > 1 && entries > 0; --entries) {
    looked_at_ = looked_at_ + 1 < all ? looked_at_ + 1 : 1;
    const Export& entry = entries_[looked_at_];
    if (entry.name.id == 0 || now - entry.offered_ns < kFresh) continue;
    if (!is_there(entry)) withdraw(looked_at_);
  }
}

}  // namespace tern::btl::cuda_ipc

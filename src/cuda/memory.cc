// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory.hpp"

#include <link.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <mutex>

#include "cuda/driver.hpp"

namespace tern::cuda {
namespace detail {

constinit HostRanges host_ranges;
constinit thread_local StackRange stack_range;
constinit thread_local CallBuffers* call_buffers __attribute__((tls_model("initial-exec"))) =
    nullptr;

namespace {

/// Field 47 of /proc/self/stat is the start of brk.
uintptr_t heap_start() noexcept {
  std::FILE* const file = std::fopen("/proc/self/stat", "re");
  if (file == nullptr) return 0;
  char text[2048];
  const size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[length] = '\0';
  const char* at = text + length;
  while (at > text && *at != ')') --at;  // the process name may contain any character
  unsigned long long value = 0;
  constexpr int kFieldsAfterName = 45;
  for (int field = 0; field < kFieldsAfterName && *at != '\0'; ++field)
    while (*++at != ' ' && *at != '\0') {
    }
  return std::sscanf(at, "%llu", &value) == 1 ? static_cast<uintptr_t>(value) : 0;
}

void find_program(HostRanges::AddressRange& program) noexcept {
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        auto& into = *static_cast<HostRanges::AddressRange*>(result);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
          into.begin.store(info->dlpi_addr + part.p_vaddr, std::memory_order_release);
          into.bytes.store(part.p_memsz, std::memory_order_release);
        }
        return 1;
      },
      &program);
}

// An unlimited stack's range would cover all lower addresses, so the range is limited.
void find_stack() noexcept {
  constexpr size_t kMostStack = 64 << 20;
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t bytes = 0;
  if (::pthread_attr_getstack(&attributes, &low, &bytes) == 0)
    stack_range = {reinterpret_cast<uintptr_t>(low) + bytes - std::min(bytes, kMostStack),
                   std::min(bytes, kMostStack)};
  ::pthread_attr_destroy(&attributes);
}

// Other threads read concurrently: `begin` is written once, before the length, and lengths only
// grow.
void learn_ranges() noexcept {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> guard(mutex);
  HostRanges::AddressRange& heap = host_ranges.heap;
  if (heap.begin == 0) {
    find_program(host_ranges.program);
    heap.begin.store(heap_start(), std::memory_order_release);
  }
  const auto end = reinterpret_cast<uintptr_t>(::sbrk(0));
  if (heap.begin != 0 && end > heap.begin)
    heap.bytes.store(end - heap.begin, std::memory_order_release);
}

/// Without a working driver, memory unreadable to the CPU counts as a device's.
TERN_COLD MemoryKind kind_without_driver(const void* address) noexcept {
  char byte = 0;
  const iovec here{&byte, 1}, there{const_cast<void*>(address), 1};
  const bool faults = ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) < 0 && errno == EFAULT;
  return faults ? MemoryKind::kDevice : MemoryKind::kHost;
}

[[nodiscard]] Memory ask_all(const void* address) noexcept;
[[nodiscard]] MemoryKind ask_driver(const void* address) noexcept;

}  // namespace

const Driver* driver_to_ask() noexcept {
  const Driver* const known = driver();
  return known != nullptr ? known : unusable_driver();
}

namespace {

MemoryKind ask_driver(const void* address) noexcept {
  const Driver* const known = driver_to_ask();
  if (known == nullptr) return MemoryKind::kHost;
  unsigned int type = 0;
  int managed = 0;
  std::array<CUpointer_attribute, 2> names = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                              CU_POINTER_ATTRIBUTE_IS_MANAGED};
  std::array<void*, 2> values = {&type, &managed};
  const CUresult answer = known->cuPointerGetAttributes(names.size(), names.data(), values.data(),
                                                        reinterpret_cast<CUdeviceptr>(address));
  if (answer == CUDA_ERROR_NOT_INITIALIZED || answer == CUDA_ERROR_DEINITIALIZED)
    return MemoryKind::kHost;
  if (answer != CUDA_SUCCESS) return kind_without_driver(address);
  if (managed != 0) return MemoryKind::kManaged;
  return type == CU_MEMORYTYPE_DEVICE ? MemoryKind::kDevice : MemoryKind::kHost;
}

}  // namespace

MemoryKind ask(const void* address) noexcept {
  if (address == nullptr) return MemoryKind::kHost;
  CallBuffers::KnownBuffer* const remembered = CallBuffers::find(address);
  if (remembered != nullptr && remembered->kind != MemoryKind::kUnknown) return remembered->kind;
  const auto at = reinterpret_cast<uintptr_t>(address);
  if (stack_range.bytes == 0) find_stack();
  const uintptr_t heap = host_ranges.heap.begin.load(std::memory_order_acquire);
  if (heap == 0 || at - heap < uintptr_t{1} << 36) learn_ranges();
  if (host_ranges.heap.has(at) || at - stack_range.low < stack_range.bytes)
    return MemoryKind::kHost;
  for (const HostRanges::AddressRange& range : host_ranges.pinned)
    if (range.has(at)) return MemoryKind::kHost;
  const MemoryKind kind = ask_driver(address);
  if (remembered != nullptr) remembered->kind = kind;
  return kind;
}

}  // namespace detail

CallBuffers::CallBuffers(const void* one, const void* other) noexcept
    : outer_(detail::call_buffers) {
  known_[0].address = one;
  known_[1].address = other;
  detail::call_buffers = this;
}

CallBuffers::~CallBuffers() { detail::call_buffers = outer_; }

CallBuffers::KnownBuffer* CallBuffers::find(const void* address) noexcept {
  if (detail::call_buffers == nullptr) return nullptr;
  for (KnownBuffer& one : detail::call_buffers->known_)
    if (one.address == address && address != nullptr) return &one;
  return nullptr;
}

namespace {

std::mutex pinned_mutex;

}  // namespace

// A reader may see a place's address and a later length, so a place keeps its address forever.
void know_pinned(const void* begin, size_t bytes) noexcept {
  const std::lock_guard<std::mutex> guard(pinned_mutex);
  const auto at = reinterpret_cast<uintptr_t>(begin);
  for (detail::HostRanges::AddressRange& range : detail::host_ranges.pinned) {
    if (range.begin != 0 && range.begin != at) continue;
    range.begin.store(at, std::memory_order_release);
    range.bytes.store(bytes, std::memory_order_release);
    return;
  }
}

void forget_pinned(const void* begin) noexcept {
  const std::lock_guard<std::mutex> guard(pinned_mutex);
  for (detail::HostRanges::AddressRange& range : detail::host_ranges.pinned)
    if (range.begin == reinterpret_cast<uintptr_t>(begin))
      range.bytes.store(0, std::memory_order_release);
}

Memory look_up(const void* address) noexcept {
  CallBuffers::KnownBuffer* const remembered = CallBuffers::find(address);
  if (remembered == nullptr) return detail::ask_all(address);
  if (remembered->looked_up) return remembered->memory;
  remembered->memory = detail::ask_all(address);
  remembered->looked_up = true;
  return remembered->memory;
}

namespace detail {
namespace {

Memory ask_all(const void* address) noexcept {
  Memory memory;
  const Driver* const known = detail::driver_to_ask();
  if (known == nullptr || address == nullptr) return memory;
  unsigned int type = 0;
  int managed = 0, legacy = 0;
  CUmemoryPool pool = nullptr;
  CUdeviceptr base = 0;
  std::array<CUpointer_attribute, 9> names = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_CONTEXT,        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_BUFFER_ID,      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE,     CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
  };
  std::array<void*, 9> values = {&type,          &managed,          &memory.context,
                                 &memory.device, &memory.buffer_id, &base,
                                 &memory.bytes,  &legacy,           &pool};
  if (known->cuPointerGetAttributes(names.size(), names.data(), values.data(),
                                    reinterpret_cast<CUdeviceptr>(address)) != CUDA_SUCCESS)
    return memory;
  memory.kind = managed != 0                   ? MemoryKind::kManaged
                : type == CU_MEMORYTYPE_DEVICE ? MemoryKind::kDevice
                                               : MemoryKind::kHost;
  memory.base = base;
  memory.legacy_ipc = legacy != 0;
  memory.pooled = pool != nullptr;
  return memory;
}

}  // namespace
}  // namespace detail

// The usual attributes may cover a whole reservation with several mappings.
Memory mapping_at(uintptr_t address) noexcept {
  Memory memory = look_up(reinterpret_cast<void*>(address));
  const Driver* const known = driver();
  if (known == nullptr || memory.kind != MemoryKind::kDevice || memory.legacy_ipc || memory.pooled)
    return memory;
  CUdeviceptr base = 0;
  size_t bytes = 0;
  uint64_t id = 0;
  std::array<CUpointer_attribute, 3> names = {CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                              CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
                                              CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID};
  std::array<void*, 3> values = {&base, &bytes, &id};
  if (known->cuPointerGetAttributes(names.size(), names.data(), values.data(), address) !=
          CUDA_SUCCESS ||
      address - base >= bytes || id == 0)
    return memory;
  memory.base = base;
  memory.bytes = bytes;
  memory.buffer_id = id;
  memory.id_kind = IdKind::kBlock;
  return memory;
}

}  // namespace tern::cuda

// SPDX-License-Identifier: Apache-2.0
// A preloaded library: the program's malloc and new return device memory.
//
// Why: the unchanged tests of tests/mpi also cover device memory. Static data, stacks and libraries
// keep host memory, so kinds mix. GPU_HEAP selects `managed`, or `device` on a machine with
// processor access (SOFTCUDA_OPEN). At exit the library appends the numbers of allocations, copies
// and kernels to GPU_HEAP_LOG. Sanitizers are excluded, because other allocations use glibc's
// internal names.
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <new>

#include "cuda/types.hpp"

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);
}

namespace {

struct Head {
  uint64_t magic;
  size_t bytes;
  size_t whole;
  void* place;
  Head* next;
};
constexpr uint64_t kTaken = 0x7465'726e'6865'6170, kFree = 0x7465'726e'6672'6565;
constexpr size_t kBlock = size_t{32} << 20, kSmallest = 128;
constexpr int kMostBlocks = 4096;

struct Block {
  std::atomic<uintptr_t> begin{0}, bytes{0};
};
constinit std::mutex mutex;  // guards all below but the blocks, which readers see during a fill
constinit Block blocks[kMostBlocks];
constinit std::atomic<int> block_count{0};
constinit Head* free_places[64];
constinit uintptr_t room = 0, room_end = 0;
constinit std::atomic<unsigned long> allocations{0};
constinit thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

[[noreturn]] void give_up(const char* what, const void* where) {
  char text[200];
  const int length =
      snprintf(text, sizeof text, "tests/gpu/heap: %s (%p, process %d)\n", what, where, getpid());
  if (write(STDERR_FILENO, text, static_cast<size_t>(length)) != length) _exit(98);
  abort();
}

struct Driver {
  void* library;
  template <class... T>
  void call(const char* name, T... values) const {
    const auto function = reinterpret_cast<CUresult (*)(T...)>(dlsym(library, name));
    if (function == nullptr || function(values...) != CUDA_SUCCESS) give_up(name, library);
  }
};

// Like the runtime, the first allocating thread makes the primary context current.
const Driver& driver() {
  static const Driver found = [] {
    const Driver one{dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)};
    if (one.library == nullptr) give_up(dlerror(), nullptr);
    const char* const twin = getenv("GPU_TWIN");
    const bool soft = dlsym(one.library, "softcuda_marker") != nullptr;
    if (twin != nullptr && soft != (strcmp(twin, "soft") == 0))
      give_up("another twin's driver", nullptr);
    int devices = 0;
    CUcontext context = nullptr;
    const char* const rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    one.call("cuInit", 0U);
    one.call("cuDeviceGetCount", &devices);
    one.call("cuDevicePrimaryCtxRetain", &context, (rank != nullptr ? atoi(rank) : 0) % devices);
    one.call("cuCtxSetCurrent", context);
    return one;
  }();
  return found;
}

uintptr_t take_block(size_t bytes) {
  static const bool managed = strcmp(getenv("GPU_HEAP"), "managed") == 0;
  static CUcontext context = [] {
    CUcontext current = nullptr;
    driver().call("cuCtxGetCurrent", &current);
    return current;
  }();
  CUdeviceptr address = 0;
  driver().call("cuCtxPushCurrent_v2", context);
  if (managed)
    driver().call("cuMemAllocManaged", &address, bytes, unsigned{CU_MEM_ATTACH_GLOBAL});
  else
    driver().call("cuMemAlloc_v2", &address, bytes);
  driver().call("cuCtxPopCurrent_v2", static_cast<CUcontext*>(nullptr));
  const int place = block_count.load();
  if (place == kMostBlocks) give_up("too many large allocations", nullptr);
  blocks[place].begin = address;
  blocks[place].bytes = bytes;
  block_count = place + 1;
  return address;
}

bool is_mine(const void* memory) {
  const auto at = reinterpret_cast<uintptr_t>(memory);
  const int count = block_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i)
    if (at - blocks[i].begin.load(std::memory_order_relaxed) <
        blocks[i].bytes.load(std::memory_order_relaxed))
      return true;
  return false;
}

// Sizes are powers of two. Free places are kept.
void* take_place(size_t whole) {
  Head*& first = free_places[std::countr_zero(whole)];
  if (Head* const found = first) {
    if (found->magic != kFree) give_up("freed memory was written", found + 1);
    first = found->next;
    return found->place;
  }
  if (whole >= kBlock) return reinterpret_cast<void*>(take_block(whole));
  if (room_end - room < whole) {
    room = take_block(kBlock);
    room_end = room + kBlock;
  }
  room += whole;
  return reinterpret_cast<void*>(room - whole);
}

void* take(size_t bytes, size_t alignment = 64) {
  alignment = alignment < 64 ? 64 : alignment;
  if (bytes > SIZE_MAX / 4) return errno = ENOMEM, nullptr;
  const size_t needed = bytes + sizeof(Head) + alignment;
  const size_t whole = std::bit_ceil(needed < kSmallest ? kSmallest : needed);
  const std::lock_guard<std::mutex> lock(mutex);
  inside = true;
  void* const place = take_place(whole);
  inside = false;
  const uintptr_t first = reinterpret_cast<uintptr_t>(place) + sizeof(Head);
  const uintptr_t at = (first + alignment - 1) / alignment * alignment;
  Head* const head = reinterpret_cast<Head*>(at) - 1;
  *head = {kTaken, bytes, whole, place, nullptr};
  ++allocations;
  return reinterpret_cast<void*>(at);
}

Head* head_of(void* memory) {
  Head* const head = static_cast<Head*>(memory) - 1;
  if (head->magic != kTaken) give_up("no allocation, freed, or written below its begin", memory);
  return head;
}

void give(void* memory) {
  Head* const head = head_of(memory);
  memset(memory, 0xA5, head->bytes < 256 ? head->bytes : 256);
  const std::lock_guard<std::mutex> lock(mutex);
  Head*& first = free_places[std::countr_zero(head->whole)];
  head->magic = kFree;
  head->next = first;
  first = head;
}

struct Range {
  uintptr_t begin = UINTPTR_MAX, end = 0;
};
Range find_program() {
  Range found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        auto& range = *static_cast<Range*>(result);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          const uintptr_t begin = info->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
          if (part.p_type != PT_LOAD) continue;
          range.begin = begin < range.begin ? begin : range.begin;
          range.end = end > range.end ? end : range.end;
        }
        return 1;
      },
      &found);
  return found;
}

bool is_for_program(const void* caller) {
  static constinit std::atomic<uintptr_t> begin{0}, end{0};
  if (inside) return false;
  if (end.load(std::memory_order_acquire) == 0) {
    const Range found = getenv("GPU_HEAP") != nullptr ? find_program() : Range{1, 1};
    begin = found.begin;
    end = found.end;
  }
  const auto at = reinterpret_cast<uintptr_t>(caller);
  return at >= begin && at < end;
}

unsigned long long calls_of(const char* function) {
  const auto count =
      reinterpret_cast<unsigned long long (*)(const char*)>(dlsym(RTLD_DEFAULT, "softcuda_calls"));
  return count == nullptr ? 0 : count(function);
}

[[gnu::destructor]] void tell() {
  const char* const path = getenv("GPU_HEAP_LOG");
  FILE* const log = path == nullptr ? nullptr : fopen(path, "ae");
  if (log == nullptr) return;
  const unsigned long long copies = calls_of("cuMemcpyAsync") + calls_of("cuMemcpyDtoHAsync_v2") +
                                    calls_of("cuMemcpyDtoDAsync_v2") +
                                    calls_of("cuMemcpyHtoDAsync_v2") +
                                    calls_of("cuMemcpy2DAsync_v2");
  fprintf(log, "%lu %llu %llu\n", allocations.load(), copies, calls_of("cuLaunchKernel"));
  fclose(log);
}

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {

void* malloc(size_t bytes) { return is_for_program(CALLER) ? take(bytes) : __libc_malloc(bytes); }

void free(void* memory) {
  if (memory != nullptr && is_mine(memory)) return give(memory);
  __libc_free(memory);
}

void* calloc(size_t count, size_t bytes) {
  if (!is_for_program(CALLER)) return __libc_calloc(count, bytes);
  if (bytes != 0 && count > SIZE_MAX / bytes) return errno = ENOMEM, nullptr;
  void* const memory = take(count * bytes);
  return memory == nullptr ? nullptr : memset(memory, 0, count * bytes);
}

void* realloc(void* memory, size_t bytes) {
  const bool mine = memory != nullptr && is_mine(memory);
  if (!mine && (memory != nullptr || !is_for_program(CALLER))) return __libc_realloc(memory, bytes);
  void* const larger = take(bytes);
  if (!mine || larger == nullptr) return larger;
  const size_t kept = head_of(memory)->bytes;
  memcpy(larger, memory, kept < bytes ? kept : bytes);
  give(memory);
  return larger;
}

void* memalign(size_t alignment, size_t bytes) {
  return is_for_program(CALLER) ? take(bytes, alignment) : __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  return is_for_program(CALLER) ? take(bytes, alignment) : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  void* const made =
      is_for_program(CALLER) ? take(bytes, alignment) : __libc_memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}

}  // extern "C"

void* operator new(size_t bytes) {
  void* const made = is_for_program(CALLER) ? take(bytes) : __libc_malloc(bytes == 0 ? 1 : bytes);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

void* operator new[](size_t bytes) {
  void* const made = is_for_program(CALLER) ? take(bytes) : __libc_malloc(bytes == 0 ? 1 : bytes);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

// SPDX-License-Identifier: Apache-2.0
// Fibers: the switch (x86-64 and AArch64), stacks, annotations for sanitizers.
#include "tests/softcuda/shim/fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

// The functions are null without TSan.
extern "C" {
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void __tsan_acquire(void* place);
[[gnu::weak]] void __tsan_release(void* place);
[[gnu::weak]] void AnnotateIgnoreReadsBegin(const char* file, int line);
[[gnu::weak]] void AnnotateIgnoreReadsEnd(const char* file, int line);
[[gnu::weak]] void AnnotateIgnoreWritesBegin(const char* file, int line);
[[gnu::weak]] void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define TERN_FIBER_ASAN 1
#endif

// tern_fiber_switch() saves the callee-saved registers and the stack pointer in *save, and restores
// `to`.
extern "C" void tern_fiber_switch(void** save, void* to);
#if defined(__x86_64__)
asm(R"(
  .text
  .hidden tern_fiber_switch
  .globl tern_fiber_switch
  .type tern_fiber_switch, @function
tern_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size tern_fiber_switch, .-tern_fiber_switch
  .hidden tern_fiber_first
  .globl tern_fiber_first
tern_fiber_first:
  movq %rbx, %rdi
  xorl %ebp, %ebp
  call *%r12
  ud2
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .hidden tern_fiber_switch
  .globl tern_fiber_switch
tern_fiber_switch:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .hidden tern_fiber_first
  .globl tern_fiber_first
tern_fiber_first:
  mov x0, x19
  blr x20
  brk #0
)");
#else
#error "fibers lack a switch for this processor"
#endif
extern "C" void tern_fiber_first();

namespace tern::softcuda {
namespace {

constexpr size_t kStack = size_t{128} << 10;
constexpr unsigned kNoOrder = 1;

uintptr_t as_word(void (*function)()) noexcept { return reinterpret_cast<uintptr_t>(function); }

}  // namespace

bool tsan() noexcept { return __tsan_create_fiber != nullptr; }
void tsan_release(void* place) noexcept {
  if (tsan()) __tsan_release(place);
}
void tsan_acquire(void* place) noexcept {
  if (tsan()) __tsan_acquire(place);
}

TsanLooksAway::TsanLooksAway() noexcept {
  if (!tsan()) return;
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
TsanLooksAway::~TsanLooksAway() {
  if (!tsan()) return;
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

Fiber::Fiber()
    : stack_(mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
  if (tsan()) tsan_fiber_ = __tsan_create_fiber(0);
}

Fiber::~Fiber() {
  if (tsan()) __tsan_destroy_fiber(tsan_fiber_);
  munmap(stack_, kStack);
}

void Fiber::start(Entry entry, void* argument) noexcept {
  entry_ = entry;
  argument_ = argument;
  fake_fiber_ = nullptr;
  auto* top = reinterpret_cast<uintptr_t*>(static_cast<char*>(stack_) + kStack);
  const auto first = as_word(&tern_fiber_first), body = reinterpret_cast<uintptr_t>(&begin);
  const auto self = reinterpret_cast<uintptr_t>(this);
#if defined(__x86_64__)
  top -= 7;  // r15 r14 r13 r12 rbx rbp, return address
  for (int i = 0; i < 7; ++i) top[i] = 0;
  top[3] = body;
  top[4] = self;
  top[6] = first;
#else
  top -= 20;  // x19 x20 ... x29 x30 d8 ... d15
  for (int i = 0; i < 20; ++i) top[i] = 0;
  top[0] = self;
  top[1] = body;
  top[11] = first;
#endif
  fiber_stack_pointer_ = top;
}

void Fiber::begin(Fiber* fiber) {
#if defined(TERN_FIBER_ASAN)
  __sanitizer_finish_switch_fiber(fiber->fake_fiber_, &fiber->outer_stack_, &fiber->outer_bytes_);
#endif
  fiber->entry_(fiber->argument_);
  std::abort();
}

void Fiber::resume() noexcept {
  if (tsan()) {
    tsan_outer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_fiber_, kNoOrder);
  }
#if defined(TERN_FIBER_ASAN)
  __sanitizer_start_switch_fiber(&fake_outer_, stack_, kStack);
#endif
  tern_fiber_switch(&outer_stack_pointer_, fiber_stack_pointer_);
#if defined(TERN_FIBER_ASAN)
  __sanitizer_finish_switch_fiber(fake_outer_, nullptr, nullptr);
#endif
}

void Fiber::leave() noexcept {
  if (tsan()) __tsan_switch_to_fiber(tsan_outer_, kNoOrder);
#if defined(TERN_FIBER_ASAN)
  __sanitizer_start_switch_fiber(&fake_fiber_, outer_stack_, outer_bytes_);
#endif
  tern_fiber_switch(&fiber_stack_pointer_, outer_stack_pointer_);
#if defined(TERN_FIBER_ASAN)
  __sanitizer_finish_switch_fiber(fake_fiber_, &outer_stack_, &outer_bytes_);
#endif
}

}  // namespace tern::softcuda

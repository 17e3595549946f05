// SPDX-License-Identifier: Apache-2.0
#include "base/fate.hpp"

#include <new>

namespace tern {
namespace {

constexpr char kNoReason[] = "no memory to keep the reason";

struct Kept : Failure {
  uintptr_t former = 0;  // an overruled state, which other threads may read
};

const Kept* kept_in(uintptr_t state) noexcept {
  return (state & 1) != 0 ? nullptr : reinterpret_cast<const Kept*>(state);
}

int class_in(uintptr_t state) noexcept {
  const Kept* const kept = kept_in(state);
  return kept != nullptr ? kept->code : static_cast<int>(state >> 1);
}

const char* reason_in(uintptr_t state) noexcept {
  if (class_in(state) == 0) return "";
  const Kept* const kept = kept_in(state);
  return kept != nullptr && !kept->text.empty() ? kept->text.c_str() : kNoReason;
}

/// Returns a state; without memory, the class alone.
uintptr_t copy_of(const Failure& why, uintptr_t former) noexcept {
  auto* const made = new (std::nothrow) Kept{{why.code, {}}, former};
  if (made == nullptr) return static_cast<uintptr_t>(why.code) << 1 | 1;
  try {
    made->text = why.text;
  } catch (const std::bad_alloc&) {  // keeps only the class
  }
  return reinterpret_cast<uintptr_t>(made);
}

}  // namespace

void Fate::forget(uintptr_t state) noexcept {
  while (const Kept* const kept = kept_in(state)) {
    state = kept->former;
    delete kept;
    if (state == 0) return;
  }
}

bool Fate::end(const Failure& why) noexcept {
  const uintptr_t made = copy_of(why, 0);
  uintptr_t before = kAlive;
  if (std::atomic_ref<uintptr_t>(state_).compare_exchange_strong(before, made,
                                                                 std::memory_order_acq_rel))
    return true;
  forget(made);
  return false;
}

void Fate::overrule(const Failure& why) noexcept {
  if (end(why)) return;
  const uintptr_t former = load();
  std::atomic_ref<uintptr_t>(state_).store(copy_of(why, former), std::memory_order_release);
}

int Fate::code() const noexcept { return class_in(load()); }

const char* Fate::why() const noexcept { return reason_in(load()); }

Failure Fate::reason() const noexcept { return dead() ? failure(code(), "%s", why()) : Failure{}; }

int Fate::fail() const noexcept { return dead() ? tern::fail(code(), "%s", why()) : 0; }

Failure Fate::take() noexcept {
  const uintptr_t state =
      std::atomic_ref<uintptr_t>(state_).exchange(kAlive, std::memory_order_acq_rel);
  if (state == kAlive) return {};
  Failure taken = failure(class_in(state), "%s", reason_in(state));
  forget(state);
  return taken;
}

}  // namespace tern

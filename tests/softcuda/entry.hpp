// SPDX-License-Identifier: Apache-2.0
// The entry of each function: trace, failures, rules.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cuda/api.hpp"

namespace softcuda {

enum Needs : unsigned {
  kContext = 0,
  kDriver = 1,
  kNothing = 2,
  kUncaptured = 4,
};

class Function {
 public:
  explicit Function(const char* name);
  const char* const name;
  std::atomic<uint64_t> calls{0};
};

CUresult enter_with(Function& function, unsigned needs, const uint64_t* words, int count);

template <class T>
uint64_t traced(T value) {
  if constexpr (__is_class(T))
    return 0;
  else if constexpr (__is_enum(T))
    return static_cast<uint64_t>(value);
  else
    return (uint64_t)value;
}

template <class... T>
CUresult enter(Function& function, unsigned needs, T... values) {
  const uint64_t words[sizeof...(T) + 1] = {traced(values)...};
  return enter_with(function, needs, words, static_cast<int>(sizeof...(T)));
}

/// Each exported function begins with SOFTCUDA_ENTER and arguments for the trace.
#define SOFTCUDA_ENTER(...)                                   \
  static auto& function_ = *new softcuda::Function(__func__); \
  if (const CUresult refused = softcuda::enter(function_, __VA_ARGS__)) return refused

CUresult late_fault();

/// called_function() names this thread's last driver function. Null in driver threads.
const char* called_function();

/// HostFunctionScope forbids driver calls in a cuLaunchHostFunc function.
struct HostFunctionScope {
  HostFunctionScope();
  ~HostFunctionScope();
};

bool exiting();
/// Objects stay forever, so a stale handle is an error and no sanitizer reports a leak.
template <class T>
T* make_for_ever() {
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::vector<T*>;
  std::lock_guard lock(mutex);
  return all.emplace_back(new T);
}

std::atomic<int64_t>& live(const char* kind);

}  // namespace softcuda

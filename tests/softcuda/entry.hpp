// SPDX-License-Identifier: Apache-2.0
// The entry of each function: trace, failures, and rules (initialization, fork, host functions,
// contexts, captures).
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cuda/api.hpp"

namespace softcuda {

/// Requirements of a function.
enum Needs : unsigned {
  kContext = 0,     // a current context without a sticky error
  kDriver = 1,      // cuInit
  kNothing = 2,     // not even cuInit
  kUncaptured = 4,  // no capture of global mode
};

/// An exported function, made at its first call.
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

/// First statement of each exported function. The arguments appear in the trace.
#define SOFTCUDA_ENTER(...)                                   \
  static auto& function_ = *new softcuda::Function(__func__); \
  if (const CUresult refused = softcuda::enter(function_, __VA_ARGS__)) return refused

/// The requested late failure of this thread's current call, for its work.
CUresult late_fault();

/// The driver function that this thread called last. Null in threads of the driver.
const char* called_function();

/// Marks this thread as running a cuLaunchHostFunc function, which must not call the driver.
struct HostFunctionScope {
  HostFunctionScope();
  ~HostFunctionScope();
};

/// Whether the process is exiting.
bool exiting();
/// Keeps the object forever, so that a stale handle is an error and no leak.
template <class T>
T* make_for_ever() {
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::vector<T*>;
  std::lock_guard lock(mutex);
  return all.emplace_back(new T);
}

/// Counts live objects for softcuda_live("streams").
std::atomic<int64_t>& live(const char* kind);

}  // namespace softcuda

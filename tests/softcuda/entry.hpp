// SPDX-License-Identifier: Apache-2.0
// What every function of the software driver does first: trace, faults, and whether it may be
// called at all (initialised, forked, in a host function, with a context, during a capture).
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cuda/api.hpp"

namespace softcuda {

/// Of a function: what it needs.
enum Needs : unsigned {
  kContext = 0,     // a current context without a sticky error
  kDriver = 1,      // cuInit
  kNothing = 2,     // not even that
  kUncaptured = 4,  // not while a capture of global mode is under way
};

/// One exported function; each is made at its first call.
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

/// At the top of each exported function. Names the arguments that the trace shows.
#define SOFTCUDA_ENTER(...)                                   \
  static auto& function_ = *new softcuda::Function(__func__); \
  if (const CUresult refused = softcuda::enter(function_, __VA_ARGS__)) return refused

/// Whether a failure that was asked for is to come when the work is done, not at the call; of the
/// call under way in this thread.
CUresult late_fault();

/// The function of the driver that this thread called last; null in a thread of the driver's.
const char* called_function();

/// While it lives, this thread runs a function of cuLaunchHostFunc: no driver call is allowed.
struct HostFunctionScope {
  HostFunctionScope();
  ~HostFunctionScope();
};

/// Whether the process is ending, so that no work matters any more.
bool exiting();
/// Made once and kept: a caller with a stale handle gets an error, and no leak is seen.
template <class T>
T* make_for_ever() {
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::vector<T*>;
  std::lock_guard lock(mutex);
  return all.emplace_back(new T);
}

/// Counts live things of a kind for tests: softcuda_live("streams").
std::atomic<int64_t>& live(const char* kind);

}  // namespace softcuda

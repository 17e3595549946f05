// SPDX-License-Identifier: Apache-2.0
// Contexts: the primary one of each device, those that programs make, and each thread's stack.
#pragma once
#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include "cuda/api.hpp"
#include "entry.hpp"

/// A context is never freed, so that a stale handle is an error and not a crash. That of a device's
/// primary one comes back with another id.
struct CUctx_st {
  int ordinal = 0;
  int physical = 0;
  bool primary = false;
  // Of a green context: its multiprocessors; 0: all of the device.
  unsigned first_processor = 0, processors = 0;
  std::atomic<unsigned> flags{0};
  std::atomic<unsigned long long> id{0};
  std::atomic<bool> alive{false};
  std::atomic<int> sticky{0};
  int retained = 0;
  std::set<CUcontext> peers;
  std::set<CUstream> streams;  // all, the legacy one too
  CUstream legacy = nullptr;
};

namespace softcuda {

/// Guards tables and contexts; never held while something is waited for.
std::mutex& table_mutex();

CUcontext current_context();
/// CUDA_SUCCESS, or why nothing can be done in it.
CUresult state_of(CUcontext context);
/// Of a failure that ends a context: nothing works in it from then on.
bool is_sticky(CUresult error);
void poison_context(CUcontext context, CUresult error);
/// All contexts that have ever been.
std::vector<CUcontext> contexts();
CUcontext primary_of(int ordinal);
/// One that a program makes; and its end, with all in it.
CUcontext make_context(int ordinal);
void end_context(CUcontext context);
/// -1 for an ordinal that no device has.
int physical_of(int ordinal);
/// Of the machine's device in this process, or -1 where it is not visible.
int ordinal_of(int physical);

}  // namespace softcuda

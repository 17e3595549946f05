// SPDX-License-Identifier: Apache-2.0
// Contexts: primary contexts, contexts of programs, stacks of threads.
#pragma once
#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include "cuda/api.hpp"
#include "entry.hpp"

/// A context is never freed, so a stale handle is an error. A primary context returns with a new
/// id.
struct CUctx_st {
  int ordinal = 0;
  int physical = 0;
  bool primary = false;
  // Multiprocessors of a green context; 0: the whole device.
  unsigned first_processor = 0, processors = 0;
  std::atomic<unsigned> flags{0};
  std::atomic<unsigned long long> id{0};
  std::atomic<bool> alive{false};
  std::atomic<int> sticky{0};
  int retained = 0;
  std::set<CUcontext> peers;
  std::set<CUstream> streams;
  CUstream legacy = nullptr;
};

namespace softcuda {

/// table_mutex guards tables and contexts. No thread holds the mutex during a wait.
std::mutex& table_mutex();

CUcontext current_context();
CUresult state_of(CUcontext context);
bool is_sticky(CUresult error);
void poison_context(CUcontext context, CUresult error);
std::vector<CUcontext> contexts();
CUcontext primary_of(int ordinal);
CUcontext make_context(int ordinal);
void end_context(CUcontext context);
/// physical_of() returns -1 for an invalid ordinal.
int physical_of(int ordinal);
/// ordinal_of() returns -1 if the device is hidden.
int ordinal_of(int physical);

}  // namespace softcuda

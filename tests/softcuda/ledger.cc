// SPDX-License-Identifier: Apache-2.0
// Counts of calls, and modelled time.
#include "ledger.hpp"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "config.hpp"
#include "control.h"

namespace softcuda {
namespace {

struct CallKind {
  const char* name;
  const char* begins;
};

// The first matching prefix counts.
constexpr CallKind kCallKinds[] = {
    {"copy", "cuMemcpy"},
    {"copy", "cuMemset"},
    {"launch", "cuLaunch"},
    {"launch", "cuGraphLaunch"},
    {"operation", "cuStreamWaitValue"},
    {"operation", "cuStreamWriteValue"},
    {"operation", "cuStreamBatchMemOp"},
    {"event", "cuEventRecord"},
    {"event", "cuStreamWaitEvent"},
    {"sync", "cuStreamSynchronize"},
    {"sync", "cuEventSynchronize"},
    {"sync", "cuCtxSynchronize"},
    {"import", "cuIpcOpen"},
    {"import", "cuMemImport"},
    {"import", "cuMemMap"},
    {"import", "cuMemSetAccess"},
    {"ask", "cuMemGet"},
    {"memory", "cuMem"},
    {"memory", "cuIpc"},
    {"make", "cuStreamCreate"},
    {"make", "cuStreamDestroy"},
    {"make", "cuEventCreate"},
    {"make", "cuEventDestroy"},
    {"make", "cuGraph"},
    {"make", "cuLibrary"},
    {"make", "cuFuncLoad"},
};
constexpr const char* kCallKindNames[] = {"copy",   "launch", "operation", "event", "sync",
                                          "import", "memory", "make",      "ask"};

const char* kind_of(const char* function) {
  for (const CallKind& kind : kCallKinds)
    if (strncmp(function, kind.begins, strlen(kind.begins)) == 0) return kind.name;
  return "ask";
}

unsigned long long calls_of_kind(const char* kind) {
  unsigned long long sum = 0;
  for (unsigned i = 0; const char* const name = softcuda_function(i); ++i)
    if (strcmp(kind_of(name), kind) == 0) sum += softcuda_calls(name);
  return sum;
}

std::atomic<unsigned long long> copies_begun{0}, kernels_begun{0}, waits_begun{0};

double on_processor() {
  const auto& cost = config().costs;
  double sum = 0;
  for (const char* kind : kCallKindNames) {
    const double each = strcmp(kind, "ask") == 0    ? cost.ask
                        : strcmp(kind, "sync") == 0 ? cost.call + cost.sync
                                                    : cost.call;
    sum += each * static_cast<double>(calls_of_kind(kind));
  }
  return sum;
}

double on_device() {
  const auto& cost = config().costs;
  return cost.copy * static_cast<double>(copies_begun) +
         cost.kernel * static_cast<double>(kernels_begun) +
         cost.wait * static_cast<double>(waits_begun);
}

}  // namespace

void charge(const Starts& starts) {
  copies_begun.fetch_add(starts.copies, std::memory_order_relaxed);
  kernels_begun.fetch_add(starts.kernels, std::memory_order_relaxed);
  waits_begun.fetch_add(starts.waits, std::memory_order_relaxed);
}

void write_ledger() {
  const std::string& where = config().ledger;
  FILE* const file =
      where == "1" ? stderr : fopen((where + "." + std::to_string(getpid())).c_str(), "we");
  if (file == nullptr) give_up("SOFTCUDA_LEDGER=%s: cannot be written", where.c_str());
  const auto& cost = config().costs;
  std::string text;
  for (const char* kind : kCallKindNames)
    text += std::string(" ") + kind + " " + std::to_string(calls_of_kind(kind));
  fprintf(file, "softcuda[%d]: calls:%s\n", getpid(), text.c_str());
  for (unsigned i = 0; const char* const name = softcuda_function(i); ++i)
    fprintf(file, "softcuda[%d]:   %-9s %8llu %s\n", getpid(), kind_of(name), softcuda_calls(name),
            name);
  fprintf(file, "softcuda[%d]: starts on the device: copies %llu, kernels %llu, waits %llu\n",
          getpid(), copies_begun.load(), kernels_begun.load(), waits_begun.load());
  fprintf(file,
          "softcuda[%d]: modelled, not measured: %.1f us of the processor (a question %g us, a "
          "call %g us, a wait for the device %g us more), %.1f us of the device (a copy %g us, a "
          "kernel %g us, a wait %g us)\n",
          getpid(), on_processor(), cost.ask, cost.call, cost.sync, on_device(), cost.copy,
          cost.kernel, cost.wait);
  if (file == stderr)
    fflush(file);
  else
    fclose(file);
}

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

unsigned long long softcuda_calls_of_kind(const char* kind) { return calls_of_kind(kind); }

unsigned long long softcuda_starts(const char* kind) {
  return strcmp(kind, "copies") == 0    ? copies_begun.load()
         : strcmp(kind, "kernels") == 0 ? kernels_begun.load()
         : strcmp(kind, "waits") == 0   ? waits_begun.load()
                                        : 0;
}

double softcuda_modelled(const char* where) {
  return strcmp(where, "processor") == 0 ? on_processor() : on_device();
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
// The entry of each function: counts, trace, failures, rules.
#include "entry.hpp"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "capture.hpp"
#include "config.hpp"
#include "context.hpp"
#include "control.h"
#include "ledger.hpp"
#include "stream.hpp"

namespace softcuda {
namespace {

enum Life : int { kUnborn, kAlive, kForked, kExiting };
std::atomic<int> life{kUnborn};
thread_local bool in_host_function = false;
thread_local CUresult late = CUDA_SUCCESS;
thread_local const char* called = nullptr;

struct Fault {
  std::string function;
  uint64_t call;
  CUresult error;
  bool late;
};

struct Book {
  std::mutex mutex;
  std::vector<Function*> functions;
  std::vector<Fault> faults;
  std::map<std::string, std::atomic<int64_t>> live;
};
Book& book() {
  static Book& made = *new Book;
  return made;
}
std::atomic<bool> any_fault{false};

uint64_t calls_of(const std::string& name) {
  for (const Function* function : book().functions)
    if (name == function->name) return function->calls.load();
  return 0;
}

// Rows are "cuMemcpyAsync:3:700[:late]", with commas.
void ask_for(const std::string& rows) {
  std::lock_guard lock(book().mutex);
  if (rows.empty()) book().faults.clear();
  std::stringstream list(rows);
  for (std::string row; std::getline(list, row, ',');) {
    std::stringstream words(row);
    std::string name, call, error, when;
    std::getline(words, name, ':');
    std::getline(words, call, ':');
    std::getline(words, error, ':');
    std::getline(words, when, ':');
    const uint64_t number = strtoull(call.c_str(), nullptr, 10);
    const int code = atoi(error.c_str());
    if (name.rfind("cu", 0) != 0 || number == 0 || code <= 0 || !(when.empty() || when == "late"))
      give_up(
          "fault \"%s\": expected FUNCTION:CALL:CODE or FUNCTION:CALL:CODE:late, such as "
          "cuMemcpyAsync:3:700",
          row.c_str());
    book().faults.push_back(
        {name, calls_of(name) + number, static_cast<CUresult>(code), when == "late"});
  }
  any_fault.store(!book().faults.empty());
}

CUresult fault_of(const Function& function, uint64_t call) {
  if (!any_fault.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  std::lock_guard lock(book().mutex);
  for (const Fault& fault : book().faults)
    if (fault.call == call && fault.function == function.name) {
      if (!fault.late) return fault.error;
      late = fault.error;
    }
  return CUDA_SUCCESS;
}

FILE* trace_file() {
  static FILE* file = []() -> FILE* {
    const std::string& where = config().trace;
    if (where.empty()) return nullptr;
    if (where == "1") return stderr;
    FILE* opened = fopen((where + "." + std::to_string(getpid())).c_str(), "we");
    if (opened == nullptr) give_up("SOFTCUDA_TRACE=%s: cannot be written", where.c_str());
    return opened;
  }();
  return file;
}

void trace(const Function& function, const uint64_t* words, int count) {
  FILE* file = trace_file();
  if (file == nullptr) return;
  std::string text;
  for (int i = 0; i < count; ++i) {
    char word[32];
    snprintf(word, sizeof word, words[i] < 1u << 24 ? "%s%llu" : "%s0x%llx", i ? ", " : "",
             static_cast<unsigned long long>(words[i]));
    text += word;
  }
  fprintf(file, "softcuda[%d.%ld] %s(%s)\n", getpid(), syscall(SYS_gettid), function.name,
          text.c_str());
  fflush(file);
}

CUresult allowed(unsigned needs) {
  if (needs & kNothing) return CUDA_SUCCESS;
  switch (life.load(std::memory_order_acquire)) {
    case kAlive:
      break;
    case kExiting:
      return CUDA_ERROR_DEINITIALIZED;
    default:
      return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  if ((needs & kUncaptured) && forbidden_by_capture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (needs & kDriver) return CUDA_SUCCESS;
  const CUcontext context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return state_of(context);
}

}  // namespace

Function::Function(const char* called) : name(called) {
  std::lock_guard lock(book().mutex);
  book().functions.push_back(this);
}

CUresult enter_with(Function& function, unsigned needs, const uint64_t* words, int count) {
  const uint64_t call = function.calls.fetch_add(1, std::memory_order_relaxed) + 1;
  trace(function, words, count);
  late = CUDA_SUCCESS;
  called = function.name;
  if (const CUresult refused = allowed(needs)) return refused;
  const CUresult fault = fault_of(function, call);
  // The caller may free memory after the failure, so pending copies end first.
  if (fault != CUDA_SUCCESS)
    for (CUcontext context : contexts())
      if (context->alive) wait_for_context(context);
  if (is_sticky(fault) && current_context() != nullptr) poison_context(current_context(), fault);
  return fault;
}

CUresult late_fault() { return late; }
const char* called_function() { return called; }
HostFunctionScope::HostFunctionScope() { in_host_function = true; }
HostFunctionScope::~HostFunctionScope() { in_host_function = false; }
bool exiting() { return life.load() == kExiting; }

std::atomic<int64_t>& live(const char* kind) {
  std::lock_guard lock(book().mutex);
  return book().live[kind];
}

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuInit(unsigned Flags) {
  SOFTCUDA_ENTER(kNothing, Flags);
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (life.load() == kExiting) return CUDA_ERROR_DEINITIALIZED;
  if (life.load() == kForked) return CUDA_ERROR_NOT_INITIALIZED;
  if (visible_devices().empty()) return CUDA_ERROR_NO_DEVICE;
  static std::once_flag once;
  std::call_once(once, [] {
    ask_for(config().faults);
    atexit([] {
      if (life.load() == kAlive) life.store(kExiting);
    });
    pthread_atfork(nullptr, nullptr, [] { life.store(kForked); });
    if (!config().ledger.empty()) atexit(write_ledger);
    life.store(kAlive, std::memory_order_release);
  });
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* driverVersion) {
  SOFTCUDA_ENTER(kNothing);
  if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *driverVersion = config().version;
  return CUDA_SUCCESS;
}

const int softcuda_marker = 1;
void softcuda_fault(const char* rows) { ask_for(rows); }
unsigned long long softcuda_calls(const char* function) {
  std::lock_guard lock(book().mutex);
  return calls_of(function);
}
const char* softcuda_function(unsigned n) {
  std::lock_guard lock(book().mutex);
  return n < book().functions.size() ? book().functions[n]->name : nullptr;
}
void* softcuda_bytes(const void* address) {
  return is_device_address(reinterpret_cast<uintptr_t>(address)) ? translate(address) : nullptr;
}
long long softcuda_live(const char* kind) { return live(kind).load(); }

}  // extern "C"

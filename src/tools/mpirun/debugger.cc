// SPDX-License-Identifier: Apache-2.0
// Defines MPIR's variables with the names and types of the standard.
#include "tools/mpirun/debugger.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

// The attribute keeps variables visible to debuggers even in a stripped program.
#define TERN_FOR_DEBUGGERS __attribute__((visibility("default"), used))

enum { kMpirNull = 0, kMpirDebugSpawned = 1, kMpirDebugAborting = 2 };

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

struct MPIR_PROCDESC {
  const char* host_name;
  const char* executable_name;
  int pid;
};

TERN_FOR_DEBUGGERS MPIR_PROCDESC* MPIR_proctable = nullptr;
TERN_FOR_DEBUGGERS int MPIR_proctable_size = 0;
TERN_FOR_DEBUGGERS volatile int MPIR_being_debugged = 0;
TERN_FOR_DEBUGGERS volatile int MPIR_debug_state = kMpirNull;
TERN_FOR_DEBUGGERS const char* MPIR_debug_abort_string = nullptr;
// A debugger tests only the presence of these variables: mpirun is not a rank, and ranks stop
// before main() without a gate.
TERN_FOR_DEBUGGERS int MPIR_i_am_starter = 0;
TERN_FOR_DEBUGGERS int MPIR_partial_attach_ok = 0;
TERN_FOR_DEBUGGERS int MPIR_acquired_pre_main = 0;

TERN_FOR_DEBUGGERS __attribute__((noinline)) void MPIR_Breakpoint() {
  asm volatile("" ::: "memory");
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

namespace tern::mpirun {
namespace {

std::vector<MPIR_PROCDESC> table;
std::deque<std::string> strings;
std::string abort_reason;

// Many ranks run the same program, so each text is kept once.
const char* kept(const std::string& text) {
  const auto found = std::find(strings.rbegin(), strings.rend(), text);
  return found != strings.rend() ? found->c_str() : strings.emplace_back(text).c_str();
}

std::string absolute(const std::string& directory, const std::string& program) {
  if (program[0] == '/') return program;
  const std::string path = directory.empty() ? program : directory + "/" + program;
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         std::free);
  return real != nullptr ? real.get() : path;
}

}  // namespace

bool being_debugged() noexcept { return MPIR_being_debugged != 0; }

void make_debugger_table(int ranks) {
  table.assign(static_cast<std::size_t>(ranks), {"", "", 0});
  MPIR_proctable = table.data();
}

void show_to_debugger(int rank, const std::string& host, const std::string& directory,
                      const std::string& program, pid_t pid) {
  table[static_cast<std::size_t>(rank)] = {kept(host), kept(absolute(directory, program)), pid};
}

void tell_debugger_started() {
  MPIR_proctable_size = static_cast<int>(table.size());
  MPIR_debug_state = kMpirDebugSpawned;
  MPIR_Breakpoint();
}

void tell_debugger_aborting(const std::string& why) {
  abort_reason = why;
  MPIR_debug_abort_string = abort_reason.c_str();
  MPIR_debug_state = kMpirDebugAborting;
  MPIR_Breakpoint();
}

}  // namespace tern::mpirun

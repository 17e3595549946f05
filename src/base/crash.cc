// SPDX-License-Identifier: Apache-2.0
// Crash reports. From on_crash() on, code runs in a signal handler: no heap, no locks of Tern, and
// a timer.
#include "base/crash.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "base/log.hpp"
#include "base/stack.hpp"

namespace tern {
namespace {

constexpr time_t kTimeout = 2;  // seconds; the report may hit a lock or a broken stack
constexpr size_t kStackBytes = 256 * 1024;

struct Signal {
  int number;
  const char* words;
};
constexpr Signal kSignals[] = {{SIGSEGV, "SIGSEGV (segmentation fault)"},
                               {SIGBUS, "SIGBUS (bus error)"},
                               {SIGFPE, "SIGFPE (arithmetic error)"},
                               {SIGILL, "SIGILL (illegal instruction)"},
                               {SIGABRT, "SIGABRT (abort)"}};

std::atomic<pid_t> crashed{0};
std::atomic<int> its_signal{0};

// The C library has gettid() and tgkill() only since 2.30.
pid_t this_thread() noexcept { return static_cast<pid_t>(::syscall(SYS_gettid)); }

void set_default(int signal) noexcept {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
}

void end_by(int signal) noexcept {
  set_default(signal);
  ::syscall(SYS_tgkill, ::getpid(), crashed.load(), signal);
}

void on_time_up(int) {
  log_line("  the rest could not be found in %d seconds", static_cast<int>(kTimeout));
  end_by(its_signal.load());
}

int free_signal() noexcept {
  for (int number = SIGRTMAX; number >= SIGRTMIN; --number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) return number;
  }
  return 0;
}

// Returns a timer, or -1. SIGALRM belongs to the program; the C library's timers may allocate.
int set_clock(time_t seconds) noexcept {
  const int number = free_signal();
  if (number == 0) return -1;
  struct sigaction action {};
  action.sa_handler = on_time_up;
  ::sigaction(number, &action, nullptr);
  sigset_t clock;
  ::sigemptyset(&clock);
  ::sigaddset(&clock, number);
  ::pthread_sigmask(SIG_UNBLOCK, &clock, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = number;
  event._sigev_un._tid = this_thread();
  int timer = 0;
  const itimerspec once{{0, 0}, {seconds, 0}};
  if (::syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return -1;
  ::syscall(SYS_timer_settime, timer, 0, &once, nullptr);
  return timer;
}

const char* words_of(int signal) noexcept {
  for (const Signal& known : kSignals)
    if (known.number == signal) return known.words;
  return "a signal";
}

void write_reason(char* text, size_t bytes, const siginfo_t& info) noexcept {
  const auto address = reinterpret_cast<size_t>(info.si_addr);
  const bool fault = info.si_signo == SIGSEGV || info.si_signo == SIGBUS;
  if (info.si_code <= 0 && info.si_signo != SIGABRT)
    std::snprintf(text, bytes, ", sent by process %d", info.si_pid);
  else if (info.si_signo == SIGSEGV && info.si_code == SEGV_ACCERR)
    std::snprintf(text, bytes, " at address 0x%zx, without permission for this access", address);
  else if (info.si_signo == SIGBUS && info.si_code == BUS_ADRERR)
    std::snprintf(text, bytes,
                  " at address 0x%zx, without memory (a truncated file, or a full memory file "
                  "system: df /dev/shm)",
                  address);
  else if (fault)
    std::snprintf(text, bytes, " at address 0x%zx", address);
  else if (info.si_signo == SIGFPE && info.si_code == FPE_INTDIV)
    std::snprintf(text, bytes, ", an integer divided by zero");
}

class Interrupted {
 public:
  explicit Interrupted(void* context) noexcept
      : machine_(static_cast<ucontext_t*>(context)->uc_mcontext), before_(machine_) {}

  [[nodiscard]] std::uintptr_t at() const noexcept {
#if defined(__x86_64__)
    return static_cast<std::uintptr_t>(machine_.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return static_cast<std::uintptr_t>(machine_.pc);
#else
    return 0;
#endif
  }

  /// Returns to the caller of an address without code, where unwinding can start.
  void undo_call() noexcept {
#if defined(__x86_64__)
    machine_.gregs[REG_RIP] = *reinterpret_cast<greg_t*>(machine_.gregs[REG_RSP]) - 1;
    machine_.gregs[REG_RSP] += 8;
#elif defined(__aarch64__)
    machine_.pc = machine_.regs[30] - 4;
#endif
  }
  void restore() noexcept { machine_ = before_; }

 private:
  mcontext_t& machine_;
  const mcontext_t before_;
};

void report(int signal, const siginfo_t& info, Interrupted& code) noexcept {
  char reason[192] = "";
  write_reason(reason, sizeof reason, info);
  const bool jumped = signal == SIGSEGV && info.si_code > 0 &&
                      reinterpret_cast<std::uintptr_t>(info.si_addr) == code.at();
  char thread[32] = "";
  if (this_thread() != ::getpid())
    std::snprintf(thread, sizeof thread, ", thread %d", this_thread());
  log_line("killed by %s%s%s (process %d%s). Stack:", words_of(signal), reason,
           jumped ? ", a called address without code" : "", ::getpid(), thread);
  if (jumped) code.undo_call();
  write_stack(code.at());
  code.restore();
}

void on_crash(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  pid_t no_thread = 0;
  if (!crashed.compare_exchange_strong(no_thread, this_thread())) {
    if (no_thread == this_thread()) return end_by(its_signal.load());
    for (;;) ::pause();
  }
  its_signal.store(signal);
  const int clock = set_clock(kTimeout);
  Interrupted code(context);
  report(signal, *info, code);
  if (clock >= 0) ::syscall(SYS_timer_delete, clock);
  // Returning from the handler repeats a fault, with its context for a core file; a sent signal is
  // sent again.
  set_default(signal);
  if (info->si_code <= 0) end_by(signal);
  errno = error;
}

void give_stack() noexcept {
  stack_t now{};
  if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = ::mmap(nullptr, kStackBytes + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  ::mprotect(memory, page, PROT_NONE);
  const stack_t ours{static_cast<char*>(memory) + page, 0, kStackBytes};
  ::sigaltstack(&ours, nullptr);
}

// restore() removes the handler, because an unloaded handler must not be called.
__attribute__((destructor)) void restore() {
  for (const Signal& signal : kSignals) {
    struct sigaction action {};
    if (::sigaction(signal.number, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) != 0 &&
        action.sa_sigaction == on_crash)
      set_default(signal.number);
  }
}

}  // namespace

void install_crash_report() noexcept {
  bool any = false;
  for (const Signal& signal : kSignals) {
    struct sigaction action {};
    if (::sigaction(signal.number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action = {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    any = ::sigaction(signal.number, &action, nullptr) == 0 || any;
  }
  if (any) give_stack();
}

}  // namespace tern

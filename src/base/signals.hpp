// SPDX-License-Identifier: Apache-2.0
// SignalsKept: undoes a library's changes of signal handlers. SignalsBlocked: blocks signals in new
// threads.
// Why: loading UCX takes over SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGHUP, which belong to the
// program or to base/crash.hpp. Threads: one at a time; no other thread may change handlers.
#pragma once

#include <array>
#include <csignal>

namespace tern {

class SignalsKept {
 public:
  SignalsKept() noexcept {
    for (size_t i = 0; i < kNumbers.size(); ++i) ::sigaction(kNumbers[i], nullptr, &before_[i]);
  }
  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;
  ~SignalsKept() {
    for (size_t i = 0; i < kNumbers.size(); ++i) ::sigaction(kNumbers[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array<int, 6> kNumbers{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGHUP, SIGABRT};
  std::array<struct sigaction, kNumbers.size()> before_{};
};

class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace tern

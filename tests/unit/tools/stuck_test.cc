// SPDX-License-Identifier: Apache-2.0
// The reported reason of a process that does not end: its tracer or its state.
#include "tools/mpirun/stuck.hpp"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace {

using tern::mpirun::why_not_ended;

TEST(WhyNotEnded, TheTracer) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::string words = why_not_ended(child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(words.find("traced by process " + std::to_string(::getpid()) + " ("), 0U) << words;
}

TEST(WhyNotEnded, TheState) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t how{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(why_not_ended(child), "in state Z (zombie)");
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(why_not_ended(child), "in state unknown");
}

}  // namespace

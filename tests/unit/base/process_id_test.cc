// SPDX-License-Identifier: Apache-2.0
#include "base/process_id.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace tern {
namespace {

TEST(ProcessId, IsTheSameInAllThreads) {
  std::vector<uint64_t> seen(4);
  {
    std::vector<std::jthread> threads;
    for (uint64_t& one : seen) threads.emplace_back([&one] { one = process_id(); });
  }
  for (const uint64_t one : seen) EXPECT_EQ(one, process_id());
  EXPECT_NE(process_id(), 0U);
}

TEST(ProcessId, AChildIsAnotherProcessOfTheSameMachine) {
  const uint64_t process = process_id(), machine = machine_id(), domain = number_domain();
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(process_id() != process && process_id() != 0 && machine_id() == machine &&
                    number_domain() == domain
                ? 0
                : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tern

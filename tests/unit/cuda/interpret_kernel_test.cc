// SPDX-License-Identifier: Apache-2.0
// tern_interpret with a program of one exchange on the host shim. Under TSan, accesses without
// semaphores or barriers are races.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

// device_host.hpp must precede the kernel's source.
#include "tests/softcuda/shim/device_host.hpp"
//
#include "cuda/kernels/interpret.cuh"
#include "tests/softcuda/shim/fiber.hpp"
#include "tests/softcuda/shim/launch.h"

namespace tern::cuda {
namespace {

struct RelaxedLook {
  TERN_DEVICE static uint32_t at(const uint32_t* word, int32_t /*message*/) {
    return ptx::load_relaxed_system(word);
  }
};
TERN_KERNEL(test_interpret_relaxed, InterpretArguments, 256, together) {
  TERN_SHARED(InterpretShared, shared);
  Interpreter<RelaxedLook>(arguments, *shared).run();
}

constexpr size_t kScratch = 65536, kData = 1024, kCredit = 8192, kInbox = 16384;
constexpr int64_t kRegion = 8192, kParts = 2;

struct Rank {
  int number;
  std::vector<char> scratch = std::vector<char>(kScratch), program;
  std::vector<int> input, output;
  KernelReport reports[kParts] = {};
  InterpretArguments arguments{};

  Rank(int rank, size_t count) : number(rank), input(count, 100 + rank), output(count, -1) {
    for (int i = 0; i < 4 * kParts; ++i)
      reinterpret_cast<uint32_t*>(scratch.data() + kCredit)[i] = 1;
  }

  void prepare(char* const (&bases)[2]) {
    const int peer = 1 - number;
    const auto step = [&](uint8_t verb, int32_t message, uint32_t operand) {
      Instruction made{};
      made.verb = verb;
      made.sources = made.destinations = verb == Instruction::kMove ? 1 : 0;
      made.blocks = 1;
      made.operand = operand;
      made.peer = peer;
      made.message = message;
      return made;
    };
    const Instruction steps[] = {step(Instruction::kWait, Instruction::kCredit, 0),
                                 step(Instruction::kMove, 0, 0),
                                 step(Instruction::kSignal, 0, 0),
                                 step(Instruction::kWait, 0, 0),
                                 step(Instruction::kMove, 0, 2),
                                 step(Instruction::kSignal, Instruction::kCredit, 0)};
    const auto mine = static_cast<int16_t>(number), other = static_cast<int16_t>(peer);
    const Operand operands[] = {{Operand::kInput, 0, 0, 0, 0, 0, 0},
                                {Operand::kInbox, 0, other, mine, 0, 0, 0},
                                {Operand::kInbox, 0, mine, other, 0, 0, 0},
                                {Operand::kOutput, 0, 0, 0, 0, 0, 0}};
    program.resize(sizeof bases + sizeof steps + sizeof operands);
    std::memcpy(program.data(), bases, sizeof bases);
    std::memcpy(program.data() + sizeof bases, steps, sizeof steps);
    std::memcpy(program.data() + sizeof bases + sizeof steps, operands, sizeof operands);
    InterpretArguments& a = arguments;
    a.program = program.data();
    a.instructions = 6;
    a.operands_at = static_cast<int32_t>(sizeof bases + sizeof steps);
    a.reports = reports;
    a.sides[Operand::kInput].base = reinterpret_cast<char*>(input.data());
    a.sides[Operand::kOutput].base = reinterpret_cast<char*>(output.data());
    a.ranks = 2;
    a.rank = number;
    a.parts = 1;
    a.vector = 1;
    a.element = sizeof(int);
    a.total = static_cast<int64_t>(input.size());
    a.length = 256;
    a.end_pass = (a.total + a.length - 1) / a.length;
    a.unit = a.length * a.element;
    a.pairs = {kInbox, kRegion, kRegion / kParts, kData, kCredit, kParts, kParts};
    a.abort_word = 4;
    a.timeout = uint64_t{20} * 1000000000;
    a.reduce_element = 1;
  }

  void launch(const char* name = "tern_interpret") {
    const TernHostKernels& kernels = *tern_host_kernels();
    const TernHostKernel* const kernel = kernels.find(name);
    ASSERT_NE(kernel, nullptr);
    const TernLaunch shape{{kParts, 1, 1}, {64, 1, 1}, sizeof(InterpretShared), 0};
    char why[256] = "";
    EXPECT_EQ(kernels.launch(kernel, &shape, &arguments, why, sizeof why), 0) << why;
  }
};

TEST(InterpretKernel, TwoRanksExchange) {
  Rank ranks[] = {{0, 2001}, {1, 2001}};
  char* const bases[2] = {ranks[0].scratch.data(), ranks[1].scratch.data()};
  for (Rank& rank : ranks) rank.prepare(bases);
  std::thread other([&] {
    for (int i = 0; i < 5; ++i) ranks[1].launch();
  });
  for (int i = 0; i < 5; ++i) ranks[0].launch();
  other.join();
  for (const Rank& rank : ranks) {
    EXPECT_EQ(rank.output, ranks[1 - rank.number].input);
    EXPECT_EQ(rank.reports[0].state, KernelReport::kNothing);
  }
}

[[noreturn]] void exchange_without_acquire() {
  Rank ranks[] = {{0, 2001}, {1, 2001}};
  char* const bases[2] = {ranks[0].scratch.data(), ranks[1].scratch.data()};
  for (Rank& rank : ranks) rank.prepare(bases);
  std::thread other([&] { ranks[1].launch("test_interpret_relaxed"); });
  ranks[0].launch("test_interpret_relaxed");
  other.join();
  std::_Exit(0);
}

TEST(InterpretKernelDeathTest, AMissingAcquireIsARaceForTSan) {
  if (!softcuda::tsan()) GTEST_SKIP() << "not built with TSan";
  EXPECT_DEATH(exchange_without_acquire(), "data race");
}

TEST(InterpretKernel, ItGivesUpAndTellsTheOther) {
  Rank ranks[] = {{0, 17}, {1, 17}};
  char* const bases[2] = {ranks[0].scratch.data(), ranks[1].scratch.data()};
  for (Rank& rank : ranks) rank.prepare(bases);
  ranks[0].arguments.timeout = 50000000;
  ranks[0].launch();
  EXPECT_EQ(ranks[0].reports[0].state, KernelReport::kLate);
  EXPECT_EQ(ranks[0].reports[0].peer, 1);
  EXPECT_EQ(ranks[0].reports[0].message, 0);
  ranks[1].launch();
  EXPECT_EQ(ranks[1].reports[0].state, KernelReport::kTold);
  EXPECT_EQ(ranks[1].reports[0].peer, 0);
  EXPECT_EQ(ranks[1].output[0], -1);
}

}  // namespace
}  // namespace tern::cuda

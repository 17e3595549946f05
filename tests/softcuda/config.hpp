// SPDX-License-Identifier: Apache-2.0
// What the environment asks of the software driver: the variables SOFTCUDA_*, read once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace softcuda {

/// kLies: memory can be mapped, and other memory is there.
enum class Link { kNone, kLies, kPcie, kNvlink };
enum class Pageable { kRandom, kAsync, kSync };
/// What opens of a block that is open already: itself, the address that was opened first, or nothing.
enum class Reopen { kItself, kFirst, kNothing };
enum class Fabric { kOff, kExport, kOn };

struct Config {
  int devices = 1;
  std::string peers = "NV";
  size_t memory = size_t{4} << 30;
  int version = 12040;
  unsigned jitter_us = 0;
  uint64_t seed = 1;
  unsigned late_us = 2000;
  size_t poison = size_t{1} << 20;
  Pageable pageable = Pageable::kRandom;
  Reopen reopen = Reopen::kItself;
  Fabric fabric = Fabric::kOff;
  bool open = false;
  std::string faults;
  std::string trace;
  std::string kernels;
  std::string machine;
  std::string exclusive;
  unsigned patience = 30;
  bool waits = false;
  std::string shared;
  bool mps = false;
  bool weak = false;
  bool multicast = false;
  bool mig = false;
  unsigned processors = 4;
  unsigned connections = 0;  // 0: one for each stream
  unsigned queue = 0;        // 0: without end
};

/// Ends the process with a sentence where a variable's name or value makes no sense.
const Config& config();
/// Between two of the machine's devices.
Link link_between(int physical, int other);
/// Of the machine's devices those that CUDA_VISIBLE_DEVICES shows, in its order.
const std::vector<int>& visible_devices();

[[noreturn]] void give_up(const char* format, ...) __attribute__((format(printf, 1, 2)));
/// A number from 0 to limit - 1; the same in each run for the same seed and calls.
uint64_t random_below(uint64_t limit);

}  // namespace softcuda

// SPDX-License-Identifier: Apache-2.0
// What the environment asks of the software driver: the variables SOFTCUDA_*, read once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coll/laboratory/simulate/driver_costs.hpp"

namespace softcuda {

/// kLies: memory can be mapped, and other memory is there.
enum class Link { kNone, kLies, kPcie, kNvlink };
enum class Pageable { kRandom, kAsync, kSync };
/// The result of a second IPC handle of an open block: its own address, the first address, none;
/// or one of the last two each time.
enum class Reopen { kItself, kFirst, kNothing, kRandom };
enum class Fabric { kOff, kExport, kOn };

struct Config {
  int devices = 1;
  std::string peers = "NV";
  std::string pci;  // addresses with commas; empty: 0000:01:00.0 and so on
  size_t memory = size_t{4} << 30;
  int version = 12040;
  unsigned jitter_us = 0;
  uint64_t seed = 1;
  unsigned late_us = 2000;
  size_t poison = size_t{1} << 20;
  Pageable pageable = Pageable::kRandom;
  Reopen reopen = Reopen::kRandom;
  Fabric fabric = Fabric::kOff;
  bool open = false;
  std::string faults;
  std::string trace;
  std::string ledger;
  tern::coll::DriverCosts costs;
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
  std::string nvml;  // missing in the software NVML
  unsigned processors = 4;
  unsigned connections = 0;  // 0: one for each stream
  unsigned queue = 0;        // 0: without end
};

/// The environment now. Ends the process with a sentence at a wrong name or value of a variable.
Config read_config();
/// The same, read once.
const Config& config();
/// Links between all devices of a machine.
class Links {
 public:
  explicit Links(const Config& config);
  [[nodiscard]] Link between(int physical, int other) const;
  /// NVLink, and through a switch.
  [[nodiscard]] bool switched(int physical, int other) const;

 private:
  struct Row {
    std::vector<Link> links;
    std::vector<bool> switched;
  };
  static Row row_of(const Config& config, const std::string& words);
  bool mig_, multicast_;
  std::vector<Row> rows_;
};
/// Between two of the machine's devices.
Link link_between(int physical, int other);
/// "0000:01:00.0"; instances of one GPU have one place on the bus.
std::string pci_of(const Config& config, int physical);
/// Words between `at`.
std::vector<std::string> split(const std::string& text, char at);
/// Of the machine's devices those that CUDA_VISIBLE_DEVICES shows, in its order.
const std::vector<int>& visible_devices();

[[noreturn]] void give_up(const char* format, ...) __attribute__((format(printf, 1, 2)));
/// A number from 0 to limit - 1; the same in each run for the same seed and calls.
uint64_t random_below(uint64_t limit);

}  // namespace softcuda

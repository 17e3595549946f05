// SPDX-License-Identifier: Apache-2.0
// The variables SOFTCUDA_*, read once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coll/laboratory/simulate/driver_costs.hpp"

namespace softcuda {

/// kLies: a mapping succeeds, but shows other memory.
enum class Link { kNone, kLies, kPcie, kNvlink };
enum class Pageable { kRandom, kAsync, kSync };
/// Reopen is the result of a second IPC handle of an open block. kRandom draws kFirst or kNothing.
enum class Reopen { kItself, kFirst, kNothing, kRandom };
enum class Fabric { kOff, kExport, kOn };
/// Rdma is the GPU's support of adapters. kOn: the GPU does not order an adapter's writes.
enum class Rdma { kOff, kOn, kOrdered };

struct Config {
  int devices = 1;
  std::string peers = "NV";
  std::string pci;
  size_t memory = size_t{4} << 30;
  int version = 12040;
  unsigned jitter_us = 0;
  uint64_t seed = 1;
  unsigned late_us = 2000;
  size_t poison = size_t{1} << 20;
  Pageable pageable = Pageable::kRandom;
  Reopen reopen = Reopen::kRandom;
  Fabric fabric = Fabric::kOff;
  Rdma rdma = Rdma::kOn;
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
  std::string nvml;
  unsigned nvlink = 25781;  // MB/s of a link
  std::string fabric_cluster;
  std::string cufile;
  unsigned processors = 4;
  unsigned connections = 0;  // 0: one per stream
  unsigned queue = 0;        // 0: unlimited
};

/// read_config() ends the process if a name or value is wrong.
Config read_config();
/// config() reads the environment at the first call.
const Config& config();
class Links {
 public:
  explicit Links(const Config& config);
  [[nodiscard]] Link between(int physical, int other) const;
  [[nodiscard]] bool switched(int physical, int other) const;
  /// Links of the word ("NV2", "NVS12"), or `otherwise`.
  [[nodiscard]] unsigned count(int physical, int other, unsigned otherwise) const;

 private:
  struct Row {
    std::vector<Link> links;
    std::vector<bool> switched;
    std::vector<unsigned> counts;  // 0: not in the word
  };
  static Row row_of(const Config& config, const std::string& words);
  bool mig_, multicast_;
  std::vector<Row> rows_;
};
Link link_between(int physical, int other);
std::string pci_of(const Config& config, int physical);
std::vector<std::string> split(const std::string& text, char at);
const std::vector<int>& visible_devices();

[[noreturn]] void give_up(const char* format, ...) __attribute__((format(printf, 1, 2)));
/// random_below() gives the same numbers for the same seed and calls.
uint64_t random_below(uint64_t limit);

}  // namespace softcuda

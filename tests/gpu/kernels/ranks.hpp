// SPDX-License-Identifier: Apache-2.0
// Machine and Ranks: 1 to 8 ranks of a team in a single process, each with scratch, a stream and a
// communicator. Rank r uses device r modulo the number of devices. Why: only under MPS can kernels
// of several processes wait for each other on a GPU. Lifetime: of the program. Threads: single.
// Errors: throws Error.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coll/gpu/team.hpp"
#include "core/communicator.hpp"
#include "core/process.hpp"
#include "cuda/device.hpp"

namespace tern::kernels_test {

void must(const char* function, CUresult result);
void must(const std::string& why);

class Machine {
 public:
  static constexpr int kMostRanks = 8;

  /// 0 devices means all. The constructor exits with status 77 without a device.
  explicit Machine(int most_devices);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine();

  [[nodiscard]] const cuda::Driver& driver() const noexcept { return *driver_; }
  [[nodiscard]] bool is_soft() const noexcept { return soft_; }
  [[nodiscard]] core::Process& process() noexcept { return process_; }
  [[nodiscard]] int devices() const noexcept { return static_cast<int>(devices_.size()); }
  [[nodiscard]] cuda::Device& device_of(int rank) const noexcept {
    return *devices_[static_cast<size_t>(rank) % devices_.size()];
  }
  [[nodiscard]] CUstream stream_of(int rank) const noexcept {
    return streams_[static_cast<size_t>(rank)];
  }

 private:
  void add_device(int ordinal);
  core::Process process_;
  const cuda::Driver* driver_ = nullptr;
  bool soft_ = false;
  std::vector<CUcontext> contexts_;
  std::vector<cuda::Device*> devices_;
  std::vector<CUstream> streams_;
  std::vector<CUdeviceptr> anchors_;
};

struct Rank {
  int number;
  cuda::Device* device;
  cuda::Stream stream;
  core::Ref<core::Communicator> communicator;
  std::unique_ptr<coll::GpuTeam> team;
};

class Ranks {
 public:
  Ranks(Machine& machine, int ranks, size_t scratch);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks();

  [[nodiscard]] int count() const noexcept { return static_cast<int>(all_.size()); }
  [[nodiscard]] Rank& at(int rank) noexcept { return all_[static_cast<size_t>(rank)]; }
  [[nodiscard]] Machine& machine() noexcept { return machine_; }
  /// Timeout of kernels, as in KernelRun; with 0 only wait() ends the kernels.
  uint64_t timeout = 0;
  /// no_multicast() is empty if multicast memory exists.
  [[nodiscard]] const std::string& no_multicast() const noexcept { return no_multicast_; }

  /// All ranks pass the same value to use_blocks().
  void use_blocks(int most);
  /// wait() ends all waiting kernels at the limit. Returns the waits, or an empty string.
  [[nodiscard]] std::string wait(double seconds);

 private:
  void make_team(int rank, size_t scratch);
  void open_scratch_to_all_devices();
  void share_blocks();
  [[nodiscard]] std::string add_multicast();
  [[nodiscard]] bool idle(Rank& rank);
  [[nodiscard]] double seconds_now() const noexcept;
  [[nodiscard]] bool wait_until(double seconds);
  [[nodiscard]] std::string describe_waits();

  Machine& machine_;
  std::vector<Rank> all_;
  std::string no_multicast_;
  int parts_ = 0;
};

}  // namespace tern::kernels_test

// SPDX-License-Identifier: Apache-2.0
// World: N ranks as threads of a test, each with a Process and the real library above. Usage:
// World(4).run([](core::Process& process) { ... }); An exception of a rank fails the test, but
// other ranks may wait until the runner's time limit.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/job/runtime.hpp"
#include "boot/fake.hpp"
#include "core/communicator.hpp"
#include "core/datatype.hpp"
#include "core/error_handler.hpp"
#include "core/info.hpp"
#include "core/op.hpp"
#include "core/process.hpp"
#include "pml/pml.hpp"
#include "tests/unit/kept_blocks.hpp"
#include "tests/unit/late.hpp"

namespace tern::test {

class World {
 public:
  using Rank = std::function<void(core::Process&)>;
  using Settings = std::vector<std::pair<std::string, std::string>>;

  explicit World(int ranks, Settings settings = {},
                 core::ThreadLevel level = core::ThreadLevel::kSingle)
      : ranks_(ranks), settings_(std::move(settings)), level_(level), job_(ranks) {
    const char* const seed = std::getenv("TERN_TEST_NETWORK");
    if (seed != nullptr) use(static_cast<uint32_t>(std::strtoul(seed, nullptr, 10)));
  }
  /// use() puts a bad network between the ranks. TERN_TEST_NETWORK=SEED does so for every World.
  void use(uint32_t seed) {
    btl::put_before_others(kLate);
    network_ = std::make_unique<Network>(seed);
    settings_.emplace_back("TERN_TRANSPORT", "self");
  }
  [[nodiscard]] Network& between() { return *network_; }

  void run(const Rank& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks_; ++rank)
      threads.emplace_back([this, rank, &body] { run_rank(rank, body); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  void run_rank(int rank, const Rank& body) {
    try {
      core::Process process;
      network = network_.get();
      for (const auto& [name, value] : settings_) process.params.set(name, value);
      core::make_predefined_error_handlers(process);
      core::make_predefined_infos(process);
      core::make_predefined_types(process);
      core::make_predefined_ops(process);
      const std::unique_ptr<boot::Boot> boot = job_.boot(rank);
      process.boot = boot.get();
      process.world_rank = boot->rank();
      process.world_size = boot->size();
      process.node.ranks = static_cast<int>(boot->local_ranks().size());
      process.node.oversubscribed = true;
      process.threads.level = level_;
      {
        api::Runtime rooms(process);
        rooms.enter_world();
        body(process);
        rooms.leave();
        core::end_predefined_communicators(process);
      }
      boot->finalize();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank << ": " << error.what();
    }
  }

  int ranks_;
  Settings settings_;
  core::ThreadLevel level_;
  boot::FakeJob job_;
  std::unique_ptr<Network> network_;
};

}  // namespace tern::test

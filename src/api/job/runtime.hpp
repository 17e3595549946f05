// SPDX-License-Identifier: Apache-2.0
// Runtime: what a Process needs to speak with the others: transports, messages, collectives.
// Why: the C API and unit tests (ranks as threads) bring a Process into its job the same way.
// Life cycle: construct (publishes the connection info), enter_world() or, of those that are
// needed, await(), use, leave(), destroy. Without a meeting of all ranks: see_off(), rest(),
// and perhaps come_back(). Threads: one caller.
#pragma once

#include <memory>
#include <vector>

#include "core/process.hpp"

namespace tern::core {
class Group;
}
namespace tern::pml {
class P2p;
}
namespace tern::stream {
class Proxy;
}

namespace tern::api {

class HangWatch;
class ProgressThread;

class Runtime {
 public:
  /// `process.boot`, ranks and thread level are set. Throws Error.
  explicit Runtime(core::Process& process);
  ~Runtime();
  /// Waits for all ranks of the job, and for measurements of earlier jobs. Throws Error.
  void enter_world();
  /// Waits until all of the group have entered the job. Throws Error.
  void await(const core::Group& group);
  /// The level has risen: from now on the locks count. The channels stay as they are. Called while
  /// no other thread is in MPI.
  void admit_threads() noexcept;
  /// The thread that moves messages, where one is wanted. Throws std::system_error.
  void start_thread();
  /// The thread of enqueued operations, from now on. Throws std::system_error.
  void start_proxy();
  /// No thread but the program's is in MPI any more.
  void end_threads() noexcept;
  /// Sends what waits and meets all ranks: afterwards no peer needs this one's memory. Throws
  /// Error.
  void leave();
  /// Waits until all peers in contact can do without this process.
  void see_off() noexcept;
  /// The last session has ended; another may begin.
  void rest() noexcept;
  void come_back();

 private:
  void hand_out_learnt() const;
  void learn();
  /// Messages get on meanwhile. Throws Error.
  void meet_all();
  void configure_waiting();
  [[nodiscard]] int64_t longest_sleep() const noexcept;  // microseconds
  void open_bell_pipe();
  void finish_streams() noexcept;
  void send_all_waiting() noexcept;
  void wait_until_quiet() noexcept;
  [[nodiscard]] bool has_lost_peers() const noexcept;

  core::Process& process_;
  std::vector<std::unique_ptr<pml::P2p>> pmls_;  // by channel
  std::vector<std::unique_ptr<coll::Coll>> colls_;
  std::unique_ptr<BellPipe> bell_pipe_;
  std::unique_ptr<HangWatch> watch_;
  std::unique_ptr<ProgressThread> thread_;
  std::unique_ptr<stream::Proxy> proxy_;
};

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// Runtime: transports, messages and collectives of a Process, for the C API and unit tests.
// Life cycle: construct (publishes the connection info), enter_world() or await(), use, leave(),
// destroy. Without a meeting of all ranks: see_off(), rest(), possibly come_back(). Threads: one
// caller.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "btl/address_book.hpp"
#include "coll/forest/forest_plan.hpp"
#include "core/process.hpp"

namespace tern::core {
class Group;
}
namespace tern::coll {
struct JobTopology;
}
namespace tern::pml {
class P2p;
}
namespace tern::stream {
class Proxy;
}

namespace tern::api {

class FaultTolerance;
class HangWatch;
class ProgressThread;

/// Equal numbers: the same host. Negative on hosts without a known rank of this world.
[[nodiscard]] int node_of(core::Process& process, const core::Peer& peer);

class Runtime {
 public:
  /// Requires `process.boot`, ranks and thread level. Throws Error.
  explicit Runtime(core::Process& process);
  ~Runtime();
  void enter_world();
  void await(const core::Group& group);
  /// Enables locks for a higher thread level. admit_threads() needs all other threads outside MPI
  /// calls.
  void admit_threads() noexcept;
  /// Makes the transport to other worlds on this host, or to other hosts, once. The caller holds no
  /// channel's lock. Throws Error.
  void widen(bool to_hosts);
  [[nodiscard]] bool reaches_hosts() const noexcept;
  [[nodiscard]] bool reaches_this_host() const noexcept;
  /// Processes with equal numbers are on one host, and may open each other's memory. Throws Error.
  [[nodiscard]] uint64_t host();
  [[nodiscard]] btl::ConnectionInfo own_info(btl::AddressBook::LongAddresses* rest);
  void learn_peer(const core::Peer& peer, const btl::ConnectionInfo& info,
                  btl::AddressBook::LongAddresses rest);
  /// Opens the shared memory of a process of another world. Throws Error.
  void open_memory(core::Peer& peer);
  /// After a change of the known worlds: tells the launcher, and counts the ranks of all worlds on
  /// this host, which decide how this rank waits.
  void count_ranks();
  void forget(const std::vector<uint32_t>& strangers) noexcept;
  /// Ends the contacts with processes that share no communicator any more: both ends call.
  void part(const std::vector<uint32_t>& strangers) noexcept;
  void start_thread();
  void start_proxy();
  void end_threads() noexcept;
  /// Sends pending messages and meets all ranks, after which no peer needs this rank's memory.
  /// Throws Error.
  void leave();
  void see_off() noexcept;
  void rest() noexcept;
  void come_back();
  [[nodiscard]] FaultTolerance& faults() noexcept { return *faults_; }

 private:
  void hand_out_learnt() const;
  void learn();
  /// Before the first collective; null: none.
  void take_topology(const coll::JobTopology* topology, bool with_sessions);
  void agree_on_forests();
  void meet_all();
  void configure_waiting();
  void limit_sleeps() noexcept;
  [[nodiscard]] int64_t longest_sleep() const noexcept;  // microseconds
  void open_bell_pipe();
  void finish_streams() noexcept;
  void send_all_waiting(int64_t most_ns = INT64_MAX) noexcept;
  void wait_until_quiet() noexcept;
  [[nodiscard]] bool has_lost_peers() const noexcept;

  core::Process& process_;
  std::mutex widening_;
  uint64_t host_ = 0;
  std::vector<std::unique_ptr<pml::P2p>> pmls_;
  std::vector<std::unique_ptr<coll::Coll>> colls_;
  std::shared_ptr<const coll::forest::ForestPlan> plan_;  // null: no graph
  std::unique_ptr<FaultTolerance> faults_;
  std::vector<std::unique_ptr<BellPipe>> bell_pipes_;  // threads may sleep on an old one
  std::unique_ptr<HangWatch> watch_;
  std::unique_ptr<ProgressThread> thread_;
  std::unique_ptr<stream::Proxy> proxy_;
};

}  // namespace tern::api

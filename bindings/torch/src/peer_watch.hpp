// SPDX-License-Identifier: Apache-2.0
// PeerWatch ends waits for dead processes of this host and for departed processes. Why: without a
// launcher a wait would last until the timeout. At a normal exit a process sends a farewell (a
// datagram) with the number of started collectives per group. Waits for started collectives of the
// process go on; waits for later collectives end. Lifetime: of the process; watches the newest
// world. Threads: any. A thread sleeps until a peer ends (pidfd_open(2)) or sends a farewell.
#ifndef TORCH_TERN_PEER_WATCH_HPP
#define TORCH_TERN_PEER_WATCH_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace torch_tern {

class HangReport;

class PeerWatch {
 public:
  struct Peer {
    int rank;
    std::int64_t pid;
    std::uint64_t start;
    std::uint64_t word;
    int descriptor = -1;
    bool has_died = false, has_left = false;
    std::map<std::uint64_t, std::uint64_t> calls;
  };

  static PeerWatch& get();
  // open() precedes the exchange by which peers learn of this process.
  void open();
  void begin(const std::shared_ptr<HangReport>& world, std::uint64_t own_word,
             std::vector<Peer> peers);
  void note_calls(const std::string& group, std::uint64_t calls);
  // Sends the farewell, once per world.
  void leave();
  void stop();

  bool has_left(int rank);

 private:
  void run();
  void sleep();
  void look_for_ends();
  void read_farewells();
  void report();
  bool knows_ends() const;

  std::mutex mutex_;
  std::weak_ptr<HangReport> world_;
  std::uint64_t own_word_ = 0;
  std::vector<Peer> peers_;
  std::map<std::uint64_t, std::uint64_t> calls_;
  bool may_leave_ = false, is_stopping_ = false;
  int socket_ = -1, wake_ = -1;
  std::thread thread_;
};

}  // namespace torch_tern

#endif

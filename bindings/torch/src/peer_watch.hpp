// SPDX-License-Identifier: Apache-2.0
// Ends the waits for ended processes of this host, and for processes outside the world.
// Why: without a launcher nothing ends the other ranks, and a wait lasts for the whole time-out.
// A process in good order sends a farewell to its peers, with its number of collectives in each
// group. Waits for collectives within this number go on; waits for later collectives, and for
// a killed process, end. Lifetime: of the process; the latest world is watched. Threads: any. Its
// thread sleeps until a peer ends (pidfd_open(2)) or sends a farewell (a datagram, unix(7)).
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
  // A rank of the world, on this host.
  struct Peer {
    int rank;
    std::int64_t pid;
    std::uint64_t start;  // as in ProcessRecord
    std::uint64_t word;   // of its process, in this world alone
    int descriptor = -1;  // of the process; -1: refused, or closed after the end
    bool has_died = false, has_left = false;
    std::map<std::uint64_t, std::uint64_t> calls;  // of its farewell, by group
  };

  static PeerWatch& get();
  // Opens the socket for farewells, before peers learn of this process.
  void open();
  void begin(const std::shared_ptr<HangReport>& world, std::uint64_t own_word,
             std::vector<Peer> peers);
  // The number of collectives in a group of the world, at the group's end.
  void note_calls(const std::string& group, std::uint64_t calls);
  // Sends the farewell, once for each world.
  void leave();
  // The thread ends.
  void stop();

  bool has_left(int rank);

 private:
  void run();
  void sleep();
  void look_for_ends();
  void read_farewells();
  void report();
  bool knows_ends() const;

  std::mutex mutex_;  // of all members below
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

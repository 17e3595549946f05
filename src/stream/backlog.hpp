// SPDX-License-Identifier: Apache-2.0
// Backlog: the count of enqueued calls in the process's streams, the captured calls held by graphs,
// and the boards of all streams.
// Why: the proxy's thread sleeps while the count is 0.
// Lifetime: the base of the Proxy. Threads: any, also the driver's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "stream/board.hpp"
#include "stream/earlier_error.hpp"

namespace tern::stream {

class Calls;
struct GraphHold;

class Backlog {
 public:
  explicit Backlog(EarlierError::Raise of) : raise(of), released_(std::make_shared<Released>()) {}
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;
  ~Backlog();

  Boards boards;
  const EarlierError::Raise raise;

  void count_outstanding(cuda::Device& device, int more) noexcept;
  void count_captured(int more) noexcept;
  /// The graph under capture holds the call, which the proxy ends after the graph. Without memory
  /// for a hold the call stays until MPI ends.
  void give_to_graph(const Stream& stream, const Capture& capture, Calls& of,
                     uint32_t number) noexcept;

 protected:
  /// The caller of take_released() owns the list.
  [[nodiscard]] GraphHold* take_released() noexcept;

  std::atomic<int> outstanding_{0}, captured_{0};
  std::mutex mutex_;  // guards woken_; never held in a driver call
  std::condition_variable woken_;

 private:
  friend struct GraphHold;
  /// All holds share Released, because the driver may end a hold after MPI has ended.
  struct Released {
    std::mutex mutex;
    bool ended = false;
    std::atomic<GraphHold*> first{nullptr};
  };
  static void end_hold(void* hold) noexcept;

  const std::shared_ptr<Released> released_;
};

struct GraphHold {
  std::shared_ptr<Backlog::Released> released;
  Calls* of;
  uint32_t number;
  GraphHold* next;
};

}  // namespace tern::stream

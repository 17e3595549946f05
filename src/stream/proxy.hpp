// SPDX-License-Identifier: Apache-2.0
// Proxy: the thread that runs the host's part of enqueued calls for the streams of all
// communicators.
// Why: a stream cannot send a message. A function of the host in a stream must not call the driver,
// but messages of device memory need the driver.
// How: it makes no call of the driver, so that it cannot wait for one who waits for it. While it
// runs operations it waits as any thread in MPI does (core::Progress); while streams may come to
// one, it yields, then naps: no bell rings for what a stream writes. Else it sleeps.
// Lifetime: api::Runtime, within the channels'; from the first communicator with a GPU's stream on.
// Threads: its own, and as each member says.
// See: src/stream/README.md.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/process.hpp"
#include "stream/backlog.hpp"
#include "stream/comm_stream.hpp"

namespace tern::stream {

class Proxy final : public Backlog {
 public:
  /// Throws std::system_error where there can be no thread.
  Proxy(core::Process& process, EarlierError::Raise raise);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  /// After the last operation: finish().
  ~Proxy();
  /// Nothing is outstanding; afterwards only memory is given back.
  void end_thread() noexcept;

  /// The proxy looks at the words of the communicator from now on.
  void add(std::shared_ptr<CommStream> one);
  /// Waits for all enqueued calls. The caller's, outside all locks.
  void finish() noexcept;

  /// The thread waits in MPI: a report names it.
  [[nodiscard]] bool waits() const noexcept { return waits_.load(std::memory_order_relaxed); }

 private:
  void run() noexcept;
  void update() noexcept;
  [[nodiscard]] bool end_released() noexcept;
  [[nodiscard]] int look() noexcept;
  [[nodiscard]] bool has_work() const noexcept;
  [[nodiscard]] bool is_under_way() const noexcept;
  void wait_in_mpi() noexcept;
  void wait_for_streams(int64_t idle_since_ns) noexcept;
  void describe(WaitReport* report) const;

  core::Process& process_;
  std::atomic<bool> ends_{false};
  std::atomic<bool> waits_{false};
  std::vector<std::shared_ptr<CommStream>> all_;  // guarded by mutex_
  std::atomic<bool> changed_{false};
  std::vector<std::shared_ptr<CommStream>> mine_;  // the thread's own
  std::thread thread_;
};

}  // namespace tern::stream

// SPDX-License-Identifier: Apache-2.0
// Proxy: the thread that runs the host's part of enqueued calls for all communicators' streams.
// Why: a stream cannot send messages. Host functions in a stream must not call the driver, but
// messages of device memory need driver calls.
// How: the proxy never calls the driver, to avoid blocking on a stream that waits for the proxy.
// While streams may reach a call, the thread yields, then naps, because streams ring no doorbell;
// else the thread sleeps.
// Lifetime: api::Runtime, within the channels'; starts with the first communicator with a GPU
// stream.
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
  /// The constructor throws std::system_error if no thread can start.
  Proxy(core::Process& process, EarlierError::Raise raise);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();
  /// end_thread() requires that nothing is outstanding; afterwards the proxy only frees memory.
  void end_thread() noexcept;

  void add(std::shared_ptr<CommStream> one);
  /// The caller of finish() holds no lock.
  void finish() noexcept;

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
  std::vector<std::shared_ptr<CommStream>> mine_;
  std::thread thread_;
};

}  // namespace tern::stream

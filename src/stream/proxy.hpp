// SPDX-License-Identifier: Apache-2.0
// Proxy: the thread that does for streams what the host has to do: it looks at the words of all
// communicators with a stream, runs their operations, and tells the streams that these are done.
// Why: a stream cannot send a message; and no function of the host may run in a stream, as that may
// not call the driver, which messages of device memory need.
// How: it makes no call of the driver, so that it cannot wait for one who waits for it. While it
// runs operations it waits as any thread in MPI does (core::Progress); while streams may come to
// one, it yields, then naps: no bell rings for what a stream writes. Else it sleeps.
// Lifetime: api::Runtime, within the channels'; from the first communicator with a GPU's stream on.
// Threads: its own, and as each member says.
// See: src/stream/README.md.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/process.hpp"
#include "stream/comm_stream.hpp"

namespace tern::stream {

/// A captured call, held by its graph: what the driver gives back when the graph has gone.
struct GraphHold;

class Proxy {
 public:
  /// Raises an error at once where the communicator's handler ends the program; else returns.
  using Raise = void (*)(core::Communicator& communicator, int code, const std::string& text);

  /// Throws std::system_error where there can be no thread.
  Proxy(core::Process& process, Raise raise);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  /// After the last operation: finish().
  ~Proxy();
  /// Nothing is outstanding; afterwards only what was made is given back.
  void end_thread() noexcept;

  /// Words and pinned memory for a communicator: made here, never later. The caller's. An error
  /// class with fail() text.
  [[nodiscard]] int make_board(cuda::Device& device, size_t chunk, Board* board) noexcept;
  /// For the next; no call of the driver.
  void give_back(cuda::Device& device, const Board& board) noexcept;
  /// A type was committed: what packing its data needs comes to the devices of streams.
  void prepare(const core::Datatype& type) noexcept;
  /// From now on it looks at its words.
  void add(std::shared_ptr<CommStream> one);
  /// Waits until all that was enqueued is done. The caller's, outside all locks.
  void finish() noexcept;

  /// Null where there is no memory. end_hold() may be called in any thread, in the driver, and
  /// after MPI has ended; the proxy then ends the call.
  [[nodiscard]] GraphHold* make_hold(CommStream& of, uint32_t number) noexcept;
  static void end_hold(void* hold) noexcept;
  void drop_hold(GraphHold* hold) noexcept;

  /// In a stream of the device.
  void count_outstanding(cuda::Device& device, int more) noexcept;
  void count_captured(int more) noexcept;
  /// Its thread waits in MPI: it is among those that a report names.
  [[nodiscard]] bool waits() const noexcept { return waits_.load(std::memory_order_relaxed); }
  void raise_now(core::Communicator& communicator, int code, const std::string& text) const {
    raise_(communicator, code, text);
  }

 private:
  friend struct GraphHold;
  /// Calls whose graphs have gone, while the proxy is there.
  struct Released {
    std::mutex mutex;
    Proxy* proxy = nullptr;
    std::atomic<GraphHold*> first{nullptr};
  };
  /// Pinned memory that holds words, until MPI ends.
  struct Page {
    cuda::Device* device;
    std::byte* here;
    CUdeviceptr at;
  };
  struct Words {
    cuda::Device* device;
    Board board;  // its words alone
  };
  void run() noexcept;
  void update() noexcept;
  [[nodiscard]] bool end_released() noexcept;
  [[nodiscard]] int look() noexcept;
  [[nodiscard]] bool has_work() const noexcept;
  [[nodiscard]] bool is_under_way() const noexcept;
  void wait_in_mpi() noexcept;
  void wait_for_streams(int64_t idle_since_ns) noexcept;
  void describe(WaitReport* report) const;
  [[nodiscard]] bool add_page(cuda::Device& device, std::string* why);

  core::Process& process_;
  const Raise raise_;
  std::atomic<bool> ends_{false};
  std::atomic<int> outstanding_{0}, captured_{0};
  std::atomic<bool> waits_{false};
  std::mutex mutex_;  // of what follows; never held in a call of the driver
  std::condition_variable woken_;
  std::vector<std::shared_ptr<CommStream>> all_;
  std::atomic<bool> changed_{false};
  const std::shared_ptr<Released> released_;
  std::vector<Words> idle_;
  std::vector<Page> pages_;
  std::vector<std::shared_ptr<CommStream>> mine_;  // the thread's own
  std::thread thread_;
};

}  // namespace tern::stream

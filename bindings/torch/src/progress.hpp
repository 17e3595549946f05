// SPDX-License-Identifier: Apache-2.0
// Waits for operations with callbacks and for operations without a waiting thread.
// Why several threads: a callback may wait for a later operation, so another thread takes over the
// lead before callbacks run. Lifetime: of the process. Threads: any may submit. The leader sleeps
// inside MPI (waiting.hpp).
#ifndef TORCH_TERN_PROGRESS_HPP
#define TORCH_TERN_PROGRESS_HPP

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "waiting.hpp"

namespace torch_tern {

class Operation;

class Progress {
 public:
  static Progress& get();
  void submit(std::shared_ptr<Operation> operation);
  // Joins the threads. Pending operations stay pending, and a later submit restarts the threads.
  void stop();
  // Waits until nothing is pending, at most for `time`.
  void await_idle(std::chrono::milliseconds time);

 private:
  void run();
  bool is_idle();
  // Waits until at least one pending operation has ended.
  void lead(std::unique_lock<std::mutex>& lock);
  void want_leader();
  void kick();

  std::mutex mutex_;
  std::condition_variable wanted_;
  const std::unique_ptr<Waiting> waiting_ = Waiting::make(mutex_);
  std::vector<Ended> ended_;
  bool has_leader_ = false;
  bool is_stopping_ = false;
  int idle_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace torch_tern

#endif

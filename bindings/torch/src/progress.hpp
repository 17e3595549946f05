// SPDX-License-Identifier: Apache-2.0
// Waits for operations with callbacks or without a waiting thread.
// Why: a callback may wait for a later operation, so another thread takes the lead before callbacks
// run.
// Lifetime: of the process. Threads: any may submit. The leader sleeps inside MPI (waiting.hpp).
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
  void stop();
  void await_idle(std::chrono::milliseconds time);

 private:
  void run();
  bool is_idle();
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

// SPDX-License-Identifier: Apache-2.0
// Worker: a thread for the system calls of nonblocking transfers.
// Why: a system call of a file blocks, so only another thread lets the program compute meanwhile.
// Lifetime: the open files of the process share the worker; the last file ends the thread. The
// thread blocks all signals and makes no call of MPI or CUDA.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace tern::io {

class Job {
 public:
  /// Runs in the worker. The object may end once work() has published its end.
  virtual void work() noexcept = 0;

 protected:
  ~Job() = default;
};

class Worker {
 public:
  /// Throws std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<Worker> shared();
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Runs all jobs first.
  ~Worker();

  /// add() returns false without memory or thread; the caller then runs the job.
  [[nodiscard]] bool add(Job& job) noexcept;

 private:
  void run() noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job*> jobs_;
  std::thread thread_;
  bool ends_ = false;
};

}  // namespace tern::io

// SPDX-License-Identifier: Apache-2.0
// How one thread waits for all pending operations and sleeps until one ends.
// Why: with MPIX_Continue an operation is attached once, even while the thread sleeps, and a
// completion costs the same however many operations are pending. Without it, the thread waits for
// an array, rebuilt after every change.
// Lifetime: of Progress. Threads: callers hold the lock of Progress, which `wait` releases while
// asleep.
#ifndef TORCH_TERN_WAITING_HPP
#define TORCH_TERN_WAITING_HPP

#include <exception>
#include <memory>
#include <mutex>
#include <vector>

namespace torch_tern {

class Operation;

struct Ended {
  std::shared_ptr<Operation> operation;
  std::exception_ptr error;
};

class Waiting {
 public:
  static std::unique_ptr<Waiting> make(std::mutex& mutex);

  virtual ~Waiting() = default;
  virtual void add(std::shared_ptr<Operation> operation) = 0;
  virtual bool is_empty() const = 0;
  // Blocks until an operation has ended or `wake` is called. One thread at a time may wait.
  virtual std::vector<Ended> wait(std::unique_lock<std::mutex>& lock) = 0;
  virtual void wake() = 0;
};

}  // namespace torch_tern

#endif

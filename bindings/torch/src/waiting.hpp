// SPDX-License-Identifier: Apache-2.0
// A single sleeping thread waits for all pending operations.
// Why: MPIX_Continue attaches an operation once, even while the thread sleeps, and the cost of a
// completion does not grow with the number of operations. Without continuations every change
// rebuilds an array of requests.
// Lifetime: of Progress. Threads: under the lock of Progress, which `wait` releases while asleep.
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
  // Blocks until an operation has ended or `wake` is called. Single caller at a time.
  virtual std::vector<Ended> wait(std::unique_lock<std::mutex>& lock) = 0;
  virtual void wake() = 0;
};

}  // namespace torch_tern

#endif

// SPDX-License-Identifier: Apache-2.0
// How one thread waits for all operations that are pending, asleep while none ends.
// Why: where the library has MPIX_Continue, an operation is attached once, also while the thread
// sleeps, and each completion costs the same however many are pending; else an array is waited for,
// which is made anew whenever one comes or goes.
// Lifetime: of Progress. Threads: all under the lock of Progress; `wait` lets go of it.
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
  // Until an operation has ended, or `wake` is called; who waits is one thread.
  virtual std::vector<Ended> wait(std::unique_lock<std::mutex>& lock) = 0;
  virtual void wake() = 0;
};

}  // namespace torch_tern

#endif

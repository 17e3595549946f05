// SPDX-License-Identifier: Apache-2.0
// The thread that waits for operations whose completion calls back, or which no other thread waits
// for. A callback may itself wait for a later operation; so before callbacks run, another thread
// may take over the waiting. Lifetime: of the process. Threads: any may submit. It sleeps inside
// MPI_Waitsome; a request of its own wakes it.
#ifndef TORCH_TERN_PROGRESS_HPP
#define TORCH_TERN_PROGRESS_HPP

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace torch_tern {

class AlarmRequest;
class Operation;

class Progress {
 public:
  static Progress& get();
  void submit(std::shared_ptr<Operation> operation);
  // Joins the threads; what is pending stays so. A later submit starts them again.
  void stop();
  bool is_idle();

  // Its requests will not complete, but peers may still write into its tensors.
  static void keep_for_ever(std::shared_ptr<Operation> operation);

 private:
  using Operations = std::vector<std::shared_ptr<Operation>>;

  void run();
  // Waits until some of the pending operations are complete or given up; gives them back with their
  // errors.
  void lead(std::unique_lock<std::mutex>& lock);
  void take_ended(Operations& watched, std::vector<std::exception_ptr>& errors);
  void give_up_dead();
  void want_leader();
  void kick();

  struct Ended {
    std::shared_ptr<Operation> operation;
    std::exception_ptr error;
  };

  std::mutex mutex_;
  std::condition_variable wanted_;
  Operations pending_;
  std::vector<Ended> ended_;
  AlarmRequest* alarm_ = nullptr;  // of the thread that waits
  bool has_leader_ = false;
  bool is_stopping_ = false;
  int idle_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace torch_tern

#endif

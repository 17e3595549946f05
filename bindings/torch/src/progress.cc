// SPDX-License-Identifier: Apache-2.0
// The threads of completion: one leads, which means that it waits inside MPI; the others call back,
// or sleep.
#include "progress.hpp"

#include <algorithm>

#include "alarm_request.hpp"
#include "operation.hpp"

namespace torch_tern {

namespace {

// The requests of all operations that are waited for, as MPI_Waitsome wants them.
class Watched {
 public:
  explicit Watched(const std::vector<std::shared_ptr<Operation>>& operations) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      std::vector<MPI_Request>& requests = operations[i]->requests();
      for (std::size_t j = 0; j < requests.size(); ++j) {
        if (requests[j] != MPI_REQUEST_NULL) {
          requests_.push_back(requests[j]);
          places_.push_back({i, j});
        }
      }
    }
  }

  // Returns when a request is complete, the alarm too; errors go to their operations' places.
  void wait(AlarmRequest& alarm, const std::vector<std::shared_ptr<Operation>>& operations,
            std::vector<std::exception_ptr>& errors) {
    requests_.push_back(alarm.request());
    const int all = static_cast<int>(requests_.size());
    std::vector<int> indices(requests_.size());
    std::vector<MPI_Status> statuses(requests_.size());
    int count = 0;
    const int code = MPI_Waitsome(all, requests_.data(), &count, indices.data(), statuses.data());
    if (count == MPI_UNDEFINED) {
      count = 0;
    }
    for (int k = 0; k < count; ++k) {
      if (indices[k] == all - 1) {
        alarm.was_waited_for();
        continue;
      }
      const auto [i, j] = places_[indices[k]];
      operations[i]->requests()[j] = MPI_REQUEST_NULL;
      operations[i]->note_status(statuses[k]);
      if (code == MPI_ERR_IN_STATUS && statuses[k].MPI_ERROR != MPI_SUCCESS) {
        errors[i] = operations[i]->error_of(statuses[k].MPI_ERROR);
      }
    }
  }

 private:
  struct Place {
    std::size_t operation, request;
  };
  std::vector<MPI_Request> requests_;
  std::vector<Place> places_;
};

bool is_done(const Operation& operation) {
  const auto& requests = const_cast<Operation&>(operation).requests();
  return std::all_of(requests.begin(), requests.end(),
                     [](MPI_Request request) { return request == MPI_REQUEST_NULL; });
}

}  // namespace

// Never destroyed: threads may still be in it when the process ends.
Progress& Progress::get() {
  static auto* const one = new Progress;
  return *one;
}

void Progress::keep_for_ever(std::shared_ptr<Operation> operation) {
  static std::mutex mutex;
  static auto* const kept = new Operations;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(operation));
}

bool Progress::is_idle() {
  const std::lock_guard lock(mutex_);
  return pending_.empty() && !has_leader_;
}

void Progress::want_leader() {
  if (has_leader_) {
    if (alarm_) {
      alarm_->ring();
    }
  } else if (idle_ > 0) {
    wanted_.notify_one();
  } else {
    is_stopping_ = false;
    threads_.emplace_back([this] { run(); });
  }
}

void Progress::kick() {
  const std::lock_guard lock(mutex_);
  if (alarm_) {
    alarm_->ring();
  }
}

void Progress::submit(std::shared_ptr<Operation> operation) {
  operation->guard([this] { kick(); });
  const std::lock_guard lock(mutex_);
  pending_.push_back(std::move(operation));
  want_leader();
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wanted_.wait(lock, [this] { return is_stopping_ || (!has_leader_ && !pending_.empty()); });
    --idle_;
    if (is_stopping_) {
      return;
    }
    has_leader_ = true;
    lead(lock);
    has_leader_ = false;
    if (!pending_.empty() && !is_stopping_) {
      want_leader();
    }
    std::vector<Ended> ended = std::move(ended_);
    ended_.clear();
    lock.unlock();
    for (Ended& one : ended) {
      one.operation->conclude(one.error);
      one.operation.reset();
    }
    lock.lock();
  }
}

void Progress::lead(std::unique_lock<std::mutex>& lock) {
  while (ended_.empty() && !is_stopping_) {
    Operations watched = pending_;
    std::vector<std::exception_ptr> errors(watched.size());
    AlarmRequest alarm;
    alarm_ = &alarm;
    lock.unlock();
    Watched(watched).wait(alarm, watched, errors);
    lock.lock();
    alarm_ = nullptr;
    take_ended(watched, errors);
    give_up_dead();
  }
}

void Progress::take_ended(Operations& watched, std::vector<std::exception_ptr>& errors) {
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (errors[i] || is_done(*watched[i])) {
      std::erase(pending_, watched[i]);
      ended_.push_back({std::move(watched[i]), errors[i]});
    }
  }
}

void Progress::give_up_dead() {
  std::erase_if(pending_, [this](const std::shared_ptr<Operation>& one) {
    if (!one->group()->is_dead()) {
      return false;
    }
    keep_for_ever(one);
    ended_.push_back({one, failure(one->group()->why_dead())});
    return true;
  });
}

void Progress::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    if (alarm_) {
      alarm_->ring();
    }
    wanted_.notify_all();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  is_stopping_ = false;
}

}  // namespace torch_tern

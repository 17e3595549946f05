// SPDX-License-Identifier: Apache-2.0
#include "waiting.hpp"

#include <algorithm>

#include "alarm_request.hpp"
#include "extensions.hpp"
#include "operation.hpp"

namespace torch_tern {

namespace {

// Uses MPIX_Continue and MPIX_Comm_interrupt, which completes the operations of dead groups.
class Continuations final : public Waiting {
 public:
  explicit Continuations(std::mutex& mutex) : mutex_(mutex) {}

  void add(std::shared_ptr<Operation> operation) override {
    if (all_ == MPI_REQUEST_NULL) {
      check(extensions().continue_init(0, 0, MPI_INFO_NULL, &all_));
      check(MPI_Start(&all_));
    }
    auto one = std::make_unique<Attached>();
    one->waiting = this;
    std::vector<MPI_Request>& requests = operation->requests();
    one->statuses.resize(requests.size());
    one->operation = std::move(operation);
    // The completion is deferred, because `note` takes the lock.
    check(extensions().continue_all(static_cast<int>(requests.size()), requests.data(), note,
                                    one.get(), kInvokeFailed | kDeferComplete, one->statuses.data(),
                                    all_));
    one.release();
    ++pending_;
  }

  bool is_empty() const override { return pending_ == 0; }

  std::vector<Ended> wait(std::unique_lock<std::mutex>& lock) override {
    AlarmRequest alarm;
    alarm_ = &alarm;
    if (!ended_.empty()) {
      alarm.ring();
    }
    lock.unlock();
    MPI_Request both[] = {all_, alarm.request()};
    int index = 0;
    MPI_Waitany(2, both, &index, MPI_STATUS_IGNORE);
    lock.lock();
    alarm_ = nullptr;
    if (index == 1) {
      alarm.was_waited_for();
    }
    if (pending_ == 0) {
      MPI_Request_free(&all_);
    } else if (index == 0) {  // attached after the others had completed
      MPI_Start(&all_);
    }
    return std::exchange(ended_, {});
  }

  void wake() override {
    if (alarm_) {
      alarm_->ring();
    }
  }

 private:
  struct Attached {
    Continuations* waiting;
    std::shared_ptr<Operation> operation;
    std::vector<MPI_Status> statuses;
  };

  static int note(int code, void* data) {
    const std::unique_ptr<Attached> one(static_cast<Attached*>(data));
    one->operation->note_status(one->statuses.back());
    std::exception_ptr error = code == MPI_SUCCESS ? nullptr : one->operation->error_of(code);
    Continuations& waiting = *one->waiting;
    const std::lock_guard lock(waiting.mutex_);
    --waiting.pending_;
    waiting.ended_.push_back({std::move(one->operation), std::move(error)});
    waiting.wake();
    return MPI_SUCCESS;
  }

  std::mutex& mutex_;
  MPI_Request all_ = MPI_REQUEST_NULL;
  std::size_t pending_ = 0;
  std::vector<Ended> ended_;
  AlarmRequest* alarm_ = nullptr;
};

bool is_done(Operation& operation) {
  const auto& requests = operation.requests();
  return std::all_of(requests.begin(), requests.end(),
                     [](MPI_Request request) { return request == MPI_REQUEST_NULL; });
}

class Array final : public Waiting {
 public:
  void add(std::shared_ptr<Operation> operation) override {
    pending_.push_back(std::move(operation));
    wake();
  }

  bool is_empty() const override { return pending_.empty(); }

  std::vector<Ended> wait(std::unique_lock<std::mutex>& lock) override {
    Operations watched = pending_;
    std::vector<std::exception_ptr> errors(watched.size());
    AlarmRequest alarm;
    alarm_ = &alarm;
    lock.unlock();
    wait_for_some(watched, alarm, errors);
    lock.lock();
    alarm_ = nullptr;
    return take_ended(watched, errors);
  }

  void wake() override {
    if (alarm_) {
      alarm_->ring();
    }
  }

 private:
  using Operations = std::vector<std::shared_ptr<Operation>>;
  struct RequestIndex {
    std::size_t operation, request;
  };

  static void wait_for_some(const Operations& operations, AlarmRequest& alarm,
                            std::vector<std::exception_ptr>& errors) {
    std::vector<MPI_Request> requests;
    std::vector<RequestIndex> places;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const std::vector<MPI_Request>& own = operations[i]->requests();
      for (std::size_t j = 0; j < own.size(); ++j) {
        if (own[j] != MPI_REQUEST_NULL) {
          requests.push_back(own[j]);
          places.push_back({i, j});
        }
      }
    }
    requests.push_back(alarm.request());
    const int all = static_cast<int>(requests.size());
    std::vector<int> indices(requests.size());
    std::vector<MPI_Status> statuses(requests.size());
    int count = 0;
    const int code = MPI_Waitsome(all, requests.data(), &count, indices.data(), statuses.data());
    for (int k = 0; k < count; ++k) {
      if (indices[k] == all - 1) {
        alarm.was_waited_for();
        continue;
      }
      const auto [i, j] = places[indices[k]];
      operations[i]->requests()[j] = MPI_REQUEST_NULL;
      operations[i]->note_status(statuses[k]);
      if (code == MPI_ERR_IN_STATUS && statuses[k].MPI_ERROR != MPI_SUCCESS) {
        errors[i] = operations[i]->error_of(statuses[k].MPI_ERROR);
      }
    }
  }

  // take_ended() includes the operations of dead groups, whose requests may never complete.
  std::vector<Ended> take_ended(Operations& watched, std::vector<std::exception_ptr>& errors) {
    std::vector<Ended> ended;
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (errors[i] || is_done(*watched[i])) {
        std::erase(pending_, watched[i]);
        ended.push_back({std::move(watched[i]), errors[i]});
      }
    }
    std::erase_if(pending_, [&ended](const std::shared_ptr<Operation>& one) {
      if (!one->group()->fate().dead()) {
        return false;
      }
      ended.push_back({one, failure(one->group()->fate().why())});
      return true;
    });
    return ended;
  }

  Operations pending_;
  AlarmRequest* alarm_ = nullptr;
};

}  // namespace

std::unique_ptr<Waiting> Waiting::make(std::mutex& mutex) {
  const Extensions& has = extensions();
  if (has.continue_init && has.continue_all && has.comm_interrupt) {
    return std::make_unique<Continuations>(mutex);
  }
  return std::make_unique<Array>();
}

}  // namespace torch_tern

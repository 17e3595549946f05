// SPDX-License-Identifier: Apache-2.0
// Completes requests by any function of MPI.
#include "completing.hpp"

#include <algorithm>

#include "peer.hpp"

namespace {

class Completing {
 public:
  Completing(std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses)
      : requests_(requests), statuses_(statuses), errors_(requests.size(), MPI_SUCCESS) {
    for (MPI_Request request : requests) active_ += request != MPI_REQUEST_NULL;
  }

  void one(size_t i, const MPI_Status& status, int error) {
    statuses_[i] = status;
    errors_[i] = error;
    --active_;
  }
  // MPI_ERR_IN_STATUS makes MPI_ERROR of each status valid.
  void several(const std::vector<int>& which, const std::vector<MPI_Status>& statuses, int error) {
    const bool in_status = error != MPI_SUCCESS && class_of(error) == MPI_ERR_IN_STATUS;
    for (size_t i = 0; i < which.size(); ++i) {
      one(static_cast<size_t>(which[i]), statuses[i], in_status ? statuses[i].MPI_ERROR : error);
    }
  }
  int count() const { return static_cast<int>(requests_.size()); }

  void all(bool test) {
    int error, done = 0;
    std::vector<MPI_Status> statuses(requests_.size());
    do {
      error = test ? MPI_Testall(count(), requests_.data(), &done, statuses.data())
                   : MPI_Waitall(count(), requests_.data(), statuses.data());
    } while (test && !done && error == MPI_SUCCESS);
    std::vector<int> which(requests_.size());
    for (size_t i = 0; i < which.size(); ++i) which[i] = static_cast<int>(i);
    several(which, statuses, error);
  }

  void any(bool test) {
    while (active_ > 0 || !peer::kWaitsForInactive) {
      int index = MPI_UNDEFINED, error, done = 0;
      MPI_Status status;
      do {
        error = test ? MPI_Testany(count(), requests_.data(), &index, &done, &status)
                     : MPI_Waitany(count(), requests_.data(), &index, &status);
      } while (test && !done && error == MPI_SUCCESS);
      if (index == MPI_UNDEFINED) return;
      one(static_cast<size_t>(index), status, error);
    }
  }

  void some(bool test) {
    while (active_ > 0 || !peer::kWaitsForInactive) {
      int number = 0, error;
      std::vector<int> which(requests_.size());
      std::vector<MPI_Status> statuses(requests_.size());
      do {
        error =
            test ? MPI_Testsome(count(), requests_.data(), &number, which.data(), statuses.data())
                 : MPI_Waitsome(count(), requests_.data(), &number, which.data(), statuses.data());
      } while (test && number == 0 && error == MPI_SUCCESS);
      if (number == MPI_UNDEFINED) return;
      which.resize(static_cast<size_t>(number));
      several(which, statuses, error);
    }
  }

  void each(Random& random, bool test) {
    std::vector<int> order(requests_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    random.shuffle(order);
    for (int which : order) {
      const auto i = static_cast<size_t>(which);
      int error, done = 0;
      MPI_Status status;
      do {
        error = test ? MPI_Test(&requests_[i], &done, &status) : MPI_Wait(&requests_[i], &status);
      } while (test && !done && error == MPI_SUCCESS);
      one(i, status, error);
    }
  }

  void record(Step& step) const {
    for (int error : errors_) step.ok(error, "a request");
  }

 private:
  std::vector<MPI_Request>& requests_;
  std::vector<MPI_Status>& statuses_;
  std::vector<int> errors_;
  int active_ = 0;
};

}  // namespace

void complete(Step& step, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses) {
  static const char* const kWays[] = {"Waitall",  "Testall",  "Waitany",      "Testany",
                                      "Waitsome", "Testsome", "Wait of each", "Test of each"};
  const int way = step.mine.one_in(2) ? 0 : step.mine.below(8);
  step.say("%s of %zu", kWays[way], requests.size());
  statuses.resize(requests.size());
  Completing completing(requests, statuses);
  const bool test = way % 2 == 1;
  if (way < 2) completing.all(test);
  if (way == 2 || way == 3) completing.any(test);
  if (way == 4 || way == 5) completing.some(test);
  if (way >= 6) completing.each(step.mine, test);
  completing.record(step);
}

// SPDX-License-Identifier: Apache-2.0
// Trial: a collective with a given row, blocking or in flight, against a serial reference.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "tests/unit/world.hpp"

namespace tern::coll {

inline int value(int rank, int64_t i) { return rank * 7919 + static_cast<int>(i % 100003) * 3; }
inline int sum(int first, int end, int64_t i) {
  int total = 0;
  for (int r = first; r < end; ++r) total += value(r, i);
  return total;
}

class Trial {
 public:
  Trial(core::Process& process, const Algorithm& row, int64_t count, int root,
        core::Communicator& communicator)
      : process_(process), row_(row), count_(count), root_(root), communicator_(communicator) {
    using enum Collective;
    const Collective what = row.collective;
    const bool from_all = what == kScatter || what == kAlltoall || what == kReduceScatter;
    const bool to_all = what == kGather || what == kAllgather || what == kAlltoall;
    input_.resize(static_cast<size_t>(from_all ? count * ranks() : count));
    for (size_t i = 0; i < input_.size(); ++i) input_[i] = value(rank(), static_cast<int64_t>(i));
    output_.assign(static_cast<size_t>(to_all ? count * ranks() : count), -1);
    if (row.collective == Collective::kBcast) output_ = input_;
  }

  void run() {
    ASSERT_EQ(coll().run(operation()), MPI_SUCCESS) << take_last_error().text;
    check();
  }
  void start() {
    ASSERT_EQ(coll().start(operation(), &request_), MPI_SUCCESS) << take_last_error().text;
  }
  void init() {
    ASSERT_EQ(coll().init(operation(), &request_), MPI_SUCCESS) << take_last_error().text;
  }
  void start_again() {
    if (row_.collective != Collective::kBcast) output_.assign(output_.size(), -1);
    ASSERT_EQ(request_->start(), MPI_SUCCESS);
  }
  [[nodiscard]] bool done() const { return request_->done(); }
  void finish() {
    process_.channel(0).progress.wait([this] { return request_->done(); }, [](WaitReport*) {});
    ASSERT_EQ(request_->outcome.error, MPI_SUCCESS) << *request_->error_text;
    check();
  }
  void free() { std::exchange(request_, nullptr)->release(); }

 private:
  [[nodiscard]] Coll& coll() const { return *process_.channel(0).coll; }
  [[nodiscard]] int rank() const { return process_.world_rank; }
  [[nodiscard]] int ranks() const { return process_.world_size; }

  [[nodiscard]] Operation operation() {
    Operation operation{};
    operation.collective = row_.collective;
    operation.communicator = &communicator_;
    operation.root = root_;
    operation.op = reduces(row_.collective) ? process_.handles.find<core::Op>(MPI_SUM) : nullptr;
    core::Datatype& type = core::predefined_type(process_, MPI_INT);
    const bool root = rank() == root_, all = !rooted(row_.collective);
    if (row_.collective != Collective::kBarrier) {
      if (row_.collective != Collective::kBcast &&
          (all || root || row_.collective != Collective::kScatter))
        operation.input = {input_.data(), count_, &type};
      const bool to_root =
          row_.collective == Collective::kGather || row_.collective == Collective::kReduce;
      if (all || root || !to_root) operation.output = {output_.data(), count_, &type};
    }
    return operation;
  }

  void expect(int64_t place, int wanted) {
    if (output_[static_cast<size_t>(place)] == wanted) return;  // cheaper than GoogleTest's macros
    wrong_ = true;
    FAIL() << "is " << output_[static_cast<size_t>(place)] << ", not " << wanted << ": "
           << name_of(row_.collective) << " " << row_.name << ", rank " << rank() << " of "
           << ranks() << ", root " << root_ << ", element " << place << " of " << count_;
  }

  void check() {
    const bool root = rank() == root_;
    for (int64_t i = 0; i < count_ && !wrong_; ++i) check_element(i, root);
  }

  void check_element(int64_t i, bool root) {
    using enum Collective;
    switch (row_.collective) {
      case kBarrier:
        return;
      case kBcast:
        return expect(i, value(root_, i));
      case kScatter:
        return expect(i, value(root_, rank() * count_ + i));
      case kGather:
      case kAllgather:
        for (int r = 0; r < ranks() && (root || row_.collective == kAllgather); ++r)
          expect(r * count_ + i, value(r, i));
        return;
      case kAlltoall:
        for (int r = 0; r < ranks(); ++r) expect(r * count_ + i, value(r, rank() * count_ + i));
        return;
      case kReduce:
        if (!root) return;
        [[fallthrough]];
      case kAllreduce:
        return expect(i, sum(0, ranks(), i));
      case kReduceScatter:
        return expect(i, sum(0, ranks(), rank() * count_ + i));
      case kScan:
        return expect(i, sum(0, rank() + 1, i));
      case kExscan:
        if (rank() > 0) expect(i, sum(0, rank(), i));
        return;
      case kNeighborAllgather:
      case kNeighborAlltoall:
        return;
    }
  }

  core::Process& process_;
  const Algorithm& row_;
  const int64_t count_;
  const int root_;
  core::Communicator& communicator_;
  std::vector<int> input_, output_;
  bool wrong_ = false;
  core::Request* request_ = nullptr;
};

}  // namespace tern::coll

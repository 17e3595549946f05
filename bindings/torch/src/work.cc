// SPDX-License-Identifier: Apache-2.0
#include "work.hpp"

#include <algorithm>

#include "older.hpp"

namespace torch_tern {

std::uint64_t next_key() {
  static std::atomic<std::uint64_t> keys{1};
  return keys++;
}

Work::Work(int rank, c10d::OpType type, const char* title, const std::vector<at::Tensor>& inputs,
           std::shared_ptr<Operation> operation)
    : c10d::Work(rank, type, title, inputs), operation_(std::move(operation)), key_(next_key()) {}

Work::~Work() {
  operation_->release();
  note_end();
}

void Work::note_end() {
  if (!has_ended_.exchange(true) && recordFunctionEndCallback_) {
    recordFunctionEndCallback_();
    recordFunctionEndCallback_ = nullptr;
  }
}

bool Work::isCompleted() {
  if (!operation_->is_complete()) {
    return false;
  }
  note_end();
  return true;
}

bool Work::isSuccess() const { return operation_->has_succeeded(); }

std::exception_ptr Work::exception() const { return operation_->error(); }

int Work::sourceRank() const { return operation_->source(); }

std::vector<at::Tensor> Work::result() { return operation_->tensors(); }

// wait() also blocks the current stream.
void Work::synchronize() { wait(Milliseconds::zero()); }

bool Work::wait(std::chrono::milliseconds timeout) {
  operation_->wait(std::max(timeout, Milliseconds::zero()));
  note_end();
  return true;
}

void Work::abort() { operation_->group()->end("its Work was aborted"); }

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture() { return operation_->future(); }

c10::intrusive_ptr<c10::ivalue::Future> Work::getFutureResult() {
  auto result = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
  operation_->future()->addCallback([result](c10::ivalue::Future& done) {
    const auto verdict = done.hasError() ? Result::COMM_ERROR : Result::SUCCESS;
    result->markCompleted(c10::IValue(static_cast<std::int64_t>(verdict)));
  });
  return result;
}

uint64_t Work::getSequencenumber() const { return operation_->sequence(); }

std::chrono::milliseconds Work::getTimeout() const { return operation_->timeout(); }

Works::Works(int rank, c10d::OpType type, std::vector<c10::intrusive_ptr<c10d::Work>> works)
    : c10d::Work(rank, type), works_(std::move(works)), key_(next_key()) {}

bool Works::isCompleted() {
  return std::all_of(works_.begin(), works_.end(),
                     [](const auto& one) { return one->isCompleted(); });
}

bool Works::isSuccess() const {
  return std::all_of(works_.begin(), works_.end(),
                     [](const auto& one) { return one->isSuccess(); });
}

std::exception_ptr Works::exception() const {
  for (const auto& one : works_) {
    if (auto error = one->exception()) {
      return error;
    }
  }
  return nullptr;
}

std::vector<at::Tensor> Works::result() {
  std::vector<at::Tensor> all;
  for (const auto& one : works_) {
    const auto some = one->result();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void Works::synchronize() { wait(Milliseconds::zero()); }

bool Works::wait(std::chrono::milliseconds timeout) {
  for (const auto& one : works_) {
    one->wait(timeout);
  }
  return true;
}

void Works::abort() {
  for (const auto& one : works_) {
    one->abort();
  }
}

c10::intrusive_ptr<c10::ivalue::Future> Works::getFuture() {
  const std::lock_guard lock(mutex_);
  if (future_) {
    return future_;
  }
  std::vector<c10::Device> devices;
  for (const auto& one : works_) {
    for (const c10::Device& device : one->getFuture()->devices()) {
      if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
        devices.push_back(device);
      }
    }
  }
  future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                     std::move(devices));
  if (works_.empty()) {
    future_->markCompleted(c10::IValue(std::vector<at::Tensor>()));
  }
  auto left = std::make_shared<std::atomic<std::size_t>>(works_.size());
  for (const auto& one : works_) {
    one->getFuture()->addCallback(
        [left, all = works_, future = future_](c10::ivalue::Future& done) {
          if (done.hasError()) {
            future->setErrorIfNeeded(done.exception_ptr());
          } else if (--*left == 0) {
            std::vector<at::Tensor> tensors;
            for (const auto& work : all) {
              const auto some = work->result();
              tensors.insert(tensors.end(), some.begin(), some.end());
            }
            future->markCompleted(c10::IValue(std::move(tensors)));
          }
        });
  }
  return future_;
}

}  // namespace torch_tern

// SPDX-License-Identifier: Apache-2.0
// PyTorch's handles of one operation and of several.
#ifndef TORCH_TERN_WORK_HPP
#define TORCH_TERN_WORK_HPP

#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "operation.hpp"

namespace torch_tern {

class Work : public c10d::Work {
 public:
  Work(int rank, c10d::OpType type, const char* title, const std::vector<at::Tensor>& inputs,
       std::shared_ptr<Operation> operation);
  ~Work() override;

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override;
  void synchronize() override;
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  // getFutureResult() is virtual only in newer versions of PyTorch.
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult();
  uint64_t getSequencenumber() const;
  std::chrono::milliseconds getTimeout() const;
  uint64_t getCompletionKey() const { return key_; }

 private:
  void note_end();

  std::shared_ptr<Operation> operation_;
  const std::uint64_t key_;
  std::atomic<bool> has_ended_{false};
};

// A Works is complete when all members are complete. The future's value concatenates the members'
// values.
class Works : public c10d::Work {
 public:
  Works(int rank, c10d::OpType type, std::vector<c10::intrusive_ptr<c10d::Work>> works);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override;
  void synchronize() override;
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  uint64_t getCompletionKey() const { return key_; }

 private:
  const std::vector<c10::intrusive_ptr<c10d::Work>> works_;
  const std::uint64_t key_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

std::uint64_t next_key();

}  // namespace torch_tern

#endif

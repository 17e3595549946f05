// SPDX-License-Identifier: Apache-2.0
// The base of Backend: options, timeouts, hooks, shutdown, and the steps from an operation to a
// Work.
// Lifetime: of the process group. Threads: PyTorch's.
#ifndef TORCH_TERN_LIFECYCLE_HPP
#define TORCH_TERN_LIFECYCLE_HPP

#include <map>
#include <memory>
#include <mutex>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "group.hpp"
#include "older.hpp"
#include "operation.hpp"
#include "work.hpp"

namespace torch_tern {

using Tensors = std::vector<at::Tensor>;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

// Returns true if the caller continues before completion. Older versions of PyTorch lack the
// option.
template <class Options>
bool is_async(const Options& options) {
  if constexpr (requires { options.asyncOp; }) {
    return options.asyncOp;
  }
  return true;
}

class Lifecycle : public c10d::Backend {
 public:
  using OptionsPointer = c10::intrusive_ptr<c10d::Backend::Options>;

  Lifecycle(std::shared_ptr<Group> group, int rank, OptionsPointer options);

  // Methods without `override` are virtual only in newer versions of PyTorch.
  const std::shared_ptr<Group>& group() const { return group_; }
  const std::string getBackendName() const override { return "tern"; }
  OptionsPointer getBackendOptions() { return options_; }
  bool supportsCoalescing() const { return true; }
  void setTimeout(std::chrono::milliseconds timeout);
  void addEphemeralTimeout(const std::chrono::milliseconds& more);
  uint64_t getSequenceNumberForGroup() override { return group_->sequence; }
  void setSequenceNumberForGroup() override {}
  Error getError();
  void eagerConnectSingleDevice(at::Device device) override;
  void abort();
  void shutdown();
#ifdef C10D_BACKEND_HAS_HOOKS
  bool supportsAbortHooks() const override { return true; }
  void registerAbortHook(int64_t id, c10d::AbortHook hook) override;
  void unregisterAbortHook(int64_t id) override;
  bool supportsCompletionHooks() const override { return true; }
  void registerCompletionHook(int64_t id, c10d::CompletionHook hook) override;
  void unregisterCompletionHook(int64_t id) override;
#endif
  void startCoalescing() override;
  WorkPointer endCoalescing() override;

 protected:
  using OperationPointer = std::shared_ptr<Operation>;

  MPI_Comm comm() const { return group_->comm(); }
  template <class Options>
  OperationPointer start(const char* words, const Options& options) {
    return start(words, options.timeout, is_async(options));
  }
  OperationPointer start(const char* words, Milliseconds timeout, bool is_async);
  // Begins the operation. `outputs`: the result of the Work and of the future.
  WorkPointer finish(const OperationPointer& operation, c10d::OpType type, const char* title,
                     const Tensors& inputs, const Tensors& outputs);

  const std::shared_ptr<Group> group_;
  const OptionsPointer options_;

 private:
  void call_completion_hooks(std::uint64_t key);

  bool is_coalescing_ = false;
  std::vector<WorkPointer> coalesced_;
#ifdef C10D_BACKEND_HAS_HOOKS
  std::mutex hooks_mutex_;
  std::map<int64_t, c10d::CompletionHook> completion_hooks_;
#endif
};

}  // namespace torch_tern

#endif

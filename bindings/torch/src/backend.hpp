// SPDX-License-Identifier: Apache-2.0
// The backend "tern" of torch.distributed: each method is one MPI call or a few, for tensors in
// host memory. Lifetime: of its process group. Threads: as PyTorch calls it; calls on one group
// come in one order on all ranks. The names overridden are the old ones (_allgather_base): every
// version of PyTorch has them; new ones forward to them.
#ifndef TORCH_TERN_BACKEND_HPP
#define TORCH_TERN_BACKEND_HPP

#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "group.hpp"
#include "older.hpp"
#include "operation.hpp"
#include "work.hpp"

namespace torch_tern {

using Tensors = std::vector<at::Tensor>;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

// Whether the caller goes on before the call is complete; older versions of PyTorch never say.
template <class Options>
bool is_async(const Options& options) {
  if constexpr (requires { options.asyncOp; }) {
    return options.asyncOp;
  }
  return true;
}

class Backend : public c10d::Backend {
 public:
  using OptionsPointer = c10::intrusive_ptr<c10d::Backend::Options>;

  Backend(std::shared_ptr<Group> group, int rank, OptionsPointer options);
  ~Backend() override;

  // What is not `override` is virtual in newer versions of PyTorch alone.
  const std::shared_ptr<Group>& group() const { return group_; }
  const std::string getBackendName() const override { return "tern"; }
  OptionsPointer getBackendOptions() { return options_; }
  bool supportsSplitting() const override { return true; }
  bool supportsCoalescing() const { return true; }
  void setTimeout(std::chrono::milliseconds timeout);
  void addEphemeralTimeout(const std::chrono::milliseconds& more);
  uint64_t getSequenceNumberForGroup() override { return group_->sequence; }
  void setSequenceNumberForGroup() override {}
  Error getError();
  void eagerConnectSingleDevice(at::Device device) override;
  void abort();
  void shutdown();
  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store>& store,
                                          const std::vector<int>& ranks,
                                          const OptionsPointer& options);
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

  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPointer allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPointer allreduce_coalesced(Tensors& tensors,
                                  const c10d::AllreduceCoalescedOptions& options) override;
  WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPointer allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                        const c10d::AllgatherOptions& options) override;
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input,
                              const c10d::AllgatherOptions& options) override;
  WorkPointer allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                  const c10d::AllgatherOptions& options) override;
  WorkPointer allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) override;
  WorkPointer gather(std::vector<Tensors>& outputs, Tensors& inputs,
                     const c10d::GatherOptions& options) override;
  WorkPointer gather_into_tensor(at::Tensor& output, at::Tensor& input,
                                 const c10d::GatherOptions& options);
  WorkPointer scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                      const c10d::ScatterOptions& options) override;
  WorkPointer reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                             const c10d::ReduceScatterOptions& options) override;
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& options) override;
  WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::ReduceScatterOptions& options) override;
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input,
                            std::vector<int64_t>& output_splits, std::vector<int64_t>& input_splits,
                            const c10d::AllToAllOptions& options) override;
  WorkPointer alltoall(Tensors& outputs, Tensors& inputs,
                       const c10d::AllToAllOptions& options) override;
  WorkPointer barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool waits_for_all) override;
  WorkPointer send(Tensors& tensors, int to, int tag) override;
  WorkPointer recv(Tensors& tensors, int from, int tag) override;
  WorkPointer recvAnysource(Tensors& tensors, int tag) override;

 private:
  using OperationPointer = std::shared_ptr<Operation>;

  MPI_Comm comm() const { return group_->comm(); }
  // An operation that has the next sequence number.
  template <class Options>
  OperationPointer start(const char* words, const Options& options) {
    return start(words, options.timeout, is_async(options));
  }
  OperationPointer start(const char* words, Milliseconds timeout, bool is_async);
  // Its Work. `value` is what the future gives; `outputs` what result() does.
  WorkPointer finish(const OperationPointer& operation, c10d::OpType type, const char* title,
                     const Tensors& inputs, const Tensors& outputs);
  void call_completion_hooks(std::uint64_t key);

  void reduce_all(Operation& operation, const at::Tensor& tensor, const c10d::ReduceOp& op);
  void reduce_packed(Operation& operation, const Tensors& tensors, const c10d::ReduceOp& op);
  void gather_all(Operation& operation, const Tensors& outputs, const at::Tensor& input);
  void gather_all_flat(Operation& operation, const at::Tensor& output, const at::Tensor& input);
  void reduce_and_scatter(Operation& operation, const at::Tensor& output, const at::Tensor& input,
                          const c10d::ReduceOp& op);
  at::Tensor sum_sparse(Operation& operation, const at::Tensor& tensor);
  WorkPointer receive(Tensors& tensors, int from, int tag, c10d::OpType type);
  void await_others(Milliseconds timeout, bool waits_for_all);
  void await_first(Milliseconds timeout);

  std::shared_ptr<Group> group_;
  OptionsPointer options_;
  bool is_coalescing_ = false;
  std::vector<WorkPointer> coalesced_;
#ifdef C10D_BACKEND_HAS_HOOKS
  std::mutex hooks_mutex_;
  std::map<int64_t, c10d::CompletionHook> completion_hooks_;
#endif
};

}  // namespace torch_tern

#endif

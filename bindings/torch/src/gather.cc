// SPDX-License-Identifier: Apache-2.0
// Broadcast, allgather, gather and scatter, as bytes.
#include "backend.hpp"
#include "memory.hpp"

namespace torch_tern {

namespace {

// Older PyTorch has a single OpType for all coalesced calls.
template <class Type>
constexpr Type coalesced_gather() {
  if constexpr (requires { Type::ALLGATHER_INTO_TENSOR_COALESCED; }) {
    return Type::ALLGATHER_INTO_TENSOR_COALESCED;
  } else {
    return Type::COALESCED;
  }
}

void require_count(const Tensors& tensors, int size, const char* words) {
  TORCH_CHECK_VALUE(static_cast<int>(tensors.size()) == size, "tern: ", words, " got ",
                    tensors.size(), " tensors for ", size, " ranks");
}

void require_equal(const Tensors& tensors, const at::Tensor& own, const char* words) {
  for (const at::Tensor& tensor : tensors) {
    require_alike(tensor, own, words);
    TORCH_CHECK_VALUE(tensor.numel() == own.numel(), "tern: ", words,
                      " takes tensors of equal size, but got ", tensor.numel(), " and ",
                      own.numel(), " elements");
  }
}

bool are_equal(const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() != tensors.front().numel()) {
      return false;
    }
  }
  return true;
}

void gather_all_flat(Operation& operation, const at::Tensor& output, const at::Tensor& input) {
  const Group& group = *operation.group();
  const int size = group.size();
  require_alike(output, input, "allgather");
  TORCH_CHECK_VALUE(output.numel() == input.numel() * size, "tern: allgather of ", input.numel(),
                    " elements from ", size, " ranks gives ", input.numel() * size,
                    ", but the output has ", output.numel());
  const at::Tensor target = writable(operation, output, "allgather");
  at::Tensor source = readable(operation, input, "allgather");
  if (overlap(source, target)) {
    source = source.clone();
    operation.hold(source);
  }
  operation.issue(MPI_Allgather_c, MPI_Iallgather_c, static_cast<const void*>(source.data_ptr()),
                  bytes_of(source), MPI_BYTE, target.data_ptr(), bytes_of(source), MPI_BYTE,
                  group.comm());
}

// All ranks know all sizes and choose the same call. `rank`: this process.
void gather_all(Operation& operation, const Tensors& outputs, const at::Tensor& input, int rank) {
  const Group& group = *operation.group();
  require_count(outputs, group.size(), "allgather");
  require_alike(outputs.front(), input, "allgather");
  TORCH_CHECK_VALUE(outputs[rank].numel() == input.numel(),
                    "tern: allgather gives this rank's part ", outputs[rank].numel(),
                    " elements, but the input has ", input.numel());
  if (are_equal(outputs)) {
    gather_all_flat(operation, writable(operation, outputs, "allgather"), input);
    return;
  }
  const at::Tensor target = writable(operation, outputs, "allgather");
  const at::Tensor source = readable(operation, input, "allgather");
  auto parts = std::make_shared<Parts>(outputs);
  operation.at_end([parts] {});
  operation.issue(MPI_Allgatherv_c, MPI_Iallgatherv_c, static_cast<const void*>(source.data_ptr()),
                  bytes_of(source), MPI_BYTE, target.data_ptr(),
                  static_cast<const MPI_Count*>(parts->counts.data()),
                  static_cast<const MPI_Aint*>(parts->offsets.data()), MPI_BYTE, group.comm());
}

}  // namespace

WorkPointer Backend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const at::Tensor& tensor = only(tensors, "broadcast");
  auto operation = start("broadcast", options);
  operation->describe(Description("broadcast", tensor).from(options.rootRank));
  const int root = static_cast<int>(options.rootRank);
  const at::Tensor plain = rank_ == root ? readable(*operation, tensor, "broadcast")
                                         : writable(*operation, tensor, "broadcast");
  operation->issue(MPI_Bcast_c, MPI_Ibcast_c, plain.data_ptr(), bytes_of(plain), MPI_BYTE, root,
                   comm());
  return finish(operation, c10d::OpType::BROADCAST, "tern:broadcast", tensors, tensors);
}

WorkPointer Backend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                               const c10d::AllgatherOptions& options) {
  const Tensors& parts = only(outputs, "allgather");
  auto operation = start("allgather", options);
  operation->describe(Description("allgather of a list", parts));
  gather_all(*operation, parts, only(inputs, "allgather"), rank_);
  return finish(operation, c10d::OpType::ALLGATHER, "tern:all_gather", inputs, parts);
}

WorkPointer Backend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                     const c10d::AllgatherOptions& options) {
  auto operation = start("allgather", options);
  operation->describe(Description("allgather", input));
  gather_all_flat(*operation, output, input);
  return finish(operation, c10d::OpType::_ALLGATHER_BASE, "tern:_all_gather_base", {input},
                {output});
}

WorkPointer Backend::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                         const c10d::AllgatherOptions& options) {
  auto operation = start("allgather_coalesced", options);
  operation->describe(Description("allgather_coalesced", inputs).of_any_size());
  Tensors all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensors parts;
    for (const Tensors& of_rank : outputs) {
      TORCH_CHECK_VALUE(of_rank.size() == inputs.size(), "tern: allgather_coalesced has ",
                        inputs.size(), " inputs, but ", of_rank.size(), " outputs of a rank");
      parts.push_back(of_rank[i]);
    }
    gather_all(*operation, parts, inputs[i], rank_);
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return finish(operation, c10d::OpType::ALLGATHER_COALESCED, "tern:all_gather", inputs, all);
}

WorkPointer Backend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::AllgatherOptions& options) {
  TORCH_CHECK_VALUE(outputs.size() == inputs.size(), "tern: allgather has ", outputs.size(),
                    " outputs and ", inputs.size(), " inputs");
  auto operation = start("allgather_into_tensor_coalesced", options);
  operation->describe(Description("allgather_into_tensor_coalesced", inputs));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    gather_all_flat(*operation, outputs[i], inputs[i]);
  }
  return finish(operation, coalesced_gather<c10d::OpType>(),
                "tern:all_gather_into_tensor_coalesced", inputs, outputs);
}

WorkPointer Backend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                            const c10d::GatherOptions& options) {
  const at::Tensor& input = only(inputs, "gather");
  const int root = static_cast<int>(options.rootRank);
  auto operation = start("gather", options);
  operation->describe(Description("gather", input).from(root));
  void* target = nullptr;
  Tensors parts;
  if (rank_ == root) {
    parts = only(outputs, "gather");
    require_count(parts, size_, "gather");
    require_equal(parts, input, "gather");
    target = writable(*operation, parts, "gather").data_ptr();
  } else {
    TORCH_CHECK_VALUE(outputs.empty(), "tern: gather takes outputs on the root, rank ", root,
                      ", only");
  }
  const at::Tensor source = readable(*operation, input, "gather");
  operation->issue(MPI_Gather_c, MPI_Igather_c, static_cast<const void*>(source.data_ptr()),
                   bytes_of(source), MPI_BYTE, target, bytes_of(source), MPI_BYTE, root, comm());
  return finish(operation, c10d::OpType::GATHER, "tern:gather", inputs, parts);
}

WorkPointer Backend::gather_into_tensor(at::Tensor& output, at::Tensor& input,
                                        const c10d::GatherOptions& options) {
  Tensors inputs{input};
  std::vector<Tensors> outputs;
  if (rank_ == options.rootRank) {
    TORCH_CHECK_VALUE(output.numel() == input.numel() * size_, "tern: gather of ", input.numel(),
                      " elements from ", size_, " ranks, but the output has ", output.numel());
    outputs.push_back(output.view({-1}).chunk(size_));
  }
  return gather(outputs, inputs, options);
}

WorkPointer Backend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                             const c10d::ScatterOptions& options) {
  const at::Tensor& output = only(outputs, "scatter");
  const int root = static_cast<int>(options.rootRank);
  auto operation = start("scatter", options);
  operation->describe(Description("scatter", output).from(root));
  const void* source = nullptr;
  if (rank_ == root) {
    const Tensors& parts = only(inputs, "scatter");
    require_count(parts, size_, "scatter");
    require_equal(parts, output, "scatter");
    source = readable(*operation, parts, "scatter").data_ptr();
  } else {
    TORCH_CHECK_VALUE(inputs.empty(), "tern: scatter takes inputs on the root, rank ", root,
                      ", only");
  }
  const at::Tensor target = writable(*operation, output, "scatter");
  operation->issue(MPI_Scatter_c, MPI_Iscatter_c, source, bytes_of(target), MPI_BYTE,
                   target.data_ptr(), bytes_of(target), MPI_BYTE, root, comm());
  return finish(operation, c10d::OpType::SCATTER, "tern:scatter", outputs, outputs);
}

}  // namespace torch_tern

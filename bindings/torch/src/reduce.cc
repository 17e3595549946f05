// SPDX-License-Identifier: Apache-2.0
// Allreduce, reduce and reduce-scatter, with AVG and PREMUL_SUM.
#include "backend.hpp"
#include "memory.hpp"
#include "types.hpp"

namespace torch_tern {

namespace {

// Older PyTorch has a single OpType for all coalesced calls.
template <class Type>
constexpr Type coalesced_scatter() {
  if constexpr (requires { Type::REDUCE_SCATTER_TENSOR_COALESCED; }) {
    return Type::REDUCE_SCATTER_TENSOR_COALESCED;
  } else {
    return Type::COALESCED;
  }
}

// Small tensors of one type are packed. Larger tensors gain nothing.
constexpr std::size_t kLargestPacked = 64 * 1024;

MPI_Count count_of(const at::Tensor& tensor, const Reduction& how) {
  return static_cast<MPI_Count>(tensor.numel()) * how.parts;
}

void divide_at_end(Operation& operation, const Reduction& how, const at::Tensor& tensor,
                   int ranks) {
  const double divisor = divisors_of(tensor.scalar_type(), how, ranks).last;
  if (divisor != 1) {
    operation.at_end([tensor, divisor] { tensor.div_(divisor); });
  }
}

// Factors differ across ranks, so each rank multiplies first.
void multiply(const at::Tensor& tensor, const c10d::ReduceOp& op, int ranks) {
  const at::NoGradGuard no_grad;
  const at::Tensor product = premultiplied(tensor, op, ranks);
  if (!product.is_same(tensor)) {
    tensor.copy_(product);
  }
}

bool are_packable(const Tensors& tensors) {
  std::size_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.scalar_type() != tensors.front().scalar_type()) {
      return false;
    }
    bytes += tensor.nbytes();
  }
  return tensors.size() > 1 && bytes <= kLargestPacked;
}

// Returns the multiplied tensor or a copy. Steps run in order: first the division, then the copy
// back.
at::Tensor operand(Operation& operation, const at::Tensor& tensor, const c10d::ReduceOp& op,
                   const Reduction& how) {
  const int ranks = operation.group()->size();
  at::Tensor plain =
      is_plain(tensor) ? tensor : tensor.detach().resolve_conj().resolve_neg().contiguous().clone();
  operation.hold(plain);
  multiply(plain, op, ranks);
  divide_at_end(operation, how, plain, ranks);
  if (!plain.is_same(tensor)) {
    operation.at_end([tensor, plain] { tensor.copy_(plain); });
  }
  return plain;
}

at::Tensor target_of(Operation& operation, const at::Tensor& output, const at::Tensor& source,
                     const Reduction& how) {
  const bool is_own = is_plain(output) && !overlap(output, source);
  at::Tensor target =
      is_own ? output : at::empty(output.sizes(), output.options().requires_grad(false));
  operation.hold(target);
  divide_at_end(operation, how, target, operation.group()->size());
  if (!is_own) {
    operation.at_end([output, target] { output.copy_(target); });
  }
  return target;
}

void reduce_all(Operation& operation, const at::Tensor& tensor, const c10d::ReduceOp& op) {
  const Group& group = *operation.group();
  admit(operation, tensor, "allreduce");
  const Reduction how = reduction_of(tensor.scalar_type(), op);
  const at::Tensor plain = operand(operation, tensor, op, how);
  operation.issue(MPI_Allreduce_c, MPI_Iallreduce_c, static_cast<const void*>(MPI_IN_PLACE),
                  plain.data_ptr(), count_of(plain, how), how.type, how.op, group.comm());
}

void reduce_packed(Operation& operation, const Tensors& tensors, const c10d::ReduceOp& op) {
  for (const at::Tensor& tensor : tensors) {
    admit(operation, tensor, "allreduce_coalesced");
  }
  const at::Tensor all = joined(tensors);
  reduce_all(operation, all, op);
  part_at_end(operation, all, tensors);
}

void reduce_and_scatter(Operation& operation, const at::Tensor& output, const at::Tensor& input,
                        const c10d::ReduceOp& op) {
  const Group& group = *operation.group();
  const int size = group.size();
  admit(operation, output, "reduce_scatter");
  require_alike(output, input, "reduce_scatter");
  TORCH_CHECK_VALUE(input.numel() == output.numel() * size, "tern: reduce_scatter of ",
                    input.numel(), " elements over ", size, " ranks gives each ",
                    input.numel() / size, ", but the output has ", output.numel());
  const Reduction how = reduction_of(output.scalar_type(), op);
  const at::Tensor source = readable(operation, premultiplied(input, op, size), "reduce_scatter");
  const at::Tensor target = target_of(operation, output, source, how);
  operation.issue(MPI_Reduce_scatter_block_c, MPI_Ireduce_scatter_block_c,
                  static_cast<const void*>(source.data_ptr()), target.data_ptr(),
                  count_of(target, how), how.type, how.op, group.comm());
}

}  // namespace

WorkPointer Backend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  const at::Tensor& tensor = only(tensors, "allreduce");
  if (tensor.layout() == at::kSparse) {
    return allreduce_sparse(tensors, options);
  }
  auto operation = start("allreduce", options);
  operation->describe(Description("allreduce", tensor).by(options.reduceOp));
  reduce_all(*operation, tensor, options.reduceOp);
  return finish(operation, c10d::OpType::ALLREDUCE, "tern:all_reduce", tensors, tensors);
}

WorkPointer Backend::allreduce_coalesced(Tensors& tensors,
                                         const c10d::AllreduceCoalescedOptions& options) {
  auto operation = start("allreduce_coalesced", options);
  operation->describe(Description("allreduce_coalesced", tensors).by(options.reduceOp));
  if (are_packable(tensors)) {
    reduce_packed(*operation, tensors, options.reduceOp);
  } else {
    for (const at::Tensor& tensor : tensors) {
      reduce_all(*operation, tensor, options.reduceOp);
    }
  }
  return finish(operation, c10d::OpType::ALLREDUCE_COALESCED, "tern:all_reduce", tensors, tensors);
}

WorkPointer Backend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const at::Tensor& tensor = only(tensors, "reduce");
  auto operation = start("reduce", options);
  operation->describe(Description("reduce", tensor).by(options.reduceOp).from(options.rootRank));
  admit(*operation, tensor, "reduce");
  const Reduction how = reduction_of(tensor.scalar_type(), options.reduceOp);
  const int root = static_cast<int>(options.rootRank);
  if (rank_ == root) {
    const at::Tensor plain = operand(*operation, tensor, options.reduceOp, how);
    operation->issue(MPI_Reduce_c, MPI_Ireduce_c, static_cast<const void*>(MPI_IN_PLACE),
                     plain.data_ptr(), count_of(plain, how), how.type, how.op, root, comm());
  } else {
    const at::Tensor plain =
        readable(*operation, premultiplied(tensor, options.reduceOp, size_), "reduce");
    operation->issue(MPI_Reduce_c, MPI_Ireduce_c, static_cast<const void*>(plain.data_ptr()),
                     static_cast<void*>(nullptr), count_of(plain, how), how.type, how.op, root,
                     comm());
  }
  return finish(operation, c10d::OpType::REDUCE, "tern:reduce", tensors, tensors);
}

WorkPointer Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::ReduceScatterOptions& options) {
  auto operation = start("reduce_scatter", options);
  operation->describe(Description("reduce_scatter", input).by(options.reduceOp));
  reduce_and_scatter(*operation, output, input, options.reduceOp);
  return finish(operation, c10d::OpType::_REDUCE_SCATTER_BASE, "tern:_reduce_scatter_base", {input},
                {output});
}

WorkPointer Backend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::ReduceScatterOptions& options) {
  TORCH_CHECK_VALUE(outputs.size() == inputs.size(), "tern: reduce_scatter has ", outputs.size(),
                    " outputs and ", inputs.size(), " inputs");
  auto operation = start("reduce_scatter_tensor_coalesced", options);
  operation->describe(Description("reduce_scatter_tensor_coalesced", inputs).by(options.reduceOp));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    reduce_and_scatter(*operation, outputs[i], inputs[i], options.reduceOp);
  }
  return finish(operation, coalesced_scatter<c10d::OpType>(),
                "tern:reduce_scatter_tensor_coalesced", inputs, outputs);
}

WorkPointer Backend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                    const c10d::ReduceScatterOptions& options) {
  const at::Tensor& output = only(outputs, "reduce_scatter");
  const Tensors& parts = only(inputs, "reduce_scatter");
  TORCH_CHECK_VALUE(static_cast<int>(parts.size()) == size_, "tern: reduce_scatter got ",
                    parts.size(), " tensors for ", size_, " ranks");
  auto operation = start("reduce_scatter", options);
  operation->describe(Description("reduce_scatter of a list", parts).by(options.reduceOp));
  admit(*operation, output, "reduce_scatter");
  const Reduction how = reduction_of(output.scalar_type(), options.reduceOp);
  auto counts = std::make_shared<std::vector<MPI_Count>>();
  for (const at::Tensor& part : parts) {
    counts->push_back(count_of(part, how));
  }
  TORCH_CHECK_VALUE(parts[rank_].numel() == output.numel(), "tern: reduce_scatter gives this rank ",
                    parts[rank_].numel(), " elements, but the output has ", output.numel());
  require_alike(output, parts[rank_], "reduce_scatter");
  const at::Tensor source = readable(
      *operation,
      premultiplied(readable(*operation, parts, "reduce_scatter"), options.reduceOp, size_),
      "reduce_scatter");
  const at::Tensor target = target_of(*operation, output, source, how);
  operation->at_end([counts] {});
  operation->issue(MPI_Reduce_scatter_c, MPI_Ireduce_scatter_c,
                   static_cast<const void*>(source.data_ptr()), target.data_ptr(),
                   static_cast<const MPI_Count*>(counts->data()), how.type, how.op, comm());
  return finish(operation, c10d::OpType::REDUCE_SCATTER, "tern:reduce_scatter", parts, outputs);
}

}  // namespace torch_tern

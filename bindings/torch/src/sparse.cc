// SPDX-License-Identifier: Apache-2.0
// Allreduce of sparse tensors: gathers the entries of all ranks, then sums by index.
#include <numeric>

#include "backend.hpp"
#include "memory.hpp"
#include "types.hpp"

namespace torch_tern {

namespace {

// `own` must be contiguous.
at::Tensor gather_rows(Operation& operation, const at::Tensor& own,
                       const std::vector<MPI_Count>& rows, MPI_Comm comm) {
  std::vector<std::int64_t> shape = own.sizes().vec();
  shape[0] = std::accumulate(rows.begin(), rows.end(), MPI_Count{0});
  at::Tensor all = at::empty(shape, own.options());
  std::int64_t bytes = static_cast<std::int64_t>(own.element_size());
  for (std::size_t i = 1; i < shape.size(); ++i) {
    bytes *= shape[i];
  }
  Parts parts;
  for (const MPI_Count of_rank : rows) {
    parts.add(of_rank * bytes);
  }
  operation.make(MPI_Iallgatherv_c, own.data_ptr(), bytes_of(own), MPI_BYTE, all.data_ptr(),
                 parts.counts.data(), parts.offsets.data(), MPI_BYTE, comm);
  return all;
}

at::Tensor sum_sparse(Operation& operation, const at::Tensor& tensor) {
  const Group& group = *operation.group();
  const at::Tensor own = tensor.detach().coalesce();
  MPI_Count entries = own._nnz();
  std::vector<MPI_Count> of_rank(group.size());
  operation.make(MPI_Iallgather, &entries, 1, MPI_COUNT, of_rank.data(), 1, MPI_COUNT,
                 group.comm());
  const at::Tensor indices =
      gather_rows(operation, own._indices().t().contiguous(), of_rank, group.comm());
  const at::Tensor values =
      gather_rows(operation, own._values().contiguous(), of_rank, group.comm());
  return at::sparse_coo_tensor(indices.t().contiguous(), values, tensor.sizes(), tensor.options())
      .coalesce();
}

}  // namespace

// Each call needs the previous result, so even an asynchronous caller waits.
WorkPointer Backend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
  const at::Tensor& tensor = only(tensors, "allreduce_sparse");
  TORCH_CHECK_VALUE(tensor.layout() == at::kSparse && tensor.device().is_cpu(),
                    "tern: allreduce_sparse takes tensors of layout sparse_coo on the CPU");
  TORCH_CHECK_VALUE(
      options.reduceOp == c10d::ReduceOp::SUM || options.reduceOp == c10d::ReduceOp::AVG,
      "tern: sparse tensors can be summed or averaged only");
  auto operation = start("allreduce_sparse", options);
  operation->describe(Description("allreduce_sparse", tensor).by(options.reduceOp).of_any_size());
  const at::NoGradGuard no_grad;
  const Reduction how = reduction_of(tensor.scalar_type(), options.reduceOp);
  const Divisors divisors = divisors_of(tensor.scalar_type(), how, size_);
  at::Tensor sum =
      sum_sparse(*operation, divisors.first == 1 ? tensor : tensor.detach().div(divisors.first));
  if (divisors.last != 1) {
    sum = sum.div(divisors.last);
  }
  tensor.copy_(sum);
  return finish(operation, c10d::OpType::_ALLREDUCE_SPARSE, "tern:sparse_all_reduce", tensors,
                tensors);
}

}  // namespace torch_tern

// SPDX-License-Identifier: Apache-2.0
// Alltoall of one tensor, by equal or given splits of the rows, and of lists.
#include "backend.hpp"
#include "memory.hpp"

namespace torch_tern {

namespace {

struct Exchange {
  Parts sent, received;
};

Parts parts_of(const at::Tensor& tensor, const std::vector<int64_t>& splits, int ranks,
               const char* which) {
  const std::int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  Parts parts;
  if (splits.empty()) {
    TORCH_CHECK_VALUE(rows % ranks == 0, "tern: the ", which, " of alltoall has ", rows,
                      " rows, which ", ranks, " ranks cannot share equally");
    for (int i = 0; i < ranks; ++i) {
      parts.add(bytes_of(tensor) / ranks);
    }
    return parts;
  }
  TORCH_CHECK_VALUE(static_cast<int>(splits.size()) == ranks, "tern: the ", which,
                    " of alltoall has ", splits.size(), " splits for ", ranks, " ranks");
  std::int64_t sum = 0;
  for (const std::int64_t split : splits) {
    TORCH_CHECK_VALUE(split >= 0, "tern: the ", which, " of alltoall has a split of ", split,
                      " rows");
    sum += split;
    parts.add(rows == 0 ? 0 : bytes_of(tensor) / rows * split);
  }
  TORCH_CHECK_VALUE(sum == rows, "tern: the splits of alltoall's ", which, " sum up to ", sum,
                    " rows, but it has ", rows);
  return parts;
}

void exchange(Operation& operation, const at::Tensor& source, const at::Tensor& target, Parts sent,
              Parts received, MPI_Comm comm) {
  auto parts = std::make_shared<Exchange>(Exchange{std::move(sent), std::move(received)});
  operation.at_end([parts] {});
  operation.issue(MPI_Alltoallv_c, MPI_Ialltoallv_c, static_cast<const void*>(source.data_ptr()),
                  static_cast<const MPI_Count*>(parts->sent.counts.data()),
                  static_cast<const MPI_Aint*>(parts->sent.offsets.data()), MPI_BYTE,
                  target.data_ptr(), static_cast<const MPI_Count*>(parts->received.counts.data()),
                  static_cast<const MPI_Aint*>(parts->received.offsets.data()), MPI_BYTE, comm);
}

}  // namespace

WorkPointer Backend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                   std::vector<int64_t>& output_splits,
                                   std::vector<int64_t>& input_splits,
                                   const c10d::AllToAllOptions& options) {
  require_alike(output, input, "alltoall");
  auto operation = start("alltoall", options);
  operation->describe(Description("alltoall", input).of_any_size());
  Parts sent = parts_of(input, input_splits, size_, "input");
  Parts received = parts_of(output, output_splits, size_, "output");
  at::Tensor source = readable(*operation, input, "alltoall");
  if (overlap(source, output)) {
    source = source.clone();
    operation->hold(source);
  }
  const at::Tensor target = writable(*operation, output, "alltoall");
  if (output_splits.empty() && input_splits.empty()) {
    TORCH_CHECK_VALUE(input.numel() == output.numel(),
                      "tern: alltoall without splits has an input of ", input.numel(),
                      " elements and an output of ", output.numel());
    operation->issue(MPI_Alltoall_c, MPI_Ialltoall_c, static_cast<const void*>(source.data_ptr()),
                     bytes_of(source) / size_, MPI_BYTE, target.data_ptr(),
                     bytes_of(target) / size_, MPI_BYTE, comm());
  } else {
    exchange(*operation, source, target, std::move(sent), std::move(received), comm());
  }
  return finish(operation, c10d::OpType::ALLTOALL_BASE, "tern:all_to_all", {input}, {output});
}

WorkPointer Backend::alltoall(Tensors& outputs, Tensors& inputs,
                              const c10d::AllToAllOptions& options) {
  TORCH_CHECK_VALUE(
      static_cast<int>(outputs.size()) == size_ && static_cast<int>(inputs.size()) == size_,
      "tern: alltoall got ", inputs.size(), " inputs and ", outputs.size(), " outputs for ", size_,
      " ranks");
  require_alike(outputs.front(), inputs.front(), "alltoall");
  auto operation = start("alltoall", options);
  operation->describe(Description("alltoall of lists", inputs).of_any_size());
  const at::Tensor source = readable(*operation, inputs, "alltoall");
  const at::Tensor target = writable(*operation, outputs, "alltoall");
  exchange(*operation, source, target, Parts(inputs), Parts(outputs), comm());
  return finish(operation, c10d::OpType::ALLTOALL, "tern:all_to_all", inputs, outputs);
}

}  // namespace torch_tern

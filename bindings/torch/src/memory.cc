// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

namespace torch_tern {

namespace {

char* begin_of(const at::Tensor& tensor) { return static_cast<char*>(tensor.data_ptr()); }

bool are_adjacent(const std::vector<at::Tensor>& tensors) {
  const char* next = begin_of(tensors.front());
  for (const at::Tensor& tensor : tensors) {
    if (!is_plain(tensor) || begin_of(tensor) != next || !tensor.is_alias_of(tensors.front())) {
      return false;
    }
    next += tensor.nbytes();
  }
  return true;
}

at::Tensor span(const std::vector<at::Tensor>& tensors) {
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) {
    elements += tensor.numel();
  }
  return tensors.front().detach().as_strided({elements}, {1});
}

}  // namespace

bool is_plain(const at::Tensor& tensor) {
  return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

const at::Tensor& only(const std::vector<at::Tensor>& tensors, const char* words) {
  TORCH_CHECK_VALUE(tensors.size() == 1, "tern: ", words, " takes one tensor, but got ",
                    tensors.size());
  return tensors.front();
}

const std::vector<at::Tensor>& only(const std::vector<std::vector<at::Tensor>>& lists,
                                    const char* words) {
  TORCH_CHECK_VALUE(lists.size() == 1, "tern: ", words, " takes one list of tensors, but got ",
                    lists.size());
  return lists.front();
}

void admit(Operation& operation, const at::Tensor& tensor, const char* words) {
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, "tern: ", words,
                    " takes dense tensors, but got one of layout ", tensor.layout());
  const at::Device device = tensor.device();
  TORCH_CHECK_VALUE(device.is_cpu() || device.is_cuda(), "tern: ", words,
                    " takes tensors of the CPU and of CUDA devices, but got one on ", device);
  operation.on_device().use(device);
}

void require_alike(const at::Tensor& one, const at::Tensor& other, const char* words) {
  TORCH_CHECK_VALUE(one.scalar_type() == other.scalar_type(), "tern: the tensors of ", words,
                    " are of different types: ", one.scalar_type(), " and ", other.scalar_type());
}

at::Tensor readable(Operation& operation, const at::Tensor& tensor, const char* words) {
  admit(operation, tensor, words);
  at::Tensor plain =
      is_plain(tensor) ? tensor : tensor.detach().resolve_conj().resolve_neg().contiguous();
  operation.hold(plain);
  return plain;
}

at::Tensor writable(Operation& operation, const at::Tensor& tensor, const char* words) {
  admit(operation, tensor, words);
  operation.hold(tensor);
  if (is_plain(tensor)) {
    return tensor;
  }
  at::Tensor scratch = at::empty(tensor.sizes(), tensor.options().requires_grad(false));
  operation.hold(scratch);
  operation.at_end([tensor, scratch] { tensor.copy_(scratch); });
  return scratch;
}

at::Tensor readable(Operation& operation, const std::vector<at::Tensor>& tensors,
                    const char* words) {
  for (const at::Tensor& tensor : tensors) {
    admit(operation, tensor, words);
    require_alike(tensor, tensors.front(), words);
    operation.hold(tensor);
  }
  if (are_adjacent(tensors)) {
    return span(tensors);
  }
  at::Tensor all = joined(tensors);
  operation.hold(all);
  return all;
}

at::Tensor writable(Operation& operation, const std::vector<at::Tensor>& tensors,
                    const char* words) {
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) {
    admit(operation, tensor, words);
    require_alike(tensor, tensors.front(), words);
    operation.hold(tensor);
    elements += tensor.numel();
  }
  if (are_adjacent(tensors)) {
    return span(tensors);
  }
  at::Tensor all = at::empty({elements}, tensors.front().options().requires_grad(false));
  operation.hold(all);
  part_at_end(operation, all, tensors);
  return all;
}

at::Tensor joined(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& tensor : tensors) {
    flat.push_back(tensor.detach().resolve_conj().resolve_neg().reshape({-1}));
  }
  return at::cat(flat);
}

void part_at_end(Operation& operation, const at::Tensor& all,
                 const std::vector<at::Tensor>& tensors) {
  operation.at_end([tensors, all] {
    std::int64_t at = 0;
    for (const at::Tensor& tensor : tensors) {
      tensor.copy_(all.narrow(0, at, tensor.numel()).view(tensor.sizes()));
      at += tensor.numel();
    }
  });
}

bool overlap(const at::Tensor& one, const at::Tensor& other) {
  return one.nbytes() > 0 && other.nbytes() > 0 &&
         begin_of(one) < begin_of(other) + other.nbytes() &&
         begin_of(other) < begin_of(one) + one.nbytes();
}

}  // namespace torch_tern

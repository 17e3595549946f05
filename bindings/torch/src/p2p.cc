// SPDX-License-Identifier: Apache-2.0
// Send and receive. Messages have no sequence number, because only some ranks call.
#include "backend.hpp"
#include "memory.hpp"

namespace torch_tern {

namespace {

const at::Tensor& message(Operation& operation, const Tensors& tensors, const char* words) {
  const at::Tensor& tensor = only(tensors, words);
  admit(operation, tensor, words);
  TORCH_CHECK_VALUE(is_plain(tensor), "tern: ", words,
                    " takes a contiguous tensor, but got one of strides ", tensor.strides());
  operation.hold(tensor);
  return tensor;
}

std::shared_ptr<Operation> receive(const std::shared_ptr<Group>& group, const Tensors& tensors,
                                   int from, int tag) {
  auto operation = std::make_shared<Operation>(group, "recv", c10d::kUnsetTimeout, false);
  operation->set_peer(from);
  const at::Tensor& tensor = message(*operation, tensors, "recv");
  operation->post(MPI_Irecv_c, tensor.data_ptr(), bytes_of(tensor), MPI_BYTE, from, tag,
                  group->comm());
  return operation;
}

}  // namespace

WorkPointer Backend::send(Tensors& tensors, int to, int tag) {
  auto operation = std::make_shared<Operation>(group_, "send", c10d::kUnsetTimeout, false);
  operation->set_peer(to);
  const at::Tensor& tensor = message(*operation, tensors, "send");
  operation->post(MPI_Isend_c, static_cast<const void*>(tensor.data_ptr()), bytes_of(tensor),
                  MPI_BYTE, to, tag, comm());
  return finish(operation, c10d::OpType::SEND, "tern:send", tensors, tensors);
}

WorkPointer Backend::recv(Tensors& tensors, int from, int tag) {
  return finish(receive(group_, tensors, from, tag), c10d::OpType::RECV, "tern:recv", tensors,
                tensors);
}

WorkPointer Backend::recvAnysource(Tensors& tensors, int tag) {
  return finish(receive(group_, tensors, MPI_ANY_SOURCE, tag), c10d::OpType::RECVANYSOURCE,
                "tern:recvAnySource", tensors, tensors);
}

}  // namespace torch_tern

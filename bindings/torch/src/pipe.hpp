// SPDX-License-Identifier: Apache-2.0
// Tensors as active messages: the receiver needs no type, shape or collective order in advance, as
// in parameter servers, embedding tables and schedulers.
// Lifetime: of the Python object. Threads: one at a time.
#ifndef TORCH_TERN_PIPE_HPP
#define TORCH_TERN_PIPE_HPP

#include <mpi.h>

#include <ATen/core/Tensor.h>

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "group.hpp"

namespace torch_tern {

class Pipe {
 public:
  struct Message {
    int source;
    std::string header;
    at::Tensor tensor;
  };

  // The constructor is collective over the group's members, without communication.
  explicit Pipe(Group& group);
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // Returns at once. The tensor must not change until `flush` returns.
  void send(int to, const std::string& header, const at::Tensor& tensor);
  // Returns messages in order per sender.
  std::vector<Message> poll();
  // Throws after the group's timeout.
  void flush();

 private:
  struct Sent {
    std::string envelope;
    at::Tensor tensor;
    std::vector<MPI_Request> requests;
  };
  struct Arriving {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
    Clock::time_point begun;
  };

  bool accept();
  [[noreturn]] void give_up(const char* words);
  void refuse_late(const Arriving& one);
  void forget_sent();

  const std::shared_ptr<Group> group_;
  std::list<Sent> sent_;
  std::list<Arriving> arriving_;
};

}  // namespace torch_tern

#endif

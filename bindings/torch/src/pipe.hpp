// SPDX-License-Identifier: Apache-2.0
// Tensors as active messages: a header that says what to do, and a tensor whose type and shape its
// receiver need not know. Why: programs that answer requests as they come (parameter servers,
// embedding tables, schedulers) have no collective order.
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
    at::Tensor tensor;  // undefined where none was sent
  };

  // With the members of a group, all of which make one; no message is sent for it.
  explicit Pipe(Group& group);
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // Returns at once; the tensor must not change until `flush` has returned.
  void send(int to, const std::string& header, const at::Tensor& tensor);
  // Messages that have arrived whole, those of one sender in its order.
  std::vector<Message> poll();
  // Until all that was sent has left; throws where that takes longer than the group's time-out.
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

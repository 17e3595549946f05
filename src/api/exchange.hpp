// SPDX-License-Identifier: Apache-2.0
// Exchange: messages that a collective sends and receives all at once, and what is done with them.
// Why: neighbourhood collectives and those between groups, blocking, nonblocking and persistent,
// are started in the same way. Threads: as the MPI calls that use it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "api/compound.hpp"
#include "core/communicator.hpp"
#include "core/op.hpp"
#include "mpi.h"
#include "pml/pml.hpp"

namespace tern::api {

class Exchange {
 public:
  explicit Exchange(core::Communicator& comm) noexcept : comm_(&comm) {}

  /// MPI_PROC_NULL has no message.
  void send(const pml::Buffer& buffer, int to, int tag);
  void receive(const pml::Buffer& buffer, int from, int tag);
  /// Contributions that are folded into `result` in the end, the last of `ranks` first; each is
  /// `count` elements from the contributor, of which those from `offset` on count.
  void fold(const pml::Buffer& result, MPI_Count offset, MPI_Count count, core::Op& op, int ranks,
            int tag);
  void refuse(int code) noexcept { code_ = code; }

  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] core::Communicator& communicator() const noexcept { return *comm_; }

  /// Begins all messages; `parts` take the requests.
  [[nodiscard]] int post(std::vector<core::Request*>* parts) const;
  /// All messages have come.
  void finish() const noexcept;
  /// Types and communicator stay, whatever the user frees; `by` is 1 or -1. Lock held.
  void hold(int by) const noexcept;

 private:
  struct Message {
    pml::Buffer buffer;
    pml::Envelope envelope;
  };
  struct Folding {
    pml::Buffer result;
    core::Op* op = nullptr;
    std::vector<const void*> from;  // by rank: where the part that counts lies
  };

  core::Communicator* comm_;
  int code_ = MPI_SUCCESS;
  std::vector<Message> sends_, receives_;
  Folding folding_;
  std::unique_ptr<std::byte[]> memory_, packed_;
};

/// Starts and waits.
[[nodiscard]] int run(Exchange what);
/// MPI_I...
[[nodiscard]] int begin(Exchange what, MPI_Request* request);
/// MPI_..._init
[[nodiscard]] int plan(Exchange what, MPI_Request* request);

}  // namespace tern::api

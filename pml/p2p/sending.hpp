// SPDX-License-Identifier: Apache-2.0
// Sending: the first frame of every send with a request, an eager message or an RTS.
#pragma once

#include "pml/outbox.hpp"
#include "pml/p2p/transfers.hpp"
#include "pml/protocols/eager.hpp"
#include "pml/request_pool.hpp"

namespace tern::pml {

class Sending final : Emitter {
 public:
  Sending(core::Channel& channel, Outbox& outbox, RequestPool& requests, Eager& eager,
          Transfers& transfers) noexcept
      : channel_(channel),
        outbox_(outbox),
        requests_(requests),
        eager_(eager),
        transfers_(transfers) {
    outbox.set_emitter(*this);
  }

  /// start() needs a connected peer. `lost` is the error class of unreadable data.
  void start(SendRequest& request, int lost = MPI_SUCCESS) noexcept;
  bool emit(SendRequest& request) noexcept override;
  void cancel(SendRequest& request) noexcept;

 private:
  core::Channel& channel_;
  Outbox& outbox_;
  RequestPool& requests_;
  Eager& eager_;
  Transfers& transfers_;
};

}  // namespace tern::pml

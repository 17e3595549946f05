// SPDX-License-Identifier: Apache-2.0
// MessageEngine: the messages of one channel: engine.cc has received frames, failures.cc lost
// peers.
#pragma once

#include "btl/table.hpp"
#include "pml/limits.hpp"
#include "pml/outbox.hpp"
#include "pml/p2p/matcher.hpp"
#include "pml/p2p/peers.hpp"
#include "pml/p2p/sending.hpp"
#include "pml/p2p/transfers.hpp"
#include "pml/prefix.hpp"
#include "pml/protocols/eager.hpp"
#include "pml/request_pool.hpp"

namespace tern::pml {

class MessageEngine final : public btl::Sink {
 public:
  /// `first` is channel 0's engine, whose transports own the shared memory; null for channel 0.
  MessageEngine(core::Channel& of, MessageEngine* first);
  ~MessageEngine() override;

  void arrived(btl::Endpoint& from, const btl::Frame& frame) noexcept override;
  void failed(btl::Endpoint& to, const std::string& why) noexcept override;
  void done(btl::Operation& operation) noexcept override {
    if (operation.owner != nullptr) requests.done(*static_cast<SendRequest*>(operation.owner));
  }

  [[nodiscard]] bool has_lost() const noexcept { return lost_ != 0; }
  void lose(uint32_t peer_index, const Failure& why) noexcept;
  /// Ends a blocking receive from any source; others stay posted, and are done with
  /// MPIX_ERR_PROC_FAILED_PENDING.
  void pend(RecvRequest& request) noexcept;
  /// Receives of the library from any source serve the living.
  [[nodiscard]] static bool may_pend(const RecvRequest& request) noexcept {
    return request.from.rank == MPI_ANY_SOURCE && request.from.plane == Plane::kUser &&
           request.from.communicator->handle() != 0 && Posted<RecvRequest>::holds(request);
  }

  /// require_source() returns an error class with fail() text if the source is unreachable, or lost
  /// without a matching message.
  [[nodiscard]] int require_source(const Envelope& from) noexcept;
  /// The same, but any source also fails if a possible sender has failed without acknowledgement.
  [[nodiscard]] int require_message(const Envelope& from) noexcept;
  /// See Matcher::start().
  [[nodiscard]] int start(RecvRequest& request) noexcept {
    const int code = matcher.start(request);
    if (request.from.rank == MPI_ANY_SOURCE &&
        TERN_UNLIKELY(request.from.communicator->lacks_ack()) && code == MPI_SUCCESS &&
        may_pend(request))
      pend(request);
    return code;
  }

  core::Channel& channel;
  core::Process& process;
  btl::Table transports;
  btl::Devices devices;
  const Limits limits;
  Peers peers;
  Outbox outbox;
  RequestPool requests;
  Eager eager;
  Transfers transfers;
  Sending sending;
  Matcher matcher;

 private:
  void lose(PeerState& peer, const Failure& why) noexcept;
  template <class Waits>
  void end_operations(uint32_t peer_index, const Failure& why, const Waits& waits) noexcept;
  int progress() noexcept;
  void take_go(PeerState& peer, PrefixReader* reader) noexcept;

  uint32_t lost_ = 0;
};

}  // namespace tern::pml

// SPDX-License-Identifier: Apache-2.0
// P2p: the Pml of every transport: the calls, on top of Matcher (matching, flow control), Eager and
// Transfers (protocols), Sending and Outbox (frames out), Peers, RequestPool.
// Lifetime: api::Runtime; one for each channel. Threads: see pml.hpp.
// Files: p2p.cc, matched.cc (calls), request_life.cc (restart, cancel), arrivals.cc (frames in),
// failures.cc (peers that are lost, communicators that are
// interrupted).
#pragma once

#include <memory>

#include "btl/table.hpp"
#include "pml/limits.hpp"
#include "pml/outbox.hpp"
#include "pml/p2p/matcher.hpp"
#include "pml/p2p/peers.hpp"
#include "pml/p2p/sending.hpp"
#include "pml/p2p/transfers.hpp"
#include "pml/pml.hpp"
#include "pml/prefix.hpp"
#include "pml/protocols/eager.hpp"
#include "pml/request_pool.hpp"
#include "pml/requests.hpp"

namespace tern::pml {

class alignas(64) P2p final : public Pml, public btl::Sink {
 public:
  /// `first`: channel 0's, whose transports have what all channels share; null for itself.
  explicit P2p(core::Channel& channel, P2p* first = nullptr);
  ~P2p() override;

  [[nodiscard]] btl::Table& transports() noexcept { return transports_; }
  [[nodiscard]] core::Channel& channel() const noexcept { return channel_; }

  void admit_threads() noexcept { requests_.admit_threads(); }

  /// TERN_EXPLAIN: what went to each peer, before this process leaves its job.
  void explain_traffic() const noexcept { peers_.explain_traffic(); }

  /// Progress until no frame waits for room to a peer that still needs it: before this process
  /// leaves its job.
  void send_all_waiting() noexcept { outbox_.wait_until_empty(); }

  int send(const Buffer& buffer, const Envelope& to, Mode mode) noexcept override;
  int recv(const Buffer& buffer, const Envelope& from, core::Outcome* outcome) noexcept override;
  int isend(const Buffer& buffer, const Envelope& to, Mode mode,
            core::Request** request) noexcept override;
  int irecv(const Buffer& buffer, const Envelope& from, core::Request** request) noexcept override;
  int isend_locked(const Buffer& buffer, const Envelope& to,
                   core::Request** request) noexcept override;
  int irecv_locked(const Buffer& buffer, const Envelope& from,
                   core::Request** request) noexcept override;
  int isend_lost_locked(const Buffer& buffer, const Envelope& to, int error,
                        core::Request** request) noexcept override;
  int send_init(const Buffer& buffer, const Envelope& to, Mode mode,
                core::Request** request) noexcept override;
  int recv_init(const Buffer& buffer, const Envelope& from,
                core::Request** request) noexcept override;
  bool repeats(const core::Request& request, Repeated* what) const noexcept override;
  int iprobe(const Envelope& from, bool* found, core::Outcome* outcome) noexcept override;
  int probe(const Envelope& from, core::Outcome* outcome) noexcept override;
  int improbe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept override;
  int mprobe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept override;
  int imrecv(const Buffer& buffer, Matched& matched, core::Request** request) noexcept override;
  bool offer(cuda::Device& device, const void* address, size_t bytes,
             MemoryHandle* handle) noexcept override;
  void avoid(const cuda::Uuid& device, const cuda::Uuid& of) override {
    devices_.avoid(device, of);
  }
  bool avoids(const cuda::Uuid& device, const cuda::Uuid& of) const noexcept override {
    return devices_.avoids(device, of);
  }
  std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle,
                                        cuda::Device& device) noexcept override {
    return devices_.map(handle, device);
  }
  void interrupt(core::Communicator& communicator) noexcept override;
  void add_context(core::Communicator& communicator) override {
    matcher_.contexts().add(communicator);
  }
  void remove_context(core::Communicator& communicator) noexcept override {
    matcher_.contexts().remove(communicator);
  }

  void describe_open(WaitReport* report) const override { requests_.describe_open(report); }
  void add_up(const core::Communicator* of, Statistics* sums) const noexcept override;
  void watch_early(EarlyWatcher* watcher) noexcept override { matcher_.watch_early(watcher); }

  void arrived(btl::Endpoint& from, const btl::Frame& frame) noexcept override;
  void failed(btl::Endpoint& to, const std::string& why) noexcept override;
  void done(btl::Operation& operation) noexcept override {
    requests_.done(*static_cast<SendRequest*>(operation.owner));
  }

  [[nodiscard]] bool has_lost() const noexcept { return lost_ != 0; }

  /// An error class with fail() text where a receive would wait in vain: its source can never send,
  /// or is lost, and what it names is not here.
  [[nodiscard]] int require_source(const Envelope& from) noexcept;

  // The parts, for requests; and for tests.
  [[nodiscard]] Peers& peers() noexcept { return peers_; }
  [[nodiscard]] RequestPool& requests() noexcept { return requests_; }
  [[nodiscard]] Transfers& transfers() noexcept { return transfers_; }
  [[nodiscard]] Sending& sending() noexcept { return sending_; }
  [[nodiscard]] Matcher& matcher() noexcept { return matcher_; }

 private:
  int progress() noexcept;
  void take_go(PeerState& peer, PrefixReader* reader) noexcept;
  int isend_held(const Buffer& buffer, const Envelope& to, Mode mode,
                 core::Request** request) noexcept;
  int recv_at_once(const Buffer& buffer, const Envelope& from, btl::FrameQueue& queue,
                   core::Outcome* outcome) noexcept;

  core::Channel& channel_;
  core::Process& process_;
  btl::Table transports_;
  btl::Devices devices_;
  const Limits limits_;
  Peers peers_;
  Outbox outbox_;
  RequestPool requests_;
  Eager eager_;
  Transfers transfers_;
  Sending sending_;
  Matcher matcher_;
  uint32_t sends_since_look_ = 0;
  uint32_t lost_ = 0;  // peers
};

}  // namespace tern::pml

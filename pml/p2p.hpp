// SPDX-License-Identifier: Apache-2.0
// P2p: the Pml of every transport: matching, eager and rendezvous protocols.
// Lifetime: api::Rooms; one for each channel. Threads: see pml.hpp.
// Files: p2p.cc, matched.cc (calls), request_life.cc (restart, cancel), sending.cc (frames out),
// arrivals.cc (frames in), rendezvous.cc (large messages), device.cc, pieces.cc (of devices).
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "btl/table.hpp"
#include "pml/contexts.hpp"
#include "pml/limits.hpp"
#include "pml/matching.hpp"
#include "pml/object_pool.hpp"
#include "pml/outbox.hpp"
#include "pml/peers.hpp"
#include "pml/pml.hpp"
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
  int iprobe(const Envelope& from, bool* found, core::Outcome* outcome) noexcept override;
  int probe(const Envelope& from, core::Outcome* outcome) noexcept override;
  int improbe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept override;
  int mprobe(const Envelope& from, Matched** matched, core::Outcome* outcome) noexcept override;
  int imrecv(const Buffer& buffer, Matched& matched, core::Request** request) noexcept override;
  bool offer(cuda::Device& device, const void* address, size_t bytes,
             MemoryCard* card) noexcept override;
  std::unique_ptr<Reached> reach(const MemoryCard& card, cuda::Device& device) noexcept override {
    return devices_.reach(card, device);
  }
  void add_context(core::Communicator& communicator) override;
  void remove_context(core::Communicator& communicator) noexcept override;

  void describe_open(WaitReport* report) const override { requests_.describe_open(report); }
  void add_up(const core::Communicator* of, Statistics* sums) const noexcept override;
  void watch_early(EarlyWatcher* watcher) noexcept override { watcher_ = watcher; }

  void arrived(btl::Endpoint& from, const btl::Frame& frame) noexcept override;

  /// The first use of an endpoint, in either direction.
  PeerState& contact(btl::Endpoint& endpoint) { return peers_.contact(endpoint); }

  /// For the outbox: sends the first frame of `request`: the whole of an eager message, the
  /// announcement of a large one. False where there is no room.
  bool emit(SendRequest& request) noexcept;

  // For the requests.
  [[nodiscard]] RequestPool& requests() noexcept { return requests_; }
  int restart(SendRequest& request) noexcept;
  int restart(RecvRequest& request) noexcept;
  /// Lock held.
  void cancel(SendRequest& request) noexcept;
  void cancel(RecvRequest& request) noexcept;

 private:
  // p2p.cc
  int progress() noexcept;
  void look_now_and_then() noexcept;
  int isend_held(const Buffer& buffer, const Envelope& to, Mode mode,
                 core::Request** request) noexcept;
  int recv_at_once(const Buffer& buffer, const Envelope& from, PeerState& peer,
                   core::Outcome* outcome) noexcept;
  int wait_for(core::Request& request, core::Outcome* outcome) noexcept;
  int wait_for(const Envelope& from, Message** message) noexcept;
  Message* look_for(const Envelope& from) noexcept;
  core::Outcome describe(const Message& message, const Envelope& from) const noexcept;

  // matched.cc
  Matched* take_out(const Envelope& from, Message& message, core::Outcome* outcome) noexcept;

  // sending.cc
  bool send_eager_now(PeerState& peer, const Buffer& buffer, const Envelope& to,
                      size_t bytes) noexcept;
  TERN_COLD bool send_device_now(PeerState& peer, const Buffer& buffer,
                                 const btl::Header& header) noexcept;
  void start(SendRequest& request, int lost = MPI_SUCCESS) noexcept;
  bool emit_eager(SendRequest& request) noexcept;
  bool emit_announcement(SendRequest& request) noexcept;
  TERN_COLD bool emit_lost(SendRequest& request) noexcept;
  int pack_eager(SendRequest& request) noexcept;

  // arrivals.cc
  void start(RecvRequest& request) noexcept;
  void take_message_frame(PeerState& peer, const btl::Frame& frame) noexcept;
  void match_arrival(PeerState& peer, const btl::Header& header, const std::byte* payload,
                     size_t bytes) noexcept;
  void keep(PeerState& peer, const Key& key, const btl::Header& header, const std::byte* payload,
            size_t bytes) noexcept;
  void count_kept(PeerState& peer, size_t more, size_t less) noexcept;
  void check_signature(RecvRequest& request, const PeerState& peer, const btl::Header& header,
                       const wire::Signature* sent, size_t bytes) const;
  void take_message(RecvRequest& request, Message& message) noexcept;
  void accept(RecvRequest& request, Message& message) noexcept;
  void take_eager(RecvRequest& request, const btl::Header& header, const std::byte* data,
                  size_t bytes) noexcept;
  void take_rts(RecvRequest& request, PeerState& peer, const btl::Header& header,
                const wire::Rts& rts, const NamedData& named) noexcept;
  void finish(RecvRequest& request, int error) noexcept;
  [[nodiscard]] bool prefers_pipeline(size_t bytes) const noexcept;
  void withdraw(PeerState& peer, uint64_t sender) noexcept;
  void learn_context(PeerState& peer, const wire::ContextTold& told) noexcept;

  // device.cc
  int offer_device(SendRequest& request) noexcept;
  int name_data(SendRequest& request, const cuda::Memory& memory);
  TERN_COLD void lose(RecvRequest& request, const wire::Rts& rts) noexcept;
  bool copy_on_device(RecvRequest& request, const NamedData& named) noexcept;
  bool watch_pieces(SendRequest& request) noexcept;
  void drop_copy(RecvRequest& request) noexcept;
  bool stage_data(SendRequest& request);
  void pack_pieces(SendRequest& request);
  bool reach_data(DeviceTransfer& device, const NamedData& named, size_t bytes);
  bool begin_copies(RecvRequest& request, DeviceTransfer& device) noexcept;
  bool has_all_stamps(const RecvRequest& request, DeviceTransfer& device) noexcept;
  TERN_COLD int move_device_copies() noexcept;
  bool push_bounced(SendRequest& request, bool* moved) noexcept;
  void send_failed(SendRequest& request, int error, const std::string& why) noexcept;
  void take_bounced(RecvRequest& request, const std::byte* data, size_t bytes) noexcept;
  void end_device_copy(RecvRequest& request) noexcept;
  void lose_device(SendRequest& request) noexcept;

  // rendezvous.cc
  void receive_pipeline(RecvRequest& request) noexcept;
  void receive_both_ends(RecvRequest& request) noexcept;
  void take_go(const PeerState& from, const wire::Go& go) noexcept;
  void take_data(const PeerState& from, const wire::DataPrefix& prefix, const std::byte* data,
                 size_t bytes) noexcept;
  void take_done(const PeerState& from, const wire::Done& done) noexcept;
  void take_failed(const PeerState& from, const wire::Failed& failed) noexcept;
  int move_transfers() noexcept;
  bool pull(RecvRequest& request, bool* moved) noexcept;  // true when it is finished
  bool pull_chunk(RecvRequest& request) noexcept;
  bool push(SendRequest& request, bool* moved) noexcept;  // true when it has nothing more to push
  bool push_fragments(SendRequest& request, bool* moved) noexcept;
  bool push_chunk(SendRequest& request, bool* moved) noexcept;
  bool pack_chunk(SendRequest& request, bool* moved) noexcept;
  [[nodiscard]] wire::Rts announce(SendRequest& request) noexcept;
  [[nodiscard]] bool can_read(RecvRequest& request, PeerState& peer, const wire::Rts& rts) noexcept;
  [[nodiscard]] bool open_stage(const Buffer& buffer, Transfer& transfer) noexcept;
  void tell_done(RecvRequest& request, int error) noexcept;

  // fallback.cc
  TERN_COLD void copy_failed(RecvRequest& request, int error) noexcept;
  void explain_copy_failed(const RecvRequest& request, int error) const noexcept;

  core::Channel& channel_;
  core::Process& process_;
  btl::Table transports_;
  btl::Devices devices_;
  const Limits limits_;
  Peers peers_;
  Outbox outbox_;
  RequestPool requests_;
  Contexts contexts_;
  Posted<RecvRequest> posted_;
  Unexpected<Message> unexpected_;
  ObjectPool<Message> messages_;
  std::vector<RecvRequest*> pulling_;   // receives that copy from their sender's memory
  std::vector<RecvRequest*> copying_;   // receives whose data a device copies
  std::vector<SendRequest*> pushing_;   // sends that move data
  uint64_t early_ = 0, most_kept_ = 0;  // for tools
  std::atomic<EarlyWatcher*> watcher_ = nullptr;
  uint32_t sends_since_look_ = 0;
  int receiving_ = 0;                          // large messages that are matched and not yet here
  bool copy_failed_ = false;                   // and that was said
  const wire::Signature* arriving_ = nullptr;  // of the frame that is being matched
};

}  // namespace tern::pml

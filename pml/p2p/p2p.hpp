// SPDX-License-Identifier: Apache-2.0
// P2p: the implementation of Pml, on top of a MessageEngine. Threads: see pml.hpp.
#pragma once

#include <memory>

#include "pml/p2p/engine.hpp"
#include "pml/pml.hpp"

namespace tern::pml {

class alignas(64) P2p final : public Pml {
 public:
  explicit P2p(core::Channel& channel, P2p* first = nullptr)
      : engine(channel, first == nullptr ? nullptr : &first->engine) {}

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
    engine.devices.avoid(device, of);
  }
  bool avoids(const cuda::Uuid& device, const cuda::Uuid& of) const noexcept override {
    return engine.devices.avoids(device, of);
  }
  std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle,
                                        cuda::Device& device) noexcept override {
    return engine.devices.map(handle, device);
  }
  btl::Endpoint* endpoint(core::Communicator& of, int rank, int* error) noexcept override;
  void interrupt(core::Communicator& communicator, const Failure& why) noexcept override;
  void lose(uint32_t peer_index, const Failure& why) noexcept override;
  void resume_pending(core::Communicator& of) noexcept override;
  bool tell_revoked(core::Communicator& of, int rank,
                    const core::ContextId& revoked) noexcept override;
  void for_communicators(const std::function<void(core::Communicator&)>& use) override {
    engine.matcher.contexts().for_each(use);
  }
  void add_context(core::Communicator& communicator) override {
    engine.matcher.contexts().add(communicator);
  }
  void remove_context(core::Communicator& communicator) noexcept override {
    engine.matcher.contexts().remove(communicator);
  }

  void describe_open(WaitReport* report) const override { engine.requests.describe_open(report); }
  void add_up(const core::Communicator* of, Statistics* sums) const noexcept override;
  void watch_early(EarlyWatcher* watcher) noexcept override { engine.matcher.watch_early(watcher); }

  MessageEngine engine;

 private:
  TERN_COLD int fail_later(int code, const Buffer& buffer, const Envelope& to, Mode mode,
                           core::Request** request) noexcept;
  TERN_COLD int fail_later(int code, const Buffer& buffer, const Envelope& from,
                           core::Request** request) noexcept;
  int isend_held(const Buffer& buffer, const Envelope& to, Mode mode,
                 core::Request** request) noexcept;
  int recv_at_once(const Buffer& buffer, const Envelope& from, btl::FrameQueue& queue,
                   core::Outcome* outcome) noexcept;

  uint32_t sends_since_look_ = 0;
};

}  // namespace tern::pml

// SPDX-License-Identifier: Apache-2.0
// Sm: the transport between the ranks of one host, over shared memory.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "btl/address_book.hpp"
#include "btl/btl.hpp"
#include "btl/sm/endpoint.hpp"
#include "btl/sm/slabs.hpp"
#include "btl/transport.hpp"

namespace tern::btl::sm {

class Sm final : public Btl, HostSegments {
 public:
  Sm(core::Process& process, Sink& sink, AddressBook& book);
  ~Sm() override;

  const char* name() const noexcept override { return "sm"; }
  std::string address() override;
  bool reaches(const core::Peer& peer) const noexcept override;
  Endpoint* connect(core::Peer& peer, uint32_t hint) override;
  int progress() noexcept override;
  bool is_met() const noexcept override;
  bool say_bye(const core::Peer& peer) noexcept override;
  void part(const core::Peer& peer) noexcept override;
  std::unique_ptr<Btl> for_channel(Sink& sink, uint32_t channel) override;
  Doorbell* doorbell() noexcept override { return &segment_->head().doorbell; }
  core::Slabs* slabs() noexcept override { return &slabs_; }
  void set_gone(bool gone) noexcept override {
    segment_->head().gone = gone ? SegmentHead::kLeft : 0;
  }

  [[nodiscard]] const Segment& segment() const noexcept override { return *segment_; }

 private:
  [[nodiscard]] bool reaches_segment(const core::Peer& peer) const noexcept override {
    return reaches(peer);
  }
  Attached& attached(const core::Peer& peer) override;
  Sm(core::Process& process, Sink& sink, AddressBook& book, uint32_t channel,
     std::shared_ptr<Segment> segment);
  [[nodiscard]] SmAddress address_of(const core::Peer& peer) const;
  [[nodiscard]] Segment attach(const SmAddress& address, const core::Peer& peer) const;
  [[nodiscard]] bool is_death(const Error& error) const noexcept;
  SmEndpoint& endpoint_to(const Destination& destination);
  [[nodiscard]] const SegmentHead::Claimed& claimed() const noexcept {
    return segment_->head().claimed[shared_.own_channel];
  }
  void meet_new_senders() noexcept;
  void meet_strangers() noexcept;
  void meet(core::Peer& peer, uint64_t writer, uint32_t ring);
  [[nodiscard]] core::Peer& own_world(uint64_t writer) const;
  [[nodiscard]] bool is_bound(uint32_t index, uint64_t writer) const noexcept;
  void look_after_strangers() noexcept;
  int drain(SmEndpoint& endpoint) noexcept;
  void give_up(const std::string& why) noexcept;
  [[nodiscard]] bool may_pass(const Error& error) noexcept;

  core::Process& process_;
  Sink& sink_;
  AddressBook& book_;
  const std::shared_ptr<Segment> segment_;
  Shared shared_;
  SmSlabs slabs_;                                    // refers to shared_
  std::unordered_map<uint32_t, Attached> attached_;  // by peer index
  std::vector<std::unique_ptr<SmEndpoint>> endpoints_;
  std::vector<SmEndpoint*> senders_;
  bool given_up_ = false;
  uint32_t met_ = 0;
  uint32_t met_strangers_ = 0;  // claims
  uint32_t strangers_ = 0;      // among endpoints_
  uint32_t rounds_ = 0;
  int64_t refused_since_ = 0, try_again_at_ = 0;
};

[[nodiscard]] std::vector<Trial> try_here();

}  // namespace tern::btl::sm

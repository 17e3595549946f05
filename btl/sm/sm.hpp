// SPDX-License-Identifier: Apache-2.0
// Sm: the transport between the ranks of one host, over shared memory.
// See: btl/README.md, tests/unit/btl/.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "btl/btl.hpp"
#include "btl/sm/endpoint.hpp"
#include "btl/sm/slabs.hpp"

namespace tern::btl::sm {

class Sm final : public Btl {
 public:
  /// Channel 0's.
  Sm(core::Process& process, Sink& sink);
  /// Of a further channel, in the segment of the first.
  Sm(core::Process& process, Sink& sink, uint32_t channel, const Sm& first);
  ~Sm() override;

  const char* name() const noexcept override { return "sm"; }
  void fill_connection_info(ConnectionInfo& info) override;
  bool reaches(const core::Peer& peer) const noexcept override;
  Endpoint* connect(core::Peer& peer, uint32_t hint) override;
  int progress() noexcept override;
  bool is_met() const noexcept override;
  void set_gone(bool gone) noexcept { segment_->head().gone = gone ? 1 : 0; }

  /// Where this rank sleeps and is rung.
  [[nodiscard]] Doorbell& doorbell() const noexcept { return segment_->head().doorbell; }
  [[nodiscard]] const Segment& segment() const noexcept { return *segment_; }
  [[nodiscard]] const core::Process& process() const noexcept { return process_; }
  [[nodiscard]] core::Slabs& slabs() noexcept { return slabs_; }
  /// A rank of this host; attached at the first call. Throws Error.
  const Attached& attached(const core::Peer& peer);

 private:
  Sm(core::Process& process, Sink& sink, uint32_t channel, std::shared_ptr<Segment> segment);
  [[nodiscard]] ConnectionInfo connection_info_of(const core::Peer& peer) const;
  SmEndpoint& endpoint_to(const Destination& destination);
  [[nodiscard]] uint32_t claimed(std::memory_order order) const noexcept;
  void meet_new_senders() noexcept;
  void meet(uint64_t writer, uint32_t ring);
  int drain(SmEndpoint& endpoint) noexcept;
  void give_up(const std::string& why) noexcept;
  [[nodiscard]] bool may_pass(const Error& error) noexcept;

  core::Process& process_;
  Sink& sink_;
  const std::shared_ptr<Segment> segment_;  // of all channels
  Shared shared_;
  SmSlabs slabs_;
  std::unordered_map<uint32_t, Attached> attached_;     // by rank
  std::vector<std::unique_ptr<SmEndpoint>> endpoints_;  // in the order of first contact
  std::vector<SmEndpoint*> senders_;                    // those with a ring towards this rank
  bool given_up_ = false;
  uint32_t met_ = 0;                              // rings of the channel's that are bound
  int64_t refused_since_ = 0, try_again_at_ = 0;  // the next one, for want of descriptors; now_ns()
};

}  // namespace tern::btl::sm

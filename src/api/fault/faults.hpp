// SPDX-License-Identifier: Apache-2.0
// Faults: fault tolerance of a process: detector, agreements and revocations.
// Life cycle: see FaultTolerance. Threads: any; see the functions.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "api/fault/agreements.hpp"
#include "api/fault/detector.hpp"
#include "api/job/fault.hpp"

namespace tern::api {

class Faults final : public FaultTolerance, public core::FaultWatch {
 public:
  /// Throws Error.
  explicit Faults(core::Process& process);
  ~Faults() override;
  void enter() override;
  [[nodiscard]] bool leave() noexcept override;
  [[nodiscard]] bool meet() noexcept override;

  [[nodiscard]] bool tolerated() const noexcept {
    return detector_ != nullptr && detector_->entered();
  }
  [[nodiscard]] Agreements& agreements() noexcept { return *agreements_; }

  /// The caller holds the lock of the communicator's channel.
  void revoke(core::Communicator& comm) noexcept;
  void heard_revoke(core::Channel& channel, const core::ContextId& id) noexcept override;
  void admit(core::Communicator& made, core::Channel* held) noexcept override;
  bool has_died(uint32_t peer_index) noexcept override {
    return tolerated() && detector_->finds_dead(peer_index);
  }
  void lost(uint32_t peer_index) noexcept override {
    if (detector_ != nullptr) detector_->add(peer_index);
  }
  void forget(const core::Communicator& ended) noexcept override;
  void set_range(core::Communicator& of, core::ErrorRange range) override;

 private:
  struct Heard;
  static int poll(void* of_channel) noexcept;
  void start_polling(Heard& heard);
  [[nodiscard]] int take_heard(Heard& heard) noexcept;
  [[nodiscard]] bool revoke_by_id(const core::ContextId& id, core::Channel& here) noexcept;
  void pass_on(core::Communicator& comm) noexcept;
  void pass_on_again(core::Channel& channel) noexcept;
  [[nodiscard]] bool was_revoked_before(const core::Communicator& made) noexcept;
  [[nodiscard]] bool is_in_range(const core::Communicator& comm) noexcept;
  void end_if_in_range(core::Communicator& comm) noexcept;
  void end_in_range(core::Channel& channel) noexcept;

  core::Process& process_;
  std::unique_ptr<Detector> detector_;
  std::unique_ptr<Agreements> agreements_;
  std::mutex mutex_;
  std::deque<core::ContextId> early_;  // revoked, not known here
  // Other than ErrorRange::kPartners.
  std::vector<std::pair<core::ContextId, core::ErrorRange>> ranges_;
  std::vector<std::unique_ptr<Heard>> by_channel_;
};

}  // namespace tern::api

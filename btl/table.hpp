// SPDX-License-Identifier: Apache-2.0
// The transports of this build, in the order in which they are asked.
#pragma once

#include <memory>
#include <vector>

#include "base/doorbell.hpp"
#include "btl/address_book.hpp"
#include "btl/btl.hpp"
#include "core/slabs.hpp"

namespace tern::btl {

/// All transports, and the way from a peer to its endpoint.
class Table {
 public:
  /// Makes every transport that can serve this process, for the channel of this number. `first`:
  /// channel 0's table, whose transports make those of further channels (null for itself). Throws
  /// Error.
  Table(core::Process& process, Sink& sink, uint32_t channel, Table* first);
  ~Table();

  /// The process's entry in the others' address books, without addresses.
  [[nodiscard]] ConnectionInfo own_info() const { return book_->own(); }
  /// Publishes the addresses of this channel, in `info` where they fit. Throws Error.
  void list_addresses(ConnectionInfo& info);
  /// The endpoint to the channel of a peer that serves `hint`, made at the first call. Throws Error
  /// where no transport reaches it.
  Endpoint& connect(core::Peer& peer, uint32_t hint);
  /// The transport that reaches the peer; throws Error where none does.
  [[nodiscard]] const Btl& require(const core::Peer& peer) const;
  /// One round over all transports: how many frames arrived.
  int progress() noexcept {
    int frames = 0;
    for (Btl* btl : polled_) frames += btl->progress();
    return frames;
  }
  /// See Btl.
  [[nodiscard]] bool is_met() const noexcept;
  [[nodiscard]] bool is_quiet() noexcept;
  void set_leaving() noexcept {
    for (const auto& btl : btls_) btl->set_leaving();
  }
  /// Those of the transports that have one.
  [[nodiscard]] std::vector<Alarm> alarms() const;
  /// Tells peers whether this rank is outside MPI, between two sessions. Channel 0's.
  void set_gone(bool gone) noexcept;
  /// Where this rank sleeps; nullptr where no peer can ring.
  [[nodiscard]] Doorbell* doorbell() const noexcept { return doorbell_; }
  /// What ranks of this host share; nullptr where this rank is alone on it.
  [[nodiscard]] core::Slabs* slabs() const noexcept { return slabs_; }

 private:
  void make_all(Sink& sink);

  core::Process& process_;
  const std::shared_ptr<AddressBook> book_;  // of all channels
  const uint32_t channel_;
  std::vector<std::unique_ptr<Btl>> btls_;
  std::vector<Btl*> polled_;
  Doorbell* doorbell_ = nullptr;
  core::Slabs* slabs_ = nullptr;
};

}  // namespace tern::btl

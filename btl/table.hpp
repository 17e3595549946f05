// SPDX-License-Identifier: Apache-2.0
// Table: the transports of one channel, in order of preference.
#pragma once

#include <memory>
#include <vector>

#include "base/doorbell.hpp"
#include "btl/address_book.hpp"
#include "btl/btl.hpp"
#include "core/slabs.hpp"

namespace tern::btl {

class Table {
 public:
  /// `first` is channel 0's table, or null for channel 0.
  Table(core::Process& process, Sink& sink, uint32_t channel, Table* first);
  ~Table();

  [[nodiscard]] ConnectionInfo own_info() const { return book_->own(); }
  void list_addresses(ConnectionInfo& info);
  /// For processes of other worlds: makes the transport of a host, or one between hosts, unless the
  /// job has such a transport already. `first` is channel 0's table, widened before, or null for
  /// channel 0. The caller holds the channel's lock. Throws Error.
  void widen(Sink& sink, Table* first, bool to_hosts);
  [[nodiscard]] bool reaches_hosts() const noexcept;
  /// See Btl.
  [[nodiscard]] bool say_bye(const core::Peer& peer) noexcept;
  void part(const core::Peer& peer) noexcept;
  [[nodiscard]] AddressBook& book() noexcept { return *book_; }
  /// connect() and require() throw Error if the peer is unreachable.
  Endpoint& connect(core::Peer& peer, uint32_t hint);
  [[nodiscard]] const Btl& require(const core::Peer& peer) const;
  int progress() noexcept {
    int frames = 0;
    for (Btl* btl : polled_) frames += btl->progress();
    return frames;
  }
  [[nodiscard]] bool is_met() const noexcept;
  [[nodiscard]] bool is_quiet() noexcept;
  void set_leaving() noexcept {
    for (const auto& btl : btls_) btl->set_leaving();
  }
  [[nodiscard]] std::vector<Alarm> alarms() const;
  void set_gone(bool gone) noexcept;
  [[nodiscard]] Doorbell* doorbell() const noexcept { return doorbell_; }
  [[nodiscard]] core::Slabs* slabs() const noexcept { return slabs_; }

 private:
  void make_all(Sink& sink);
  void use_all();

  core::Process& process_;
  const std::shared_ptr<AddressBook> book_;
  const uint32_t channel_;
  std::vector<std::unique_ptr<Btl>> btls_;
  std::vector<Btl*> polled_;
  Doorbell* doorbell_ = nullptr;
  core::Slabs* slabs_ = nullptr;
};

}  // namespace tern::btl

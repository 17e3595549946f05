// SPDX-License-Identifier: Apache-2.0
// The table of transports: a new one is a row here and a configure check.
#include "btl/table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "btl/transport.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "mpi.h"

// One row is the name of a folder.
#define TERN_TRANSPORTS(ROW) \
  ROW(self)                  \
  ROW(sm)

#define TERN_DECLARED(folder)        \
  namespace folder {                 \
  extern const Transport kTransport; \
  }
#define TERN_ROW(folder) &folder::kTransport,

namespace tern::btl {

TERN_TRANSPORTS(TERN_DECLARED)

std::span<const Transport* const> transports() noexcept {
  static constexpr const Transport* kTable[] = {TERN_TRANSPORTS(TERN_ROW)};
  return kTable;
}
#undef TERN_DECLARED
#undef TERN_ROW

Table::Table(core::Process& process, Sink& sink, uint32_t channel, Table* first)
    : process_(process),
      book_(first == nullptr ? std::make_shared<AddressBook>(process) : first->book_),
      channel_(channel) {
  if (first == nullptr) {
    for (const Transport* transport : transports())
      if (auto made = transport->make(process, sink, *book_); made != nullptr)
        btls_.push_back(std::move(made));
  } else {
    for (const auto& btl : first->btls_) btls_.push_back(btl->for_channel(sink, channel));
  }
  for (const auto& btl : btls_) {
    if (btl->is_polled()) polled_.push_back(btl.get());
    if (doorbell_ == nullptr) doorbell_ = btl->doorbell();
    if (slabs_ == nullptr) slabs_ = btl->slabs();
  }
}

Table::~Table() = default;

namespace {
[[noreturn]] void unreachable(const core::Peer& peer) {
  throw Error(MPI_ERR_OTHER,
              strf("no transport reaches rank %u: it is on another host, and this build has "
                   "transports for one host only",
                   peer.rank));
}
}  // namespace

void Table::list_addresses(ConnectionInfo& info) {
  for (auto& btl : btls_)
    if (const std::string address = btl->address(); !address.empty())
      book_->list(info, btl->name(), channel_, address);
}

Endpoint& Table::connect(core::Peer& peer, uint32_t hint) {
  for (auto& btl : btls_)
    if (Endpoint* endpoint = btl->connect(peer, hint); endpoint != nullptr) return *endpoint;
  unreachable(peer);
}

bool Table::is_met() const noexcept {
  return std::all_of(btls_.begin(), btls_.end(), [](const auto& btl) { return btl->is_met(); });
}

void Table::set_gone(bool gone) noexcept {
  for (const auto& btl : btls_) btl->set_gone(gone);
}

void Table::require(const core::Peer& peer) const {
  for (const auto& btl : btls_)
    if (btl->reaches(peer)) return;
  unreachable(peer);
}

}  // namespace tern::btl

// SPDX-License-Identifier: Apache-2.0
// Table: the list of transports.
#include "btl/table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "btl/transport.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "mpi.h"

#define TERN_TRANSPORTS(ROW) \
  ROW(self)                  \
  ROW(sm)                    \
  ROW(ucx)                   \
  ROW(ofi)

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

std::vector<Trial> try_transports() {
  std::vector<Trial> trials;
  for (const Transport* transport : transports())
    for (Trial& trial : transport->try_here()) trials.push_back(std::move(trial));
  return trials;
}
#undef TERN_DECLARED
#undef TERN_ROW

namespace {
const Transport* before_others = nullptr;
}
void put_before_others(const Transport& transport) noexcept { before_others = &transport; }

Table::Table(core::Process& process, Sink& sink, uint32_t channel, Table* first)
    : process_(process),
      book_(first == nullptr ? std::make_shared<AddressBook>(process) : first->book_),
      channel_(channel) {
  if (first == nullptr) {
    if (before_others != nullptr)
      if (auto made = before_others->make(process, sink, *book_); made != nullptr)
        btls_.push_back(std::move(made));
    make_all(sink);
  } else {
    for (const auto& btl : first->btls_) btls_.push_back(btl->for_channel(sink, channel));
  }
  use_all();
}

void Table::use_all() {
  polled_.clear();
  doorbell_ = nullptr;
  slabs_ = nullptr;
  for (const auto& btl : btls_) {
    if (btl->is_polled()) polled_.push_back(btl.get());
    if (doorbell_ == nullptr) doorbell_ = btl->doorbell();
    if (slabs_ == nullptr) slabs_ = btl->slabs();
  }
}

void Table::widen(Sink& sink, Table* first, bool to_hosts) {
  const auto is_wanted = [to_hosts](const auto& btl) {
    return to_hosts ? btl->may_lose_peers() : btl->name() == std::string_view(sm::kTransport.name);
  };
  if (std::any_of(btls_.begin(), btls_.end(), is_wanted)) return;
  std::unique_ptr<Btl> made;
  if (first != nullptr) {
    const auto there = std::find_if(first->btls_.begin(), first->btls_.end(), is_wanted);
    if (there != first->btls_.end()) made = (*there)->for_channel(sink, channel_);
  } else {
    for (const Transport* transport : transports())
      if (made == nullptr && transport != &self::kTransport &&
          (transport == &sm::kTransport) != to_hosts &&
          process_.params.permits_transport(transport->name))
        made = transport->make(process_, sink, *book_);
  }
  if (made == nullptr) return;
  btls_.insert(to_hosts ? btls_.end()
                        : std::find_if(btls_.begin(), btls_.end(),
                                       [](const auto& btl) { return btl->may_lose_peers(); }),
               std::move(made));
  use_all();
}

bool Table::reaches_hosts() const noexcept {
  return std::any_of(btls_.begin(), btls_.end(),
                     [](const auto& btl) { return btl->may_lose_peers(); });
}

bool Table::say_bye(const core::Peer& peer) noexcept {
  bool both = true;
  for (const auto& btl : btls_) both &= btl->say_bye(peer);
  return both;
}

void Table::part(const core::Peer& peer) noexcept {
  for (const auto& btl : btls_) btl->part(peer);
}

// goes_first() decides the order of transports between hosts.
void Table::make_all(Sink& sink) {
  const auto between = [](const auto& btl) { return btl->may_lose_peers(); };
  for (const Transport* transport : transports()) {
    if (transport != &self::kTransport && !process_.params.permits_transport(transport->name))
      continue;
    const auto first = std::find_if(btls_.begin(), btls_.end(), between);
    if (first != btls_.end() && transport->is_spare != nullptr && transport->is_spare(process_))
      continue;
    if (auto made = transport->make(process_, sink, *book_); made != nullptr)
      btls_.insert(made->goes_first() ? first : btls_.end(), std::move(made));
  }
  if (const auto first = std::find_if(btls_.begin(), btls_.end(), between); first != btls_.end())
    (*first)->require_settings();
}

Table::~Table() = default;

namespace {
[[noreturn]] void unreachable(const core::Process& process, const core::Peer& peer) {
  const bool here = peer.nspace == 0 && process.boot != nullptr &&
                    process.boot->is_local(static_cast<int>(peer.rank));
  throw Error(MPI_ERR_OTHER,
              strf("no transport reaches rank %u, which is %s (TERN_TRANSPORT=%s); "
                   "tern_info lists the transports that work here, and the needs of the others",
                   peer.rank,
                   here               ? "on this host"
                   : peer.nspace == 0 ? "on another host"
                                      : "of another world",
                   process.params.transport.c_str()));
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
  unreachable(process_, peer);
}

bool Table::is_met() const noexcept {
  return std::all_of(btls_.begin(), btls_.end(), [](const auto& btl) { return btl->is_met(); });
}

// A short circuit is wrong here, because each is_quiet() may start a flush.
bool Table::is_quiet() noexcept {
  bool quiet = true;
  for (const auto& btl : btls_) quiet &= btl->is_quiet();
  return quiet;
}

std::vector<Alarm> Table::alarms() const {
  std::vector<Alarm> alarms;
  for (const auto& btl : btls_)
    if (const Alarm alarm = btl->alarm(); alarm.arm != nullptr) alarms.push_back(alarm);
  return alarms;
}

void Table::set_gone(bool gone) noexcept {
  for (const auto& btl : btls_) btl->set_gone(gone);
}

const Btl& Table::require(const core::Peer& peer) const {
  for (const auto& btl : btls_)
    if (btl->reaches(peer)) return *btl;
  unreachable(process_, peer);
}

}  // namespace tern::btl

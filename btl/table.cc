// SPDX-License-Identifier: Apache-2.0
// The table of transports: a new one is a row here and a configure check.
#include "btl/table.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "btl/self/self.hpp"
#include "btl/sm/sm.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::btl {

Table::Table(core::Process& process, Sink& sink, uint32_t channel, Table* first)
    : process_(process) {
  btls_.push_back(std::make_unique<self::Self>(process, sink, channel));
  if (process.node_size > 1) {
    auto sm = first == nullptr ? std::make_unique<sm::Sm>(process, sink)
                               : std::make_unique<sm::Sm>(process, sink, channel, *first->sm_);
    doorbell_ = &sm->doorbell();
    polled_.push_back(sm.get());
    sm_ = sm.get();
    btls_.push_back(std::move(sm));
  }
}

Table::~Table() = default;

core::Slabs* Table::slabs() const noexcept { return sm_ == nullptr ? nullptr : &sm_->slabs(); }

namespace {
[[noreturn]] void unreachable(const core::Peer& peer) {
  throw Error(MPI_ERR_OTHER,
              strf("no transport reaches rank %u: it is on another host, and this build has "
                   "transports for one host only",
                   peer.rank));
}
}  // namespace

uint32_t shared_parameters(const core::Process& process) noexcept {
  const Params& set = process.params;
  uint64_t hash = (set.checks("types") ? 1U : 0U) + (set.checks("collective") ? 2U : 0U);
  // Collectives must choose alike on all ranks; what is not set counts nothing.
  uint64_t place = 2;
  for (const std::string* text :
       {&set.coll_table, &set.coll_levels, &set.coll_barrier, &set.coll_bcast, &set.coll_gather,
        &set.coll_scatter, &set.coll_allgather, &set.coll_alltoall, &set.coll_reduce,
        &set.coll_allreduce, &set.coll_reduce_scatter, &set.coll_scan, &set.coll_exscan}) {
    ++place;
    if (text->empty() || *text == "auto") continue;
    for (const char letter : *text)
      hash = ((hash + place) ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  }
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

ConnectionInfo Table::connection_info() {
  ConnectionInfo info{};
  info.wire_version = kWireVersion;
  info.parameter_hash = shared_parameters(process_);
  for (auto& btl : btls_) btl->fill_connection_info(info);
  return info;
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
  if (sm_ != nullptr) sm_->set_gone(gone);
}

void Table::require(const core::Peer& peer) const {
  for (const auto& btl : btls_)
    if (btl->reaches(peer)) return;
  unreachable(peer);
}

}  // namespace tern::btl

// SPDX-License-Identifier: Apache-2.0
// AddressBook: checked look-ups.
#include "btl/address_book.hpp"

#include <cstring>

#include "base/error.hpp"
#include "base/process_id.hpp"
#include "boot/boot.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::btl {
namespace {

uint16_t fold(uint64_t digest) noexcept {
  digest ^= digest >> 32;
  return static_cast<uint16_t>(digest ^ digest >> 16);
}

}  // namespace

ConnectionInfo AddressBook::own() const {
  ConnectionInfo info{};
  info.wire_version = kWireVersion;
  info.parameter_hash = process_.params.shared_hash();
  info.content_hash = fold(process_.params.content);
  info.machine = static_cast<uint32_t>(machine_id());
  info.channels = static_cast<uint8_t>(process_.channel_count());
  return info;
}

void AddressBook::list(ConnectionInfo& info, std::string_view transport, uint32_t channel,
                       const std::string& address) {
  std::string other;
  const bool elsewhere = info.find(transport, channel, &other) == ConnectionInfo::Found::kElsewhere;
  if (!elsewhere && info.add(transport, channel, address)) return;
  if (!elsewhere && !info.add_elsewhere(transport))
    throw Error(MPI_ERR_INTERN,
                strf("the connection info has no room for an address of transport %.*s, channel %u",
                     static_cast<int>(transport.size()), transport.data(), channel));
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto [at, is_new] = own_long_.try_emplace(address_key(transport, channel), address);
    if (!is_new && at->second == address) return;
    at->second = address;
  }
  process_.boot->put(address_key(transport, channel), address);
}

const ConnectionInfo& AddressBook::of(const core::Peer& peer) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto known = known_.find(peer.index);
    if (known != known_.end()) return known->second;
  }
  if (peer.nspace != 0)
    throw Error(MPI_ERR_OTHER, strf("rank %u of another world has left", peer.rank));
  const auto info =
      boot::connection_info_as<ConnectionInfo>(*process_.boot, static_cast<int>(peer.rank));
  check(info, peer.rank);
  check_content(info, peer.rank);
  const std::lock_guard<std::mutex> guard(mutex_);
  return known_.emplace(peer.index, info).first->second;
}

AddressBook::LongAddresses AddressBook::own_long() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return own_long_;
}

void AddressBook::learn(const core::Peer& peer, const ConnectionInfo& info,
                        LongAddresses addresses) {
  check(info, peer.rank);
  const std::lock_guard<std::mutex> guard(mutex_);
  known_.insert_or_assign(peer.index, info);
  strangers_.insert_or_assign(peer.index, std::move(addresses));
}

void AddressBook::forget(const core::Peer& peer) {
  const std::lock_guard<std::mutex> guard(mutex_);
  known_.erase(peer.index);
  strangers_.erase(peer.index);
}

std::string AddressBook::of_stranger(const core::Peer& peer, const std::string& key) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = strangers_.find(peer.index);
  if (found == strangers_.end()) return {};
  const auto address = found->second.find(key);
  return address == found->second.end() ? std::string() : address->second;
}

void AddressBook::check_content(const ConnectionInfo& info, uint32_t rank) const {
  if (info.content_hash == fold(process_.params.content)) return;
  const auto shown = [](const std::string& file) { return file.empty() ? "none" : file.c_str(); };
  throw Error(MPI_ERR_OTHER,
              strf("rank %u and this rank differ in the content of TERN_TOPOLOGY (here %s) or "
                   "TERN_COLL_TABLE (here %s): give all ranks of the job equal files",
                   rank, shown(process_.params.topology), shown(process_.params.coll_table)));
}

void AddressBook::check(const ConnectionInfo& info, uint32_t rank) const {
  if (info.wire_version != kWireVersion)
    throw Error(MPI_ERR_OTHER, strf("rank %u has wire version %u, but this rank has %u: run all "
                                    "ranks with the same installation of Tern",
                                    rank, info.wire_version, kWireVersion));
  if (info.parameter_hash != process_.params.shared_hash())
    throw Error(MPI_ERR_OTHER,
                strf("rank %u and this rank differ in parameters that must be equal on all ranks; "
                     "set them with mpirun -genv. The parameters are %s",
                     rank, process_.params.shared_in_words().c_str()));
  constexpr uint32_t kMost = core::Process::kMostChannels;
  if (info.channels == 0 || info.channels > kMost || (info.channels & (info.channels - 1)) != 0)
    throw Error(MPI_ERR_OTHER,
                strf("the connection info of rank %u has %u channels, but the range is 1..%u", rank,
                     info.channels, kMost));
}

std::string AddressBook::address(const core::Peer& peer, std::string_view transport,
                                 uint32_t channel) {
  std::string found;
  if (of(peer).find(transport, channel, &found) == ConnectionInfo::Found::kElsewhere)
    found = peer.nspace == 0
                ? process_.boot->get(static_cast<int>(peer.rank), address_key(transport, channel))
                : of_stranger(peer, address_key(transport, channel));
  return found;
}

void AddressBook::take(const core::Peer& peer, std::string_view transport, uint32_t channel,
                       void* to, size_t bytes) {
  const std::string found = address(peer, transport, channel);
  if (found.size() != bytes)
    throw Error(
        MPI_ERR_OTHER,
        strf("the connection info of rank %u has %zu bytes for transport %.*s, but %zu are "
             "needed",
             peer.rank, found.size(), static_cast<int>(transport.size()), transport.data(), bytes));
  std::memcpy(to, found.data(), bytes);
}

}  // namespace tern::btl

// SPDX-License-Identifier: Apache-2.0
// Network: first contacts and received frames.
#include "btl/net/network.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/process_id.hpp"
#include "boot/boot.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::btl::net {
namespace {

uint64_t key_of(uint32_t index, uint32_t channel) noexcept {
  return uint64_t{index} * core::Process::kMostChannels + channel;
}

}  // namespace

Network::Network(core::Process& process, Sink& sink, AddressBook& book, uint32_t channel,
                 LibraryFacts library)
    : process_(process),
      sink_(sink),
      book_(book),
      channel_(channel),
      library_(std::move(library)),
      cookie_(static_cast<uint32_t>(random_word())) {
  if (channel == 0 && process.explain.on()) explain();
}

std::string Network::in_words() const {
  const auto set = EnvironmentPresets::of_user(library_.interfaces);
  return !set ? words_on(interfaces(), library_.choice, library_.interfaces)
              : strf("%s=%s selects the interfaces", library_.interfaces, set->c_str());
}

bool Network::speaks_for_host() const { return process_.boot->job().local_index == 0; }

void Network::require_settings() {
  for (const std::string& remark : remarks_on(process_.params, library_.served))
    if (speaks_for_host()) log_line("%s", remark.c_str());
}

void Network::explain() const {
  if (!speaks_for_host()) return;
  const std::string words = in_words();
  const std::string& settings = library_.settings;
  process_.explain.say("network",
                       {{"library", library_.name}, {"interfaces", words}, {"settings", settings}},
                       strf("%s reaches other hosts: %s%s%s", library_.name, words.c_str(),
                            settings.empty() ? "" : "; settings: ", settings.c_str()));
}

std::string Network::why_lost(const NetEndpoint& endpoint) const {
  const std::string why = endpoint.fate.why();
  return endpoint.has_arrivals() ? why : why + "; " + in_words();
}

// A published address is the cookie, then the library's bytes.
std::string Network::address() {
  const std::string bytes(reinterpret_cast<const char*>(&cookie_), sizeof cookie_);
  return bytes + library_address();
}

bool Network::reaches(const core::Peer& peer) const noexcept {
  return static_cast<int>(peer.index) != process_.world_rank;
}

bool Network::shares_machine(const core::Peer& peer) const {
  return book_.of(peer).machine == static_cast<uint32_t>(machine_id());
}

NetEndpoint* Network::known(uint32_t index, uint32_t channel) noexcept {
  const auto found = endpoints_.find(key_of(index, channel));
  return found == endpoints_.end() ? nullptr : found->second.get();
}

Endpoint* Network::connect(core::Peer& peer, uint32_t hint) {
  if (!reaches(peer)) return nullptr;
  const uint32_t channels = book_.of(peer).channels;
  const uint32_t channel = hint & (channels - 1);
  if (NetEndpoint* const made = known(peer.index, channel); made != nullptr) return made;
  const std::string address = book_.address(peer, name(), channel);
  return address.empty() ? nullptr : &endpoint_to(peer, channel, channels, address);
}

NetEndpoint& Network::endpoint_to(core::Peer& peer, uint32_t channel, uint32_t channels,
                                  const std::string& address) {
  Origin own{0, static_cast<uint32_t>(process_.world_rank), 0, static_cast<uint8_t>(channel_),
             static_cast<uint8_t>(peer.there)};
  if (address.size() <= sizeof own.cookie)
    throw Error(MPI_ERR_OTHER, strf("rank %u published an address of only %zu bytes for %s",
                                    peer.rank, address.size(), library_.name));
  std::memcpy(&own.cookie, address.data(), sizeof own.cookie);
  std::unique_ptr<NetEndpoint> endpoint;
  try {
    endpoint =
        make_endpoint(Destination{peer, channel, channels}, address.substr(sizeof own.cookie), own);
  } catch (const Error& error) {
    throw Error(error.mpi_class(), strf("%s; %s", error.what(), in_words().c_str()));
  }
  return *(endpoints_[key_of(peer.index, channel)] = std::move(endpoint));
}

void Network::arrived(std::span<const std::byte> message) noexcept {
  WireHead frame;
  if (message.size() < sizeof frame) return refuse("not a frame of Tern");
  std::memcpy(&frame, message.data(), sizeof frame);
  const auto payload = message.subspan(sizeof frame);
  if (frame.origin.cookie != cookie_) return refuse("addressed to another process");
  if (frame.header.bytes != payload.size() && frame.header.bytes != 0)
    return refuse("wrong length");
  try {
    take(frame, payload);
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}

bool Network::say_bye(const core::Peer& peer) noexcept {
  bool both = true;
  for (uint32_t channel = 0; channel < core::Process::kMostChannels; ++channel)
    if (NetEndpoint* const endpoint = known(peer.index, channel); endpoint != nullptr)
      both &= endpoint->say_bye();
  return both;
}

void Network::part(const core::Peer& peer) noexcept {
  for (uint32_t channel = 0; channel < core::Process::kMostChannels; ++channel) {
    const auto found = endpoints_.find(key_of(peer.index, channel));
    if (found == endpoints_.end()) continue;
    if (!close(*found->second)) parted_.push_back(std::move(found->second));
    endpoints_.erase(found);
  }
}

std::optional<uint32_t> Network::sender_of(const Origin& origin) const {
  if (TERN_UNLIKELY(origin.nspace != 0)) return process_.worlds.find(origin.nspace, origin.rank);
  if (origin.rank >= static_cast<uint32_t>(process_.world_size) ||
      static_cast<int>(origin.rank) == process_.world_rank)
    return std::nullopt;
  return origin.rank;
}

void Network::take(const WireHead& head, std::span<const std::byte> payload) {
  const Origin& origin = head.origin;
  const std::optional<uint32_t> index = sender_of(origin);
  NetEndpoint* endpoint = nullptr;
  if (TERN_LIKELY(index && origin.channel < core::Process::kMostChannels))
    endpoint = known(*index, origin.channel);
  if (TERN_UNLIKELY(endpoint == nullptr)) {
    if (!index && head.header.mark == kBye) return;  // this rank did not wait for it
    if (!index) return refuse("the sender is not another rank of this job, nor of a world it met");
    core::Peer& peer = process_.peer(*index);
    const uint32_t channels = book_.of(peer).channels;
    if (origin.channel >= channels) return refuse("the sender has no such channel");
    const std::string address = book_.address(peer, name(), origin.channel);
    if (address.empty()) return refuse("the sender published no address of this transport");
    endpoint = &endpoint_to(peer, origin.channel, channels, address);
  }
  if (!endpoint->arrive(head, payload)) return refuse("wrong sequence number");
  ++frames_;
}

void Network::refuse(const char* why) noexcept {
  if (told_refusal_) return;
  told_refusal_ = true;
  log_line("dropped a frame received over %s: %s (further frames are dropped silently)",
           library_.name, why);
}

void Network::look_after_peers() noexcept {
  constexpr int64_t kLooks = 16, kLongestNs = 500'000'000, kNsPerUs = 1000;
  const int64_t now = now_ns();
  if (now < next_look_ns_) return;
  const int64_t timeout = process_.params.net_timeout * kNsPerUs;
  const int64_t period = std::min(timeout / kLooks, kLongestNs);
  watched_ns_ += std::min(now - looked_ns_, 2 * kLongestNs);
  looked_ns_ = now;
  next_look_ns_ = now + period;
  if (DeviceCache* const cache = devices(); cache != nullptr) cache->drop_freed();
  if (endpoints_.empty()) return;
  look_at_connections(watched_ns_);
  for (auto& [key, endpoint] : endpoints_) endpoint->look_after(watched_ns_, timeout);
}

bool is_wanted(const core::Process& process, const char* transport) noexcept {
  if (process.boot == nullptr) return false;
  if (process.meets_worlds) return true;
  if (process.world_size < 2) return false;
  return process.node.ranks < process.world_size || process.params.names_transport(transport);
}

}  // namespace tern::btl::net

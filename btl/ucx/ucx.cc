// SPDX-License-Identifier: Apache-2.0
// Ucx: contacts, arrivals, the round.
#include "btl/ucx/ucx.hpp"

#include <cstring>
#include <random>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "btl/ucx/sockets.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::btl::ucx {
namespace {

constexpr int kLooks = 3;

// What is published: the cookie, then UCX's own bytes.
struct PeerAddress {
  uint32_t cookie;
  std::string worker;
};

PeerAddress address_from(const std::string& bytes, uint32_t rank) {
  PeerAddress address{};
  if (bytes.size() <= sizeof address.cookie)
    throw Error(
        MPI_ERR_OTHER,
        strf("rank %u has published an address of %zu bytes for UCX: too few", rank, bytes.size()));
  std::memcpy(&address.cookie, bytes.data(), sizeof address.cookie);
  address.worker = bytes.substr(sizeof address.cookie);
  return address;
}

uint64_t key_of(uint32_t rank, uint32_t channel) noexcept {
  return uint64_t{rank} * core::Process::kMostChannels + channel;
}

}  // namespace

Ucx::Ucx(core::Process& process, Sink& sink, AddressBook& book, std::shared_ptr<Context> context,
         uint32_t channel)
    : process_(process),
      sink_(sink),
      book_(book),
      channel_(channel),
      cookie_(std::random_device{}()),
      worker_(std::move(context)) {
  worker_.puts_itself = puts_itself(worker_.context);
  worker_.receive_frames(&Ucx::arrived, this);
  if (worker_.descriptor() < 0) process_.channel(channel_).progress.stay_awake(1);
}

Ucx::~Ucx() {
  if (worker_.descriptor() < 0) process_.channel(channel_).progress.stay_awake(-1);
  worker_.sink_gone = true;
  std::vector<void*> closing;
  for (auto& [key, endpoint] : endpoints_)
    if (void* const request = endpoint->close(); request != nullptr) closing.push_back(request);
  constexpr int kRounds = 100000;
  for (void* const request : closing) {
    for (int i = 0; i < kRounds; ++i) {
      if (worker_.ucp.ucp_request_check_status(request) != UCS_INPROGRESS) break;
      worker_.progress();
    }
    worker_.ucp.ucp_request_free(request);
  }
}

std::unique_ptr<Btl> Ucx::for_channel(Sink& sink, uint32_t channel) {
  return std::make_unique<Ucx>(process_, sink, book_, worker_.context, channel);
}

std::string Ucx::address() {
  std::string bytes(reinterpret_cast<const char*>(&cookie_), sizeof cookie_);
  return bytes + worker_.address();
}

bool Ucx::reaches(const core::Peer& peer) const noexcept {
  return peer.nspace == 0 && static_cast<int>(peer.rank) != process_.world_rank;
}

Endpoint* Ucx::connect(core::Peer& peer, uint32_t hint) {
  if (!reaches(peer)) return nullptr;
  const uint32_t channels = book_.of(peer).channels;
  return &endpoint_to(peer, hint & (channels - 1), channels);
}

UcxEndpoint& Ucx::endpoint_to(core::Peer& peer, uint32_t channel, uint32_t channels) {
  auto& endpoint = endpoints_[key_of(peer.rank, channel)];
  if (endpoint == nullptr) {
    const std::string bytes = book_.address(peer, name(), channel);
    if (bytes.empty())
      throw Error(MPI_ERR_OTHER,
                  strf("rank %u has no UCX, but this rank has: install it on every host, or choose "
                       "a transport that all have by TERN_TRANSPORT",
                       peer.rank));
    const PeerAddress address = address_from(bytes, peer.rank);
    const Origin own{address.cookie, static_cast<uint32_t>(process_.world_rank), 0,
                     static_cast<uint8_t>(channel_), 0};
    looks_for_sockets_ = kLooks;
    const Caps caps{.peeks = false,
                    .maps = process_.boot->is_local(static_cast<int>(peer.rank)),
                    .direct = Worker::kMostDirect,
                    .puts = true,
                    .puts_itself = worker_.puts_itself};
    endpoint = std::make_unique<UcxEndpoint>(worker_, sink_, Destination{peer, channel, channels},
                                             caps, address.worker, own);
  }
  return *endpoint;
}

ucs_status_t Ucx::arrived(void* self, const void*, size_t head_bytes, void* message, size_t length,
                          const ucp_am_recv_param_t* how) noexcept {
  Ucx& ucx = *static_cast<Ucx*>(self);
  WireHead frame;
  if (head_bytes != 0 || length < sizeof frame ||
      (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    ucx.refuse("it is no frame of Tern");
    return UCS_OK;
  }
  std::memcpy(&frame, message, sizeof frame);
  const size_t bytes = length - sizeof frame;
  if ((frame.header.bytes != bytes && frame.header.bytes != 0) ||
      frame.origin.cookie != ucx.cookie_) {
    ucx.refuse(frame.origin.cookie == ucx.cookie_ ? "its length is wrong"
                                                  : "it was meant for another");
    return UCS_OK;
  }
  try {
    ucx.take(frame, {static_cast<const std::byte*>(message) + sizeof frame, bytes});
  } catch (const std::exception& error) {
    ucx.refuse(error.what());
  }
  return UCS_OK;
}

void Ucx::take(const WireHead& head, std::span<const std::byte> payload) {
  const Origin& origin = head.origin;
  if (origin.rank >= static_cast<uint32_t>(process_.world_size) || origin.nspace != 0 ||
      static_cast<int>(origin.rank) == process_.world_rank)
    return refuse("it names no other rank of this job");
  core::Peer& peer = process_.peer(origin.rank);
  const uint32_t channels = book_.of(peer).channels;
  if (origin.channel >= channels) return refuse("it names a channel that its sender does not have");
  if (!endpoint_to(peer, origin.channel, channels).arrive(head, payload))
    return refuse("its place in the sequence of frames is wrong");
  ++frames_;
}

// It costs the sender a frame, never this process.
void Ucx::refuse(const char* why) noexcept {
  if (told_refusal_) return;
  told_refusal_ = true;
  log_line("a frame that came over UCX is dropped: %s (further ones are dropped in silence)", why);
}

// Its frames that UCX still has come back with an error when its endpoint is closed.
void Ucx::give_up_failed() noexcept {
  worker_.has_failures = false;
  for (auto& [key, endpoint] : endpoints_) {
    if (endpoint->status() == UCS_OK || endpoint->closed()) continue;
    if (void* const request = endpoint->close(); request != nullptr)
      worker_.ucp.ucp_request_free(request);
    if (!leaving_) sink_.failed(*endpoint, worker_.ucp.ucs_status_string(endpoint->status()));
  }
}

// Now, soon, and a second later.
void Ucx::limit_silence_of_new() noexcept {
  constexpr int64_t kSoonNs = 50'000'000, kLaterNs = 1'000'000'000;
  const int64_t now = now_ns();
  if (looks_for_sockets_ < kLooks && now < next_look_ns_) return;
  next_look_ns_ = now + (looks_for_sockets_ == kLooks ? kSoonNs : kLaterNs);
  --looks_for_sockets_;
  (void)limit_silence(worker_.descriptor(), process_.params.net_timeout);
}

Alarm Ucx::alarm() noexcept {
  const int fd = worker_.descriptor();
  if (fd < 0) return {};
  return {fd, [](void* self) noexcept { return static_cast<Ucx*>(self)->arm(); }, this};
}

// The next round is to look in any case. UCX has versions that are busy for ever: after a few
// refusals the sleep is tried, which a readable descriptor ends at once.
bool Ucx::arm() noexcept {
  constexpr int kRefusals = 3;
  idle_rounds_ = 0;
  const bool armed = worker_.ucp.ucp_worker_arm(worker_.get()) == UCS_OK;
  busy_ = armed ? 0 : busy_ + 1;
  return armed || busy_ > kRefusals;
}

// On tcp a look that finds nothing is a system call, dearer than a message in shared memory: while
// nothing comes over the network, it is looked at every 32nd round.
int Ucx::progress() noexcept {
  constexpr uint32_t kAttentive = 1000, kSeldom = 31;
  if (idle_rounds_ > kAttentive && !worker_.has_under_way() && (++idle_rounds_ & kSeldom) != 0)
    return 0;
  frames_ = 0;
  const bool events = worker_.progress() != 0;
  if (TERN_UNLIKELY(worker_.has_failures)) give_up_failed();
  if (TERN_UNLIKELY(looks_for_sockets_ != 0)) limit_silence_of_new();
  if (events)
    idle_rounds_ = 0;
  else if (idle_rounds_ <= kAttentive)
    ++idle_rounds_;
  return frames_ + (events ? 1 : 0);
}

namespace {

// Only a job that leaves its host opens UCX, or one that is told to.
bool is_wanted(const core::Process& process) {
  if (process.boot == nullptr || process.world_size < 2) return false;
  return process.node_size < process.world_size || process.params.names_transport("ucx");
}

std::unique_ptr<Btl> make(core::Process& process, Sink& sink, AddressBook& book) {
  if (!is_wanted(process)) return nullptr;
  std::string why;
  const Library* const opened = library(process.params.ucx_library, &why);
  if (opened == nullptr) {
    log_line("UCX cannot be opened, so that ranks of other hosts are not reached: %s", why.c_str());
    return nullptr;
  }
  auto context = std::make_shared<Context>(*opened, static_cast<size_t>(process.world_size),
                                           static_cast<size_t>(process.node_size),
                                           process.channel_count() > 1);
  return std::make_unique<Ucx>(process, sink, book, std::move(context), 0);
}

}  // namespace

extern const Transport kTransport{
    .name = "ucx", .reaches = "ranks of other hosts", .make = make, .try_here = try_here};

}  // namespace tern::btl::ucx

// SPDX-License-Identifier: Apache-2.0
// Ucx: first contacts, received frames, progress.
#include "btl/ucx/ucx.hpp"

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::btl::ucx {

Ucx::Ucx(core::Process& process, Sink& sink, AddressBook& book, std::shared_ptr<UcpContext> context,
         uint32_t channel)
    : Network(process, sink, book, channel,
              {"UCX", "UCX_NET_DEVICES", context->choice, net::in_words(context->options),
               context->served()}),
      worker_(std::move(context)),
      pulse_(worker_.context) {
  worker_.devices = std::make_shared<net::DeviceCache>(
      process, [of = worker_.context](const cuda::Memory& allocation) {
        return register_device(of, allocation);
      });
  worker_.receive_frames(&Ucx::arrived, this);
  if (worker_.descriptor() < 0) process_.channel(channel_).progress.stay_awake(1);
}

Ucx::~Ucx() {
  if (worker_.descriptor() < 0) process_.channel(channel_).progress.stay_awake(-1);
  worker_.sink_gone = true;
  std::vector<void*> closing;
  for (auto& [key, endpoint] : endpoints_)
    if (void* const request = static_cast<UcxEndpoint&>(*endpoint).close(); request != nullptr)
      closing.push_back(request);
  (void)await(closing);
  for (auto& [key, endpoint] : endpoints_) static_cast<UcxEndpoint&>(*endpoint).forget_pulse();
}

bool Ucx::await(const std::vector<void*>& closing) noexcept {
  constexpr int kRounds = 100000;
  bool all = true;
  for (void* const request : closing) {
    int rounds = 0;
    while (worker_.ucp.ucp_request_check_status(request) == UCS_INPROGRESS && rounds++ < kRounds)
      worker_.progress();
    all &= rounds < kRounds;
    worker_.ucp.ucp_request_free(request);
  }
  return all;
}

bool Ucx::close(net::NetEndpoint& endpoint) noexcept {
  auto& ours = static_cast<UcxEndpoint&>(endpoint);
  const bool was_lost = ours.closed();
  void* const request = ours.close();
  const bool ended = request == nullptr || await({request});
  ours.forget_pulse();
  return ended && !was_lost;
}

std::unique_ptr<Btl> Ucx::for_channel(Sink& sink, uint32_t channel) {
  return std::make_unique<Ucx>(process_, sink, book_, worker_.context, channel);
}

std::unique_ptr<net::NetEndpoint> Ucx::make_endpoint(const Destination& leads_to,
                                                     const std::string& address,
                                                     const Origin& own) {
  return std::make_unique<UcxEndpoint>(process_, worker_, sink_, leads_to,
                                       shares_machine(leads_to.peer), unpacked(address), own);
}

ucs_status_t Ucx::arrived(void* self, const void*, size_t head_bytes, void* message, size_t length,
                          const ucp_am_recv_param_t* how) noexcept {
  auto& ucx = *static_cast<Ucx*>(self);
  if (head_bytes != 0 || (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
    ucx.refuse("not a frame of Tern");
  else
    ucx.Network::arrived({static_cast<const std::byte*>(message), length});
  return UCS_OK;
}

// Closing the endpoint returns unsent frames with an error.
void Ucx::give_up_failed() noexcept {
  worker_.has_failures = false;
  for (auto& [key, made] : endpoints_) {
    auto& endpoint = static_cast<UcxEndpoint&>(*made);
    if (!endpoint.fate.dead_locked() || endpoint.closed()) continue;
    if (void* const request = endpoint.close(); request != nullptr)
      worker_.ucp.ucp_request_free(request);
    if (!leaving_ && !endpoint.heard_bye()) sink_.failed(endpoint, why_lost(endpoint));
  }
}

void Ucx::look_at_connections(int64_t now_ns) noexcept {
  if (const int fd = worker_.descriptor(); fd >= 0) (void)worker_.sockets.look_below(fd, now_ns);
}

Alarm Ucx::alarm() noexcept {
  const int fd = worker_.descriptor();
  if (fd < 0) return {};
  return {fd, [](void* self) noexcept { return static_cast<Ucx*>(self)->arm(); }, this};
}

// Some versions of UCX are always busy, so the rank sleeps for a moment after a few refusals.
Armed Ucx::arm() noexcept {
  constexpr int kRefusals = 3;
  attention_.wake();
  look_after_peers();
  const bool armed = worker_.ucp.ucp_worker_arm(worker_.get()) == UCS_OK;
  busy_ = armed ? 0 : busy_ + 1;
  if (armed) return Armed::kYes;
  return busy_ > kRefusals ? Armed::kUnsure : Armed::kPending;
}

int Ucx::progress() noexcept {
  constexpr uint32_t kRoundsBetweenLooks = 63;
  if (TERN_UNLIKELY((++rounds_ & kRoundsBetweenLooks) == 0)) look_after_peers();
  if (!attention_.is_due(worker_.has_under_way() || worker_.has_failures)) return 0;
  frames_ = 0;
  const bool events = worker_.progress() != 0;
  if (TERN_UNLIKELY(worker_.has_failures)) give_up_failed();
  attention_.looked(events);
  return frames_ + (events ? 1 : 0);
}

namespace {

std::unique_ptr<Btl> make(core::Process& process, Sink& sink, AddressBook& book) {
  if (!net::is_wanted(process, "ucx")) return nullptr;
  std::string why;
  const Library* const opened = library(process.params.ucx_library, &why);
  if (opened == nullptr) {
    log_line("cannot open UCX, so ranks on other hosts are unreachable: %s", why.c_str());
    return nullptr;
  }
  const net::Choice choice = EnvironmentPresets::of_user("UCX_NET_DEVICES")
                                 ? net::Choice{}
                                 : net::choose_for(process, process.params.net_rails);
  auto context = std::make_shared<UcpContext>(
      *opened, process.params, choice,
      UcpContext::Job{static_cast<size_t>(process.world_size),
                      static_cast<size_t>(process.node.ranks), process.channel_count() > 1});
  require_lockable_memory(context);
  return std::make_unique<Ucx>(process, sink, book, std::move(context), 0);
}

}  // namespace

extern const Transport kTransport{
    .name = "ucx", .reaches = "ranks of other hosts", .make = make, .try_here = try_here};

}  // namespace tern::btl::ucx

// SPDX-License-Identifier: Apache-2.0
// Ofi: first contacts, completions, progress.
#include "btl/ofi/ofi.hpp"

#include <array>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "boot/boot.hpp"
#include "btl/net/options.hpp"
#include "btl/net/trial.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "cuda/driver.hpp"
#include "mpi.h"
#include "topo/cpus.hpp"

namespace tern::btl::ofi {
namespace {

// The published address is the length of the provider's name, the name, whether the rank has RDMA,
// and libfabric's address.
struct PeerAddress {
  std::string provider;
  bool has_rdma = false;
  std::string port;
};

PeerAddress address_from(const std::string& bytes) {
  const size_t length = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
  const size_t front = 1 + length + 1;
  if (bytes.size() < front) return {};
  return {bytes.substr(1, length), bytes[front - 1] != 0, bytes.substr(front)};
}

// A wait descriptor makes polls dearer, so a rank with a core and a dedicated adapter uses none.
bool is_to_sleep(const core::Process& process, const Fabric& fabric) {
  if (!fabric.sleeps_well()) return false;
  return !fabric.is_fast() || process.node.oversubscribed ||
         process.params.progress == ProgressBy::kThread;
}

std::string settings_in_words(const core::Process& process, const Fabric& fabric) {
  const std::string options = net::in_words(net::options_for(process.params, fabric.served()));
  if (!fabric.is_fast()) return options;
  return strf("%s%sadapter %s", options.c_str(), options.empty() ? "" : ", ", fabric.domain());
}

}  // namespace

Ofi::Ofi(core::Process& process, Sink& sink, AddressBook& book,
         std::shared_ptr<const Fabric> fabric, uint32_t channel)
    : Network(process, sink, book, channel,
              {"libfabric", fabric->interface_variable(), fabric->interfaces(),
               settings_in_words(process, *fabric), fabric->served()}),
      port_(fabric, is_to_sleep(process, *fabric), process.params.net_timeout) {
  port_.transfers().devices = std::make_shared<net::DeviceCache>(
      process, [fabric, regions = port_.transfers().regions](const cuda::Memory& allocation) {
        return register_device(*fabric, regions, allocation);
      });
  port_.post_all();
  if (port_.descriptor() < 0) process_.channel(channel_).progress.stay_awake(1);
}

Ofi::~Ofi() {
  if (port_.descriptor() < 0) process_.channel(channel_).progress.stay_awake(-1);
  port_.sink_gone = true;
}

// psm3 reads variables with each endpoint.
std::unique_ptr<Btl> Ofi::for_channel(Sink& sink, uint32_t channel) {
  EnvironmentPresets presets;
  for (const net::Option& one : net::options_for(process_.params, port_.fabric->served()))
    presets.set(one.name, one.value);
  return std::make_unique<Ofi>(process_, sink, book_, port_.fabric, channel);
}

std::string Ofi::library_address() {
  const std::string& provider = port_.fabric->provider();
  const std::string own = port_.address();
  if (port_.fabric->is_sockets()) port_.sockets.add(own);
  const auto has_rdma = static_cast<char>(port_.fabric->has_rdma());
  return static_cast<char>(provider.size()) + provider + has_rdma + own;
}

std::unique_ptr<net::NetEndpoint> Ofi::make_endpoint(const Destination& leads_to,
                                                     const std::string& address,
                                                     const Origin& own) {
  const PeerAddress theirs = address_from(address);
  if (theirs.provider != port_.fabric->provider())
    throw Error(
        MPI_ERR_OTHER,
        strf("rank %u uses libfabric's provider \"%s\", but this rank uses \"%s\": set "
             "TERN_OFI_PROVIDER to a provider of all hosts (tern_info lists them)",
             leads_to.peer.rank, theirs.provider.c_str(), port_.fabric->provider().c_str()));
  if (port_.fabric->is_sockets()) port_.sockets.add(theirs.port);
  return std::make_unique<OfiEndpoint>(process_, port_, sink_, leads_to,
                                       shares_machine(leads_to.peer), theirs.port,
                                       theirs.has_rdma && port_.fabric->has_rdma(), own);
}

bool Ofi::ended(CompletionContext& context, int error) noexcept {
  using Of = CompletionContext::Of;
  if (context.of == Of::kSending) {
    auto& sending = static_cast<Sending&>(context);
    sending.endpoint->ended(sending, error);
  } else if (context.of == Of::kTransfer) {
    auto& transfer = static_cast<Transfer&>(context);
    transfer.endpoint->ended(transfer, error);
  }
  return context.of != Of::kReceive;
}

void Ofi::completed(const fi_cq_data_entry& entry) noexcept {
  auto& context = *static_cast<CompletionContext*>(entry.op_context);
  if (ended(context, 0)) return;
  auto& receive = static_cast<Receive&>(context);
  const bool many = port_.fabric->takes_many();
  const auto* const at = many ? static_cast<const std::byte*>(entry.buf) : receive.memory;
  const std::span<const std::byte> frame(at, entry.len);
  if (frame.size() >= sizeof(WireHead))
    arrived(frame);
  else if (!frame.empty())
    refuse("not a frame of Tern");
  if (!frame.empty())
    receive.count(static_cast<size_t>(frame.data() - receive.memory), frame.size());
  if (!many || (entry.flags & FI_MULTI_RECV) != 0) receive.released = true;
  if (receive.is_empty(port_.fabric->releases_in_order())) port_.unposted.push_back(&receive);
}

// A full buffer is reposted after delivery of all frames.
int Ofi::read_queue() noexcept {
  constexpr int kMostReads = 4;
  int found = 0;
  std::array<fi_cq_data_entry, 16> entries;
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t read = ::fi_cq_read(port_.cq(), entries.data(), entries.size());
    if (TERN_UNLIKELY(read == -FI_EAVAIL)) {
      read_error();
      ++found;
      continue;
    }
    if (read <= 0) break;
    for (ssize_t at = 0; at < read; ++at) completed(entries[static_cast<size_t>(at)]);
    found += static_cast<int>(read);
    if (!port_.unposted.empty()) post_again();
    if (static_cast<size_t>(read) < entries.size()) break;
  }
  return found;
}

// A failed send fails the endpoint; a failed receive is logged once.
void Ofi::read_error() noexcept {
  fi_cq_err_entry error{};
  if (::fi_cq_readerr(port_.cq(), &error, 0) <= 0) return;
  if (error.op_context == nullptr) return;
  auto& context = *static_cast<CompletionContext*>(error.op_context);
  if (error.err == FI_ECANCELED && context.of != CompletionContext::Of::kTransfer) return;
  if (ended(context, error.err)) return;
  if (!told_error_)
    log_line("libfabric: a receive failed: %s (further failures are not logged)",
             port_.fi.fi_strerror(error.err));
  told_error_ = true;
  if ((error.flags & FI_MULTI_RECV) != 0) port_.unposted.push_back(&static_cast<Receive&>(context));
}

void Ofi::post_again() noexcept {
  std::erase_if(port_.unposted, [this](Receive* receive) { return port_.post(*receive); });
}

void Ofi::send_waiting() noexcept {
  std::erase_if(port_.stalled, [](OfiEndpoint* endpoint) { return endpoint->send_waiting(); });
}

// A transfer may be paused again.
void Ofi::go_on_with_paused() noexcept {
  for (Transfer* const transfer : std::exchange(port_.transfers().paused, {}))
    transfer->endpoint->go_on(*transfer);
}

// libfabric keeps a frame to a process that died before the connection.
bool Ofi::is_quiet() noexcept {
  if (port_.is_quiet()) return true;
  size_t lost = 0;
  for (const auto& [key, made] : endpoints_) {
    const auto& endpoint = static_cast<const OfiEndpoint&>(*made);
    if (endpoint.fate.dead_locked()) lost += endpoint.frames_under_way();
  }
  return port_.transfers().away() == 0 && port_.sendings.away() == lost;
}

void Ofi::give_up_failed() noexcept {
  port_.has_failures = false;
  for (auto& [key, made] : endpoints_) {
    auto& endpoint = static_cast<OfiEndpoint&>(*made);
    if (!endpoint.fate.dead_locked() || endpoint.told) continue;
    endpoint.told = true;
    if (!leaving_) sink_.failed(endpoint, why_lost(endpoint));
  }
}

void Ofi::look_at_connections(int64_t now_ns) noexcept {
  if (port_.fabric->is_sockets()) (void)port_.sockets.look(now_ns);
}

int Ofi::progress() noexcept {
  constexpr uint32_t kRoundsBetweenLooks = 63;
  if (TERN_UNLIKELY((++rounds_ & kRoundsBetweenLooks) == 0)) look_after_peers();
  const bool busy = !port_.is_quiet() || port_.has_failures;
  if (!port_.fabric->is_fast() && !attention_.is_due(busy)) return 0;
  frames_ = 0;
  if (TERN_UNLIKELY(!port_.unposted.empty())) post_again();
  const int found = read_queue();
  if (TERN_UNLIKELY(!port_.stalled.empty())) send_waiting();
  if (TERN_UNLIKELY(!port_.transfers().paused.empty())) go_on_with_paused();
  if (TERN_UNLIKELY(port_.has_failures)) give_up_failed();
  attention_.looked(found != 0);
  return found;
}

Alarm Ofi::alarm() noexcept {
  const int fd = port_.descriptor();
  if (fd < 0) return {};
  return {fd, [](void* self) noexcept { return static_cast<Ofi*>(self)->arm(); }, this};
}

// Some providers are always busy, so the rank sleeps for a moment after a few refusals.
Armed Ofi::arm() noexcept {
  constexpr int kRefusals = 3;
  attention_.wake();
  look_after_peers();
  const bool may = port_.may_sleep();
  busy_ = may ? 0 : busy_ + 1;
  if (may) return Armed::kYes;
  return busy_ > kRefusals ? Armed::kUnsure : Armed::kPending;
}

namespace {

/// Whether the program has initialised CUDA.
bool has_gpus() noexcept {
  const cuda::Driver* const driver = cuda::driver();
  int count = 0;
  return driver != nullptr && driver->cuDeviceGetCount(&count) == CUDA_SUCCESS && count > 0;
}

/// The GPU of the current context, if the program has chosen one.
std::optional<topo::PciAddress> gpu_of_process() {
  const cuda::Driver* const driver = cuda::driver();
  CUdevice device = 0;
  char text[32] = {};
  if (driver == nullptr || driver->cuCtxGetDevice(&device) != CUDA_SUCCESS ||
      driver->cuDeviceGetPCIBusId(text, sizeof text, device) != CUDA_SUCCESS)
    return std::nullopt;
  return topo::parse_pci_address(text);
}

std::unique_ptr<Btl> make(core::Process& process, Sink& sink, AddressBook& book) {
  if (!net::is_wanted(process, "ofi")) return nullptr;
  std::string why;
  EnvironmentPresets presets;
  preset(&presets, static_cast<size_t>(process.world_size), has_gpus());
  for (const net::Option& one : net::options_for_libfabric(process.params))
    presets.set(one.name, one.value);
  const Library* const opened = library(process.params.ofi_library, &why);
  if (opened == nullptr) {
    log_line("cannot open libfabric, so ranks on other hosts are unreachable through libfabric: %s",
             why.c_str());
    return nullptr;
  }
  // An adapter may lack room for the queues of this job; the ranks of similar hosts then agree.
  const std::string& wanted = process.params.ofi_provider;
  const bool chosen =
      EnvironmentPresets::of_user("FI_TCP_IFACE") || EnvironmentPresets::of_user("FI_NET_IFACE");
  const net::Choice choice = chosen ? net::Choice{} : net::choose_for(process);
  const std::optional<topo::PciAddress> gpu = gpu_of_process();
  const Near near{topo::allowed_numa(), static_cast<size_t>(process.world_rank),
                  gpu.value_or(topo::PciAddress{})};
  for (std::vector<std::string> refused;;) {
    const auto fabric =
        std::make_shared<Fabric>(*opened, wanted, choice, near, refused, has_gpus());
    fabric->set_traffic_class(net::traffic_word(process.params));
    try {
      auto made = std::make_unique<Ofi>(process, sink, book, fabric, 0);
      made->require_lockable_memory();
      return made;
    } catch (const Error& error) {
      if (!wanted.empty() || !fabric->has_next(refused)) throw;
      refused.push_back(fabric->provider());
      log_line("libfabric's provider %s is of no use here, so the next one follows: %s",
               fabric->provider().c_str(), error.what());
    }
  }
}

bool is_spare(const core::Process& process) {
  return !process.params.names_transport("ofi") && !fast_adapter_here();
}

}  // namespace

extern const Transport kTransport{.name = "ofi",
                                  .reaches = net::kReaches,
                                  .make = make,
                                  .try_here = try_here,
                                  .is_spare = is_spare};

}  // namespace tern::btl::ofi

// SPDX-License-Identifier: Apache-2.0
// Context, Worker: UCX's objects.
#include "btl/ucx/worker.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/signals.hpp"
#include "mpi.h"
#include "topo/pci.hpp"

namespace tern::btl::ucx {
namespace {

unsigned version_of(const Library& ucp) { return ucp.major * 100 + ucp.minor; }

std::string seconds(int64_t us) { return strf("%.3fs", static_cast<double>(us) * 1e-6); }

/// UCX before 1.19 drops all packets of RoCE adapters other than mlx5, because packets have the
/// address at another place.
bool loses_packets(const Library& ucp) {
  constexpr unsigned kFixedMinor = 19;
  if (ucp.major != 1 || ucp.minor >= kFixedMinor) return false;
  static const std::vector<topo::RdmaAdapter> adapters = topo::rdma_adapters();
  return std::any_of(adapters.begin(), adapters.end(), [](const topo::RdmaAdapter& adapter) {
    return adapter.driver != "mlx5_core";
  });
}

/// The chosen interfaces, and the suitable ports of RDMA adapters: "eth0,mlx5_0:1". Empty: all.
/// Throws Error if no port is suitable.
std::string devices(const Params& params, const net::Choice& choice) {
  const std::vector<net::Port> active = net::active_ports();
  if (const auto of_user = EnvironmentPresets::of_user("UCX_NET_DEVICES")) {
    (void)net::suitable(params, net::named_in(*of_user, active));
    return "";
  }
  const std::vector<net::Port> ports = net::suitable(params, active);
  if (choice.used.empty() && ports.size() == active.size()) return "";
  std::string text = net::names_of(choice.used.empty() ? net::interfaces() : choice.used);
  for (const net::Port& port : ports) text += (text.empty() ? "" : ",") + port.name;
  return text;
}

// Tern's endpoints look after their peers themselves; UCX's own limits stay above TERN_NET_TIMEOUT.
// A queue pair waits at least (retries + 1) times UCX_RC_TIMEOUT.
std::vector<net::Option> presets(const Library& ucp, const Params& params,
                                 const net::Choice& choice) {
  constexpr int64_t kMarginUs = 10'000'000, kRetries = 7;
  const int64_t longer_us = params.net_timeout + kMarginUs;
  constexpr int64_t kFrameKiB = 132;  // with kMaxZeroCopy bytes; each rail gets a segment
  const int64_t rails = std::max<int64_t>(params.net_rails, 1);
  std::vector<net::Option> all = {
      {"UCX_TCP_RX_SEG_SIZE", strf("%lldk", static_cast<long long>(kFrameKiB / rails))},
      {"UCX_TCP_CONN_NB", "y"},  // no wait of minutes behind a firewall
      {"UCX_KEEPALIVE_INTERVAL", "1440m"},
      {"UCX_RC_TIMEOUT", seconds(longer_us / kRetries)},
      {"UCX_RC_RETRY_COUNT", strf("%lld", static_cast<long long>(kRetries))},
      {"UCX_UD_TIMEOUT", seconds(longer_us)},
  };
  if (loses_packets(ucp)) all.push_back({"UCX_UD_ETH_DGID_CHECK", "n"});
  if (const std::string used = devices(params, choice); !used.empty())
    all.push_back({"UCX_NET_DEVICES", used});
  for (const net::Option& one : net::options_for(params, {"ucx", version_of(ucp)}))
    all.push_back(one);
  return all;
}

/// UCX would take other connections without a word.
void require_connections(const Lanes& resources, NetConnections wanted) {
  constexpr const char* kNames[] = {"", "rc", "dc", "ud"};
  const char* const name = kNames[static_cast<size_t>(wanted)];
  const auto& all = resources.names;
  if (!(resources.rdma || resources.datagrams) || EnvironmentPresets::of_user("UCX_TLS") ||
      std::any_of(all.begin(), all.end(),
                  [&](const std::string& one) { return one.starts_with(name); }))
    return;
  throw Error(MPI_ERR_OTHER,
              strf("TERN_NET_CONNECTIONS=%s: the adapters of this host have %s. Set another kind, "
                   "or unset TERN_NET_CONNECTIONS",
                   name, resources.words().c_str()));
}

/// UCX 1.13 reads options of transports from the environment with each worker;
/// ucp_config_modify() has no effect on these options.
void preset(const std::vector<net::Option>& options, EnvironmentPresets* environment) {
  for (const net::Option& one : options) environment->set(one.name, one.value);
}

}  // namespace

void require(const Library& ucp, ucs_status_t status, const char* what) {
  if (status != UCS_OK)
    throw Error(MPI_ERR_OTHER, strf("UCX %u.%u: %s: %s", ucp.major, ucp.minor, what,
                                    ucp.ucs_status_string(status)));
}

UcpContext::UcpContext(const Library& library, const Params& params, const net::Choice& of,
                       const Job& job)
    : ucp(library),
      timeout_us(params.net_timeout),
      choice(of),
      options(presets(library, params, of)) {
  const SignalsKept kept;
  EnvironmentPresets environment;
  preset(options, &environment);
  ucp_config_t* config = nullptr;
  require(ucp, ucp.ucp_config_read(nullptr, nullptr, &config), "reading UCX_ variables");
  try {
    ucp_params_t asked{};
    asked.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED |
                       UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_ESTIMATED_NUM_PPN;
    asked.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
    asked.mt_workers_shared = job.several_workers ? 1 : 0;
    asked.estimated_num_eps = job.ranks;
    asked.estimated_num_ppn = job.ranks_here;
    require(ucp, ucp.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &asked, config, &context_),
            "ucp_init: do UCX_TLS and UCX_NET_DEVICES allow a network?");
  } catch (...) {
    ucp.ucp_config_release(config);
    throw;
  }
  ucp.ucp_config_release(config);
  resources_ = resources_of(ucp, context_);
  try {
    require_connections(resources_, params.net_connections);
  } catch (...) {
    ucp.ucp_cleanup(context_);
    throw;
  }
}

net::Served UcpContext::served() const {
  return {"ucx", version_of(ucp), !resources_.rdma && !resources_.datagrams};
}

UcpContext::~UcpContext() { ucp.ucp_cleanup(context_); }

// UCX before 1.16 takes the local memory of puts and gets for the host's.
std::string UcpContext::why_no_devices() const {
  constexpr unsigned kLeastMinor = 16;
  if (ucp.major == 1 && ucp.minor < kLeastMinor)
    return strf("UCX %u.%u puts and gets host memory only. Cure: UCX 1.%u or newer, with CUDA",
                ucp.major, ucp.minor, kLeastMinor);
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  if (ucp.ucp_context_query(context_, &attributes) == UCS_OK &&
      (attributes.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0)
    return {};
  return "UCX has no CUDA. Cure: a UCX configured --with-cuda, and libcuda.so.1 loaded before "
         "MPI_Init";
}

Worker::Worker(std::shared_ptr<UcpContext> of)
    : context(std::move(of)), ucp(context->ucp), sockets(context->timeout_us) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  EnvironmentPresets environment;
  preset(context->options, &environment);
  require(ucp, ucp.ucp_worker_create(context->get(), &params, &worker_), "ucp_worker_create");
}

Worker::~Worker() {
  if (flush_ != nullptr) ucp.ucp_request_free(flush_);
  // The worker waits for blocks under way, because UCX owns their memory.
  constexpr int64_t kPatienceNs = 1'000'000'000;
  for (const int64_t end = now_ns() + kPatienceNs; has_under_way() && now_ns() < end;) progress();
  ucp.ucp_worker_destroy(worker_);
}

std::string Worker::address() const {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
  attributes.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY;
  require(ucp, ucp.ucp_worker_query(worker_, &attributes), "the worker's address");
  std::string bytes(reinterpret_cast<const char*>(attributes.address), attributes.address_length);
  ucp.ucp_worker_release_address(worker_, attributes.address);
  return bytes;
}

int Worker::descriptor() const noexcept {
  int fd = -1;
  return ucp.ucp_worker_get_efd(worker_, &fd) == UCS_OK ? fd : -1;
}

void Worker::receive_frames(ucp_am_recv_callback_t callback, void* to) {
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = kFrameId;
  params.flags = UCP_AM_FLAG_WHOLE_MSG;
  params.cb = callback;
  params.arg = to;
  require(ucp, ucp.ucp_worker_set_am_recv_handler(worker_, &params), "the handler of frames");
}

bool Worker::is_quiet() noexcept {
  if (flush_ == nullptr && !dirty_) return !has_under_way();
  if (flush_ == nullptr) {
    dirty_ = false;
    const ucp_request_param_t params{};
    flush_ = ucp.ucp_worker_flush_nbx(worker_, &params);
    if (!UCS_PTR_IS_PTR(flush_)) flush_ = nullptr;
    return flush_ == nullptr && !has_under_way();
  }
  if (ucp.ucp_request_check_status(flush_) == UCS_INPROGRESS) return false;
  ucp.ucp_request_free(flush_);
  flush_ = nullptr;
  return !dirty_ && !has_under_way();
}

}  // namespace tern::btl::ucx

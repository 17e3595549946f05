// SPDX-License-Identifier: Apache-2.0
// Context, Worker: UCX's objects.
#include "btl/ucx/worker.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/signals.hpp"
#include "mpi.h"
#include "topo/pci.hpp"

namespace tern::btl::ucx {
namespace {

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

/// The chosen interfaces, and all ports of RDMA adapters: "eth0,mlx5_0:1".
std::string devices(const net::Choice& choice) {
  std::string text = net::names_of(choice.used);
  for (const topo::RdmaAdapter& adapter : topo::rdma_adapters()) {
    std::error_code none;
    const std::string ports = "/sys/class/infiniband/" + adapter.name + "/ports";
    for (const auto& port : std::filesystem::directory_iterator(ports, none))
      text += strf(",%s:%s", adapter.name.c_str(), port.path().filename().c_str());
  }
  return text;
}

// Tern's endpoints look after their peers themselves; UCX's own limits stay above TERN_NET_TIMEOUT.
// A queue pair waits at least (retries + 1) times UCX_RC_TIMEOUT.
std::vector<net::Option> presets(const Library& ucp, const Params& params,
                                 const net::Choice& choice) {
  constexpr int64_t kMarginUs = 10'000'000, kRetries = 7;
  const int64_t longer_us = params.net_timeout + kMarginUs;
  std::vector<net::Option> all = {
      {"UCX_TLS", "^sm,self"},          // sm serves ranks of one host
      {"UCX_TCP_RX_SEG_SIZE", "132k"},  // a frame with kMaxZeroCopy bytes
      {"UCX_TCP_CONN_NB", "y"},         // no wait of minutes behind a firewall
      {"UCX_KEEPALIVE_INTERVAL", "1440m"},
      {"UCX_RC_TIMEOUT", seconds(longer_us / kRetries)},
      {"UCX_RC_RETRY_COUNT", strf("%lld", static_cast<long long>(kRetries))},
      {"UCX_UD_TIMEOUT", seconds(longer_us)},
  };
  if (loses_packets(ucp)) all.push_back({"UCX_UD_ETH_DGID_CHECK", "n"});
  if (!choice.used.empty()) all.push_back({"UCX_NET_DEVICES", devices(choice)});
  for (const net::Option& one : net::options_for_ucx(params)) all.push_back(one);
  return all;
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

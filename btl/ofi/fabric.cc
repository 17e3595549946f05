// SPDX-License-Identifier: Apache-2.0
// Fabric: the choice of a provider.
#include "btl/ofi/fabric.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "base/signals.hpp"
#include "mpi.h"
#include "topo/pci.hpp"

namespace tern::btl::ofi {
namespace {

// The best provider comes first; others are used by name only. "tcp" has FI_EP_RDM endpoints since
// libfabric 1.18; 1.17 has them in "net".
constexpr std::string_view kKnown[] = {"cxi",           "efa", "opx", "psm3",
                                       "verbs;ofi_rxm", "tcp", "net", "tcp;ofi_rxm"};
constexpr size_t kFast = 4;  // number of providers with dedicated adapters

fi_info* hints(const Library& fi) {
  fi_info* const hints = fi.fi_dupinfo(nullptr);
  if (hints == nullptr)
    throw Error(MPI_ERR_NO_MEM, "no memory for the query of libfabric's providers");
  hints->caps = FI_MSG | FI_MULTI_RECV;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  fi_domain_attr& domain = *hints->domain_attr;
  domain.threading = FI_THREAD_DOMAIN;
  domain.control_progress = domain.data_progress = FI_PROGRESS_MANUAL;
  domain.resource_mgmt = FI_RM_ENABLED;
  domain.av_type = FI_AV_TABLE;
  domain.mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  return hints;
}

Infos ask(const Library& fi) {
  const SignalsKept kept;
  const Infos asked(hints(fi), {fi.fi_freeinfo});
  fi_info* found = nullptr;
  require(fi, fi.fi_getinfo(kApi, nullptr, nullptr, 0, asked.get(), &found), "no usable provider");
  return {found, {fi.fi_freeinfo}};
}

struct RdmaQuery {
  uint64_t order;
  uint64_t op_flags;
};
constexpr RdmaQuery kRdmaQueries[] = {{0, FI_DELIVERY_COMPLETE}, {FI_ORDER_RAW, 0}};

/// Null if the provider has no such RDMA.
Infos ask_for_rdma(const Library& fi, const std::string& provider, const RdmaQuery& query,
                   bool of_devices) {
  const SignalsKept kept;
  const Infos asked(hints(fi), {fi.fi_freeinfo});
  asked->caps |= FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  if (of_devices) {
    asked->caps |= FI_HMEM;
    asked->domain_attr->mr_mode |= FI_MR_HMEM;
  }
  asked->tx_attr->msg_order |= query.order;
  asked->rx_attr->msg_order |= query.order;
  asked->tx_attr->op_flags = query.op_flags;
  asked->fabric_attr->prov_name = ::strdup(provider.c_str());
  fi_info* found = nullptr;
  if (fi.fi_getinfo(kApi, nullptr, nullptr, 0, asked.get(), &found) != 0) found = nullptr;
  return {found, {fi.fi_freeinfo}};
}

std::string_view name_of(const fi_info& info) { return info.fabric_attr->prov_name; }

bool is_same_port(const fi_info& one, const fi_info& other) {
  return name_of(one) == name_of(other) &&
         std::string_view(one.domain_attr->name) == other.domain_attr->name &&
         one.ep_attr->protocol == other.ep_attr->protocol && one.src_addrlen == other.src_addrlen &&
         (one.src_addrlen == 0 || std::memcmp(one.src_addr, other.src_addr, one.src_addrlen) == 0);
}

// ofi_rxm accepts FI_DELIVERY_COMPLETE for the sake of messages, and passes writes to a provider
// that may ignore the flag (verbs).
FlushBy flush_of(const fi_info& info, uint64_t op_flags) {
  const bool layered = name_of(info).find("ofi_rxm") != std::string_view::npos;
  if (!layered && (op_flags & FI_DELIVERY_COMPLETE) != 0) return FlushBy::kDelivery;
  const bool ordered =
      (info.tx_attr->msg_order & FI_ORDER_RAW) != 0 && info.ep_attr->max_order_raw_size != 0;
  return ordered ? FlushBy::kRead : FlushBy::kNothing;
}

fi_info* first_of(fi_info* all, std::string_view provider) {
  while (all != nullptr && name_of(*all) != provider) all = all->next;
  return all;
}

std::vector<std::string> names_in(const fi_info* all) {
  std::vector<std::string> names;
  for (; all != nullptr; all = all->next)
    if (std::find(names.begin(), names.end(), name_of(*all)) == names.end())
      names.emplace_back(name_of(*all));
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// libfabric lists each provider once per address of this host. An address of a single link needs a
/// scope, which libfabric 1.17 loses.
fi_info* best_of(fi_info* all, std::string_view provider, const net::Choice& choice) {
  const std::vector<net::Interface> known = choice.used.empty() ? net::interfaces() : choice.used;
  for (fi_info* at = first_of(all, provider); at != nullptr; at = first_of(at->next, provider)) {
    if (at->src_addr == nullptr || at->src_addrlen < sizeof(sockaddr)) continue;
    const std::string text = net::text_of(*static_cast<const sockaddr*>(at->src_addr));
    if (std::any_of(known.begin(), known.end(),
                    [&](const net::Interface& one) { return one.address == text; }))
      return at;
  }
  return first_of(all, provider);
}

bool uses_sockets(std::string_view provider) {
  return provider.starts_with("tcp") || provider.starts_with("net");
}

bool has_dedicated_adapters(std::string_view provider) {
  return std::find(kKnown, kKnown + kFast, provider) != kKnown + kFast;
}

topo::PciAddress address_of(const fi_info& info) {
  if (info.nic == nullptr || info.nic->bus_attr == nullptr ||
      info.nic->bus_attr->bus_type != FI_BUS_PCI)
    return {};
  const fi_pci_attr& pci = info.nic->bus_attr->attr.pci;
  return {pci.domain_id, pci.bus_id, pci.device_id, pci.function_id, 1};
}

int numa_of(const fi_info& info, const std::string& root) {
  const topo::PciAddress address = address_of(info);
  return address.known == 0 ? -1 : topo::numa_of(address, root);
}

/// Libfabric lists a provider once per adapter and way of use: only the ways of the first entry
/// count.
std::vector<fi_info*> one_per_adapter(fi_info* first, std::string_view provider) {
  std::vector<fi_info*> adapters;
  for (fi_info* at = first; at != nullptr; at = first_of(at->next, provider)) {
    const bool is_alike = at->ep_attr->protocol == first->ep_attr->protocol &&
                          at->caps == first->caps && at->addr_format == first->addr_format;
    const bool is_new = std::none_of(adapters.begin(), adapters.end(), [&](const fi_info* known) {
      return std::string_view(known->domain_attr->name) == at->domain_attr->name;
    });
    if (is_alike && is_new) adapters.push_back(at);
  }
  return adapters;
}

/// The adapters with the shortest way to the GPU, if the way crosses no host bridge.
std::vector<fi_info*> behind_switches_of(const topo::PciAddress& gpu,
                                         const std::vector<fi_info*>& adapters,
                                         const std::string& root) {
  std::vector<fi_info*> nearest;
  topo::PciDistance least = topo::PciDistance::kSwitches;
  for (fi_info* const one : adapters) {
    const topo::PciAddress address = address_of(*one);
    if (gpu.known == 0 || address.known == 0) continue;
    const topo::PciDistance distance = topo::pci_distance(gpu, address, root);
    if (distance > least) continue;
    if (distance < least) nearest.clear();
    least = distance;
    nearest.push_back(one);
  }
  return nearest;
}

// psm3 and opx choose themselves. The adapters of verbs may lie in networks that do not reach each
// other.
bool is_chosen_by_distance(std::string_view provider) {
  return provider == "cxi" || provider == "efa";
}

fi_info* choose(fi_info* all, const std::string& wanted, const net::Choice& choice,
                const Near& near, const std::vector<std::string>& refused) {
  const auto best = [&](std::string_view name) {
    if (is_chosen_by_distance(name)) return nearest_of(all, name, near);
    return uses_sockets(name) ? best_of(all, name, choice) : first_of(all, name);
  };
  if (!wanted.empty()) return best(wanted);
  for (const std::string_view name : kKnown) {
    if (std::find(refused.begin(), refused.end(), name) != refused.end()) continue;
    if (fi_info* const found = best(name); found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace

fi_info* nearest_of(fi_info* all, std::string_view provider, const Near& near,
                    const std::string& root) {
  fi_info* const first = first_of(all, provider);
  if (first == nullptr) return first;
  std::vector<fi_info*> adapters = one_per_adapter(first, provider);
  if (const auto chosen = behind_switches_of(near.gpu, adapters, root); !chosen.empty())
    return chosen[near.turn % chosen.size()];
  if (near.numa < 0) return first;
  std::erase_if(adapters, [&](const fi_info* one) { return numa_of(*one, root) != near.numa; });
  return adapters.empty() ? first : adapters[near.turn % adapters.size()];
}

void set_traffic_class(fi_info& info, size_t word) noexcept {
  constexpr uint32_t kClasses[] = {FI_TC_UNSPEC, FI_TC_BEST_EFFORT, FI_TC_LOW_LATENCY,
                                   FI_TC_DEDICATED_ACCESS, FI_TC_BULK_DATA};
  if (word == 0) return;
  info.domain_attr->tclass = info.tx_attr->tclass = kClasses[word];
}

Fabric::Fabric(const Library& library, const std::string& wanted, const net::Choice& choice,
               const Near& near, const std::vector<std::string>& refused, bool has_gpus)
    : fi(library), all_(ask(fi)), choice_(choice), near_(near), has_gpus_(has_gpus) {
  chosen_ = choose(all_.get(), wanted, choice, near, refused);
  int result = 0;
  if (chosen_ != nullptr) {
    const SignalsKept kept;
    fid_fabric* made = nullptr;
    provider_ = name_of(*chosen_);
    look_for_rdma();
    result = fi.fi_fabric(chosen_->fabric_attr, &made, nullptr);
    fabric_.reset(made);
  }
  if (fabric_ != nullptr) return;
  require(fi, result, provider_.c_str());
  const std::string there = joined(names_in(all_.get()));
  throw Error(
      MPI_ERR_OTHER,
      strf("libfabric %u.%u has no usable provider for %s; available providers: %s", fi.major,
           fi.minor, wanted.empty() ? "automatic selection" : wanted.c_str(), there.c_str()));
}

bool Fabric::has_next(std::vector<std::string> refused) const {
  refused.push_back(provider_);
  return choose(all_.get(), "", choice_, near_, refused) != nullptr;
}

// Providers over sockets would copy device memory in the progress of this rank.
void Fabric::look_for_rdma() {
  const bool asks_for_devices = has_gpus_ && is_fast();
  for (const bool of_devices : {true, false})
    for (const RdmaQuery& query : kRdmaQueries)
      if ((!of_devices || asks_for_devices) &&
          take_rdma(ask_for_rdma(fi, provider_, query, of_devices), query.op_flags))
        return;
}

// Default flags of an endpoint would slow each message, so only writes get FI_DELIVERY_COMPLETE.
bool Fabric::take_rdma(Infos infos, uint64_t op_flags) {
  with_rdma_.push_back(std::move(infos));
  for (fi_info* at = with_rdma_.back().get(); at != nullptr; at = at->next) {
    if (!is_same_port(*at, *chosen_)) continue;
    flush_by_ = flush_of(*at, op_flags);
    if (!has_rdma()) return false;
    at->tx_attr->op_flags = 0;
    chosen_ = at;
    return true;
  }
  return false;
}

std::string Fabric::why_no_devices() const {
  if ((chosen_->caps & FI_HMEM) != 0) return {};
  if (!is_fast())
    return strf("libfabric's provider %s does not use an RDMA adapter", provider_.c_str());
  if (!has_gpus_)
    return "CUDA was not initialised at MPI_Init. Cure: call cudaSetDevice or cuInit before "
           "MPI_Init";
  return strf(
      "libfabric's provider %s has no FI_HMEM. Cure: a libfabric configured --with-cuda, "
      "and nvidia-peermem or dma-buf",
      provider_.c_str());
}

bool Fabric::is_fast() const noexcept { return has_dedicated_adapters(provider_); }

bool Fabric::sleeps_well() const noexcept { return provider_ != "net"; }

bool Fabric::releases_in_order() const noexcept { return provider_ != "net" && provider_ != "tcp"; }

bool Fabric::takes_many() const noexcept { return provider_.find("ofi_rxm") == std::string::npos; }

const char* Fabric::interface_variable() const noexcept {
  return provider_.starts_with("net") ? "FI_NET_IFACE" : "FI_TCP_IFACE";
}

net::Served Fabric::served() const { return {provider_, fi.major * 100 + fi.minor, is_sockets()}; }

// The provider tcp would change its sockets for some classes.
void Fabric::set_traffic_class(size_t word) noexcept {
  if (!is_sockets()) ofi::set_traffic_class(*chosen_, word);
}

bool Fabric::is_sockets() const noexcept { return uses_sockets(provider_); }

bool Fabric::wants_registration() const noexcept {
  return (chosen_->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
}

std::vector<std::string> providers(const Library& library) { return names_in(ask(library).get()); }

bool fast_adapter_here(const std::string& root) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (fs::exists(root + "/sys/class/cxi", none) || fs::exists(root + "/dev/hfi1_0", none))
    return true;
  const std::vector<topo::RdmaAdapter> adapters = topo::rdma_adapters(root);
  return std::any_of(adapters.begin(), adapters.end(), [](const topo::RdmaAdapter& adapter) {
    return adapter.driver == "efa" || adapter.driver == "irdma" || adapter.driver == "hfi1";
  });
}

}  // namespace tern::btl::ofi

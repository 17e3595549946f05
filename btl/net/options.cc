// SPDX-License-Identifier: Apache-2.0
// Options: a row per parameter.
#include "btl/net/options.hpp"

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "mpi.h"

namespace tern::btl::net {
namespace {

constexpr int64_t kMostKey = 0x7fff;
constexpr const char* kConnections = "TERN_NET_CONNECTIONS";

/// A variable of a library; null: no variable, but the network can do this.
struct Setter {
  const char* network;  // the beginning of Served::network; empty: any provider of libfabric
  const char* variable;
  unsigned since = 0;      // the first version with the variable
  std::string value = {};  // in place of the row's
  [[nodiscard]] const std::string& value_in(const std::string& row) const noexcept {
    return value.empty() ? row : value;
  }
};

/// For a network without such a setting.
enum class Lacking : uint8_t { kSilent, kRemark, kError };

struct Row {
  const char* parameter;
  std::string value;  // of the variables; empty: automatic
  std::vector<Setter> setters;
  const char* words = nullptr;  // the name in TERN_EXPLAIN
  bool for_adapters = false;    // sockets lack the setting
  Lacking in_sockets = Lacking::kSilent, in_adapters = Lacking::kSilent;
};

std::string number(int64_t value) {
  return value == 0 ? "" : strf("%lld", static_cast<long long>(value));
}

// The libraries never forget a registration by themselves, so a limited host would run out.
std::string cache_of(const Params& params) {
  constexpr size_t kPart = 4;
  if (params.net_cache != 0) return number(static_cast<int64_t>(params.net_cache));
  const std::optional<size_t> limit = lock_limit();
  return limit ? number(static_cast<int64_t>(*limit / kPart)) : "";
}

std::string given(int64_t value) {
  return value < 0 ? "" : strf("%lld", static_cast<long long>(value));
}

/// opx compares the whole key with the port's table.
std::string key_of_member(int64_t key) {
  return key < 0 ? "" : strf("0x%llx", static_cast<unsigned long long>(key | (kMostKey + 1)));
}

/// UCX wants a key without the bit of membership.
std::string key_without_membership(int64_t key) {
  return key < 0 ? "" : strf("0x%llx", static_cast<unsigned long long>(key & kMostKey));
}

/// UCX's transports without those that are not wanted; sm serves ranks of one host.
std::string transports(NetConnections wanted) {
  constexpr const char* kWithout[] = {"", ",dc_mlx5", ",rc_verbs,rc_mlx5",
                                      ",rc_verbs,rc_mlx5,dc_mlx5"};
  return strf("^sm,self%s", kWithout[static_cast<size_t>(wanted)]);
}

// Fewer rails are slower; a missing partition is another network.
std::vector<Row> rows(const Params& params) {
  using enum Lacking;
  constexpr size_t kLowLatency = 2;
  const NetConnections wanted = params.net_connections;
  std::vector<Setter> classes{{"cxi", nullptr}}, connections{{"ucx", nullptr}};
  if (traffic_word(params) == kLowLatency) classes.push_back({"efa", nullptr, 200});
  if (wanted == NetConnections::kRc) connections.push_back({"verbs", nullptr});
  const std::string shown = wanted == NetConnections::kAuto ? "" : params.get(kConnections);
  return {
      {"TERN_NET_CACHE",
       cache_of(params),
       {{"ucx", "UCX_RCACHE_MAX_SIZE"}, {"", "FI_MR_CACHE_MAX_SIZE"}}},
      {"TERN_NET_RAILS",
       number(params.net_rails),
       {{"ucx", "UCX_MAX_EAGER_RAILS"}, {"ucx", "UCX_MAX_RNDV_RAILS"}},
       nullptr,
       false,
       kRemark,
       kRemark},
      {"TERN_NET_RAILS", number(params.net_rails), {{"ucx", "UCX_MAX_RMA_RAILS", 114}}},
      {kConnections, transports(wanted), {{"ucx", "UCX_TLS"}}},
      {kConnections, wanted == NetConnections::kRc ? "inf" : "", {{"ucx", "UCX_RC_MAX_NUM_EPS"}}},
      {kConnections, shown, connections, "connections", true, kRemark, kRemark},
      {"TERN_NET_PKEY",
       key_without_membership(params.net_pkey),
       {{"ucx", "UCX_IB_PKEY"},
        {"opx", "FI_OPX_PKEY", 121, key_of_member(params.net_pkey)},
        {"psm3", "PSM3_PKEY"}},
       "P_Key",
       true,
       kError,
       kError},
      {"TERN_NET_GID",
       given(params.net_gid),
       {{"ucx", "UCX_IB_GID_INDEX"}},
       "GID",
       true,
       kRemark,
       kError},
      {"TERN_NET_SERVICE_LEVEL",
       given(params.net_service_level),
       {{"ucx", "UCX_IB_SL"}, {"opx", "FI_OPX_SL", 121}, {"psm3", "PSM3_NIC_SL"}},
       "service level",
       true,
       kRemark,
       kError},
      {"TERN_NET_TRAFFIC_CLASS",
       given(params.net_traffic_class),
       {{"ucx", "UCX_IB_TRAFFIC_CLASS"}},
       "traffic class",
       true,
       kRemark,
       kError},
      {"TERN_NET_TRAFFIC_CLASS",
       traffic_word(params) == 0 ? "" : params.get("TERN_NET_TRAFFIC_CLASS"), classes,
       "traffic class", true, kRemark, kError},
  };
}

/// The row's setters in this network, whatever its version.
std::vector<Setter> setters_in(const Row& row, const Served& served) {
  std::vector<Setter> found;
  if (served.sockets && row.for_adapters) return found;
  for (const Setter& one : row.setters)
    if (*one.network == '\0' ? served.network != "ucx" : served.network.starts_with(one.network))
      found.push_back(one);
  return found;
}

std::string name_of(const Served& served) {
  const bool ucx = served.network == "ucx";
  const std::string name =
      ucx ? served.sockets ? "UCX over TCP" : "UCX" : "libfabric's provider " + served.network;
  return strf("%s (%u.%u)", name.c_str(), served.version / 100, served.version % 100);
}

bool may_lock_all() {
  constexpr int kLockMemory = 14;  // CAP_IPC_LOCK
  std::FILE* const file = std::fopen("/proc/self/status", "re");
  if (file == nullptr) return false;
  unsigned long long effective = 0;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "CapEff: %llx", &effective) == 1) break;
  std::fclose(file);
  return (effective >> kLockMemory & 1) != 0;
}

}  // namespace

size_t traffic_word(const Params& params) noexcept {
  return params.net_traffic_class < 0 ? static_cast<size_t>(-1 - params.net_traffic_class) : 0;
}

std::vector<Option> options_for(const Params& params, const Served& served) {
  std::vector<Option> options;
  for (const Row& row : rows(params))
    for (const Setter& one : setters_in(row, served))
      if (!row.value.empty() && one.variable != nullptr && served.version >= one.since)
        options.push_back({one.variable, one.value_in(row.value)});
  return options;
}

std::vector<Option> options_for_libfabric(const Params& params) {
  std::vector<Option> options;
  for (const Row& row : rows(params))
    for (const Setter& one : row.setters)
      if (!row.value.empty() && one.variable != nullptr && std::strcmp(one.network, "ucx") != 0)
        options.push_back({one.variable, one.value_in(row.value)});
  return options;
}

std::vector<std::string> remarks_on(const Params& params, const Served& served) {
  std::vector<std::string> remarks;
  for (const Row& row : rows(params)) {
    const Lacking lacking = served.sockets ? row.in_sockets : row.in_adapters;
    if (row.value.empty() || lacking == Lacking::kSilent) continue;
    unsigned since = 0;
    bool is_set = false;
    for (const Setter& one : setters_in(row, served)) {
      is_set |= served.version >= one.since;
      since = one.since;
    }
    if (is_set) continue;
    const std::string setting = strf("%s=%s", row.parameter, params.get(row.parameter).c_str());
    const std::string fault = since == 0 ? strf("%s has no such setting", name_of(served).c_str())
                                         : strf("%s has the setting since %u.%u",
                                                name_of(served).c_str(), since / 100, since % 100);
    if (lacking == Lacking::kError)
      throw Error(MPI_ERR_OTHER,
                  strf("%s: %s; unset %s, or choose another network (TERN_TRANSPORT, "
                       "TERN_OFI_PROVIDER; tern_info lists the networks)",
                       setting.c_str(), fault.c_str(), row.parameter));
    remarks.push_back(strf("%s has no effect: %s", setting.c_str(), fault.c_str()));
  }
  return remarks;
}

std::string facts_in_words(const Params& params, const Served& served) {
  std::string text;
  for (const Row& row : rows(params)) {
    if (row.words == nullptr) continue;
    std::string value;
    for (const Setter& one : setters_in(row, served)) {
      if (served.version < one.since) continue;
      const auto user =
          one.variable == nullptr ? std::nullopt : EnvironmentPresets::of_user(one.variable);
      value = user.value_or(one.value_in(row.value));
    }
    if (!value.empty()) text += strf(", %s %s", row.words, value.c_str());
  }
  return text;
}

std::string in_words(const std::vector<Option>& options) {
  std::string text;
  for (const Option& one : options)
    if (!EnvironmentPresets::of_user(one.name))
      text += strf("%s%s=%s", text.empty() ? "" : ", ", one.name, one.value.c_str());
  return text;
}

std::optional<size_t> lock_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || may_lock_all())
    return std::nullopt;
  return limit.rlim_cur;
}

std::string lock_limit_in_words() {
  const std::optional<size_t> limit = lock_limit();
  if (!limit) return "";
  return strf(
      "ulimit -l allows %zu KiB of locked memory. Cure: ulimit -l unlimited (memlock in "
      "/etc/security/limits.conf; Slurm: LimitMEMLOCK=infinity of slurmd, and "
      "PropagateResourceLimitsExcept=MEMLOCK; containers: --ulimit memlock=-1)",
      *limit / 1024);
}

void require_lockable_memory(const std::function<void(const iovec&)>& try_registration,
                             const char* other_network) {
  constexpr size_t kTried = 64 << 20;
  if (!lock_limit()) return;
  const std::unique_ptr<void, decltype(&std::free)> memory(std::malloc(kTried), &std::free);
  if (memory == nullptr) return;
  try {
    try_registration({memory.get(), kTried});
  } catch (const Error& error) {
    throw Error(MPI_ERR_OTHER, strf("%s (64 MiB, for RDMA); %s; or %s", error.what(),
                                    lock_limit_in_words().c_str(), other_network));
  }
}

}  // namespace tern::btl::net

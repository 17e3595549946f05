// SPDX-License-Identifier: Apache-2.0
// Options: a row per parameter.
#include "btl/net/options.hpp"

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "mpi.h"

namespace tern::btl::net {
namespace {

struct Row {
  std::string value;
  const char* ucx;
  const char* libfabric;  // null: libfabric has no such setting
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

std::vector<Row> rows(const Params& params) {
  return {
      {cache_of(params), "UCX_RCACHE_MAX_SIZE", "FI_MR_CACHE_MAX_SIZE"},
      {number(params.net_rails), "UCX_MAX_RNDV_RAILS", nullptr},
      {number(params.net_rails), "UCX_MAX_EAGER_RAILS", nullptr},
      {params.net_pkey, "UCX_IB_PKEY", nullptr},
      {params.net_gid, "UCX_IB_GID_INDEX", "FI_VERBS_GID_IDX"},
      {params.net_service_level, "UCX_IB_SL", nullptr},
      {params.net_traffic_class, "UCX_IB_TRAFFIC_CLASS", nullptr},
  };
}

std::vector<Option> chosen(const Params& params, const char* Row::*library) {
  std::vector<Option> options;
  for (const Row& row : rows(params))
    if (!row.value.empty() && row.*library != nullptr) options.push_back({row.*library, row.value});
  return options;
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

std::vector<Option> options_for_ucx(const Params& params) { return chosen(params, &Row::ucx); }

std::vector<Option> options_for_libfabric(const Params& params) {
  return chosen(params, &Row::libfabric);
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

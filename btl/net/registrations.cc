// SPDX-License-Identifier: Apache-2.0
// The refusal of memory for RDMA, in words.
#include "btl/net/registrations.hpp"

#include <optional>

#include "base/error.hpp"
#include "btl/net/options.hpp"

namespace tern::btl::net {

bool admits_memory(core::Process& process, size_t bytes) noexcept {
  static const std::optional<size_t> limit = lock_limit();
  auto& counts = process.registrations;
  counts.asked.fetch_add(1, std::memory_order_relaxed);
  if (!limit || counts.bytes.load(std::memory_order_relaxed) + bytes <= *limit / 2) return true;
  note_refused_memory(process, strf("%zu bytes are beyond half of the limit", bytes));
  return false;
}

void note_refused_memory(core::Process& process, const std::string& why) noexcept {
  auto& counts = process.registrations;
  counts.refused.fetch_add(1, std::memory_order_relaxed);
  if (counts.refusal_said.exchange(true)) return;
  const std::string limit = lock_limit_in_words();
  process.explain.warn(
      "fallback", {{"what", "no RDMA"}, {"why", why}},
      strf("the network refuses memory for RDMA (%s), and copies the data of such messages%s%s",
           why.c_str(), limit.empty() ? "" : "; ", limit.c_str()));
}

void note_refused_device(core::Process& process, const std::string& why) noexcept {
  auto& counts = process.registrations.devices;
  counts.refused.fetch_add(1, std::memory_order_relaxed);
  if (counts.refusal_said.exchange(true)) return;
  process.explain.warn(
      "fallback", {{"what", "no GPUDirect RDMA"}, {"why", why}},
      strf("the network refuses device memory for RDMA (%s), and copies messages through pinned "
           "host memory; tern_info lists the needs of GPUDirect RDMA",
           why.c_str()));
}

}  // namespace tern::btl::net

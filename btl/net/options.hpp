// SPDX-License-Identifier: Apache-2.0
// Options: Tern's parameters of networks as variables of UCX and libfabric.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/params.hpp"

namespace tern::btl::net {

struct Option {
  const char* name;
  std::string value;
};
/// The library and network that carry the messages.
struct Served {
  std::string network;   // "ucx", or libfabric's provider
  unsigned version = 0;  // of the library; 113: 1.13
  bool sockets = false;  // no RDMA adapter
};
[[nodiscard]] std::vector<Option> options_for(const Params& params, const Served& served);
/// The variables of all providers: libfabric reads variables before the choice of a provider.
[[nodiscard]] std::vector<Option> options_for_libfabric(const Params& params);
/// Remarks on parameters without effect in this network. Throws Error for a parameter that matters.
[[nodiscard]] std::vector<std::string> remarks_on(const Params& params, const Served& served);
/// ", GID 3, P_Key 0x7fff": settings of the network; variables of the user come first.
[[nodiscard]] std::string facts_in_words(const Params& params, const Served& served);
/// A word of TERN_NET_TRAFFIC_CLASS by its place, or 0.
[[nodiscard]] size_t traffic_word(const Params& params) noexcept;

/// The options that the environment does not set: "UCX_TLS=^sm,self, UCX_IB_PKEY=0x7fff".
[[nodiscard]] std::string in_words(const std::vector<Option>& options);

/// The limit of locked memory in bytes (ulimit -l), unless this process may lock all memory.
[[nodiscard]] std::optional<size_t> lock_limit();
/// "ulimit -l allows 64 KiB. Cure: ...", or empty.
[[nodiscard]] std::string lock_limit_in_words();
/// If locked memory is limited, `try_registration` registers 64 MiB for a moment, or throws Error.
/// The Error then also has the limit, and `other_network`.
void require_lockable_memory(const std::function<void(const iovec&)>& try_registration,
                             const char* other_network);

}  // namespace tern::btl::net

// SPDX-License-Identifier: Apache-2.0
// Options: Tern's parameters of networks as variables of UCX and libfabric.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/params.hpp"

namespace tern::btl::net {

struct Option {
  const char* name;
  std::string value;
};
[[nodiscard]] std::vector<Option> options_for_ucx(const Params& params);
[[nodiscard]] std::vector<Option> options_for_libfabric(const Params& params);
/// The options that the environment does not set: "UCX_TLS=^sm,self, UCX_IB_PKEY=0x7fff".
[[nodiscard]] std::string in_words(const std::vector<Option>& options);

/// The limit of locked memory in bytes (ulimit -l), unless this process may lock all memory.
[[nodiscard]] std::optional<size_t> lock_limit();
/// "ulimit -l allows 64 KiB. Cure: ...", or empty.
[[nodiscard]] std::string lock_limit_in_words();

}  // namespace tern::btl::net

// SPDX-License-Identifier: Apache-2.0
// Trial of a transport between hosts: two ranks of one process exchange frames.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "btl/net/options.hpp"
#include "btl/transport.hpp"

namespace tern::btl::net {

inline constexpr const char* kReaches = "ranks of other hosts";

using MakeRank =
    std::function<std::unique_ptr<Btl>(core::Process& process, Sink& sink, AddressBook& book)>;

/// Whether this machine has GPUs. Initialises CUDA: call load_gpus() in a child process, before the
/// library opens.
[[nodiscard]] bool load_gpus() noexcept;
/// "; device memory by RDMA", or "; no device memory by RDMA: WHY"; empty without GPUs.
[[nodiscard]] std::string devices_in_words(bool has_gpus, const std::string& why_not);

[[nodiscard]] std::string exchange_frames(const MakeRank& make);

/// "; settings: ...", and remarks. Throws Error.
[[nodiscard]] std::string settings_in_words(const Params& params, const Served& served,
                                            const std::vector<Option>& options);

/// `attempt` runs in a child process, to contain the library's side effects.
[[nodiscard]] Trial try_apart(const char* name, const char* cure,
                              const std::function<std::string()>& attempt);

}  // namespace tern::btl::net

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

[[nodiscard]] std::string exchange_frames(const MakeRank& make);

/// "; settings: ...", and remarks. Throws Error.
[[nodiscard]] std::string settings_in_words(const Params& params, const Served& served,
                                            const std::vector<Option>& options);

/// `attempt` runs in a child process, to contain the library's side effects.
[[nodiscard]] Trial try_apart(const char* name, const char* cure,
                              const std::function<std::string()>& attempt);

}  // namespace tern::btl::net

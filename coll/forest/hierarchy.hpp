// SPDX-License-Identifier: Apache-2.0
// make_in_hosts: a forest of equal hosts: a root sends to the GPUs of the same place in other
// hosts, and a forest of one host spreads the data in every host. Why: packing a whole machine
// takes too long above 64 GPUs. Cost: one host's forest, the bound, and the number of GPUs squared.
#pragma once

#include <functional>
#include <optional>

#include "coll/forest/bound.hpp"
#include "coll/forest/certify.hpp"

namespace tern::coll::forest {

/// Hosts are GPUs and nodes joined without a network. Returns nothing if there is a single host, or
/// hosts differ. `make` makes one host's forest. Time, k and trees are set; bound and cut are the
/// caller's.
[[nodiscard]] std::optional<Forest> make_in_hosts(
    const Topology& topology, Collective collective,
    const std::function<Forest(const Topology& host)>& make);

}  // namespace tern::coll::forest

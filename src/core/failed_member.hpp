// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/communicator.hpp"

namespace tern::core {

/// The failure of the first dead member; see Membership::has_failed_member().
[[nodiscard]] Failure death_in(const Communicator& communicator) noexcept;

}  // namespace tern::core

// SPDX-License-Identifier: Apache-2.0
// Taking descriptors of other processes of the same user.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.hpp"

namespace tern::btl::cuda_ipc {

/// None with a reason where the system refuses.
[[nodiscard]] Fd take_descriptor(int pid, int descriptor, std::string* why_not);

}  // namespace tern::btl::cuda_ipc

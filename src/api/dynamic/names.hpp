// SPDX-License-Identifier: Apache-2.0
// Names: published services (MPI_Publish_name), as files of a folder of this user. TERN_NAMES
// chooses the folder; a shared one serves several hosts.
#pragma once

#include <string>

namespace tern::api {

/// All functions return an error class, with fail() text.
[[nodiscard]] int publish_service(const std::string& service, const std::string& port);
[[nodiscard]] int unpublish_service(const std::string& service);
[[nodiscard]] int look_up_service(const std::string& service, std::string* port);

}  // namespace tern::api

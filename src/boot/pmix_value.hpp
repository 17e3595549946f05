// SPDX-License-Identifier: Apache-2.0
// Checked conversion of values from a PMIx server, because servers differ in types.
#pragma once

#include <pmix.h>

#include <string>
#include <string_view>
#include <vector>

#include "boot/boot.hpp"

namespace tern::boot {

[[nodiscard]] bool number_of(const pmix_value_t& value, long long* out) noexcept;
[[nodiscard]] bool bytes_of(const pmix_value_t& value, std::string* out);
// count_of() returns `otherwise` if `number` is not a valid int.
[[nodiscard]] int count_of(long long number, int otherwise) noexcept;
// "0,1,5": ascending, unique, below `size`.
[[nodiscard]] std::vector<int> ranks_of(const std::string& list, int size);
// answer_to() searches answers at any nesting depth.
[[nodiscard]] const pmix_value_t* answer_to(const char* key, const pmix_info_t* answers,
                                            std::size_t count) noexcept;
// members_of() is ascending, and empty if any process is invalid, or of another job.
[[nodiscard]] std::vector<int> members_of(const pmix_value_t& value, const char* job, int size);
[[nodiscard]] std::vector<std::string> names_of(const std::string& list);
// OpenPMIx reports versions such as "OpenPMIx 4.2.2rc2 (...)", "5.0.11".
[[nodiscard]] std::string greeting_remark(std::string_view client, std::string_view server);
[[nodiscard]] ConnectionInfo connection_info_of(const std::string& bytes) noexcept;

}  // namespace tern::boot

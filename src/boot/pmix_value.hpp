// SPDX-License-Identifier: Apache-2.0
// Checked conversion of values from a PMIx server, because servers differ in types.
#pragma once

#include <pmix.h>

#include <string>
#include <string_view>
#include <vector>

#include "boot/boot.hpp"

namespace tern::boot {

// number_of() accepts any integer type that fits.
[[nodiscard]] bool number_of(const pmix_value_t& value, long long* out) noexcept;
// bytes_of() accepts a string or a byte object.
[[nodiscard]] bool bytes_of(const pmix_value_t& value, std::string* out);
// count_of() returns `otherwise` if `number` is not a valid int.
[[nodiscard]] int count_of(long long number, int otherwise) noexcept;
// "0,1,5": ascending, unique, below `size`.
[[nodiscard]] std::vector<int> ranks_of(const std::string& list, int size);
// answer_to() finds an answer at any nesting depth, and returns null if absent.
[[nodiscard]] const pmix_value_t* answer_to(const char* key, const pmix_info_t* answers,
                                            std::size_t count) noexcept;
// members_of() is ascending, and empty if any process is invalid, or of another job.
[[nodiscard]] std::vector<int> members_of(const pmix_value_t& value, const char* job, int size);
[[nodiscard]] std::vector<std::string> names_of(const std::string& list);
// The remark explains a misleading message of the server. Versions are "OpenPMIx 4.2.2rc2 (...)",
// "5.0.11".
[[nodiscard]] std::string greeting_remark(std::string_view client, std::string_view server);
// Short values are padded with zeros.
[[nodiscard]] ConnectionInfo connection_info_of(const std::string& bytes) noexcept;

}  // namespace tern::boot

// SPDX-License-Identifier: Apache-2.0
// Checked conversion of values from a PMIx server: integers, bytes, lists of ranks, connection
// infos.
// Why: servers differ in types, and external data is not trusted.
// Threads: any.
#pragma once

#include <pmix.h>

#include <string>
#include <string_view>
#include <vector>

#include "boot/boot.hpp"

namespace tern::boot {

// Returns false for another type, or if the number does not fit.
[[nodiscard]] bool number_of(const pmix_value_t& value, long long* out) noexcept;
// Accepts a string or a byte object.
[[nodiscard]] bool bytes_of(const pmix_value_t& value, std::string* out);
// `number` if an int holds the count or rank, else `otherwise`.
[[nodiscard]] int count_of(long long number, int otherwise) noexcept;
// Parses "0,1,5": ascending, without duplicates and ranks beyond `size`.
[[nodiscard]] std::vector<int> ranks_of(const std::string& list, int size);
// Finds the answer to `key` at any nesting depth; null if absent.
[[nodiscard]] const pmix_value_t* answer_to(const char* key, const pmix_info_t* answers,
                                            std::size_t count) noexcept;
// The ranks of an array of processes, ascending; empty if any process is of another job, or
// invalid.
[[nodiscard]] std::vector<int> members_of(const pmix_value_t& value, const char* job, int size);
// Splits "a,b" at commas.
[[nodiscard]] std::vector<std::string> names_of(const std::string& list);
// Explains a misleading message of the server at a client's first contact; empty if there is none.
// Versions are "OpenPMIx 4.2.2rc2 (...)", "5.0.11".
[[nodiscard]] std::string greeting_remark(std::string_view client, std::string_view server);
// Pads short values with zeros.
[[nodiscard]] ConnectionInfo connection_info_of(const std::string& bytes) noexcept;

}  // namespace tern::boot

// SPDX-License-Identifier: Apache-2.0
// Values from a PMIx server, checked: numbers of any integer type, bytes, lists of ranks,
// connection infos.
// Why: servers differ in the types that they send, and what comes from outside is not believed.
// Threads: any.
#pragma once

#include <pmix.h>

#include <string>
#include <string_view>
#include <vector>

#include "boot/boot.hpp"

namespace tern::boot {

// False where it is no number, or one that does not fit.
[[nodiscard]] bool number_of(const pmix_value_t& value, long long* out) noexcept;
// A string or a byte object.
[[nodiscard]] bool bytes_of(const pmix_value_t& value, std::string* out);
// `number` where it is a count or a rank that an int holds.
[[nodiscard]] int count_of(long long number, int otherwise) noexcept;
// "0,1,5" ascending, each once; what is no rank of a job of `size` is left out.
[[nodiscard]] std::vector<int> ranks_of(const std::string& list, int size);
// Of the answers to a query, that to `key`, wherever the server has nested it; null for none.
[[nodiscard]] const pmix_value_t* answer_to(const char* key, const pmix_info_t* answers,
                                            std::size_t count) noexcept;
// The ranks of an array of processes, ascending; empty where one is of another job, or no rank.
[[nodiscard]] std::vector<int> members_of(const pmix_value_t& value, const char* job, int size);
// "a,b": the names between the commas.
[[nodiscard]] std::vector<std::string> names_of(const std::string& list);
// What a server says of a client's first message, though nothing is wrong; empty where it says
// nothing. Versions are "OpenPMIx 4.2.2rc2 (...)", "5.0.11".
[[nodiscard]] std::string greeting_remark(std::string_view client, std::string_view server);
// What is missing of a short one is zero.
[[nodiscard]] ConnectionInfo connection_info_of(const std::string& bytes) noexcept;

}  // namespace tern::boot

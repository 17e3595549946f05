// SPDX-License-Identifier: Apache-2.0
// Site: where a rank runs, as ranks without a launcher tell each other: who can share memory with
// whom.
// Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::boot {

class Calls;

// Travels as it is.
struct Site {
  std::uint64_t machine;  // equal where processes see each other's files in /proc
  std::uint64_t process;  // by chance: no two ranks have the same
  std::int32_t rank, size;
  char host[64];  // its name, for messages; cut off
};

[[nodiscard]] Site site_here(const Calls& calls);
[[nodiscard]] Site site_of(const std::string& bytes);
// What is wrong with the site that a rank gave in a job of that size; empty: nothing.
[[nodiscard]] std::string objection_to(const Site& site, int rank, int size);
// By rank. Throws Error where the own one is not among them.
[[nodiscard]] std::vector<Site> sites_of(const std::string& bytes, const Site& own);

}  // namespace tern::boot

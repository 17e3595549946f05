// SPDX-License-Identifier: Apache-2.0
// Site: where a rank runs, to find ranks that can share memory without a launcher.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::boot {

class Calls;

struct Site {
  std::uint64_t machine;  // equal if processes share /proc
  std::uint64_t process;  // random, unique per rank
  std::int32_t rank, size;
  char host[64];
};

[[nodiscard]] Site site_here(const Calls& calls);
[[nodiscard]] Site site_of(const std::string& bytes);
[[nodiscard]] std::string objection_to(const Site& site, int rank, int size);
// sites_of() throws Error if the own site is missing.
[[nodiscard]] std::vector<Site> sites_of(const std::string& bytes, const Site& own);

}  // namespace tern::boot

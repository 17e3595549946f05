// SPDX-License-Identifier: Apache-2.0
// Site: making and checking.
#include "boot/site.hpp"

#include <cstring>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/process_id.hpp"
#include "boot/boot.hpp"
#include "boot/calls.hpp"
#include "boot/ways.hpp"
#include "mpi.h"

namespace tern::boot {
Site site_here(const Calls& calls) {
  Site site{};
  const std::string name = calls.host().empty() ? this_host() : calls.host();
  site.machine = digest_text(calls.host(), number_domain());
  site.process = random_word();
  site.rank = calls.rank();
  site.size = calls.size();
  name.copy(site.host, sizeof site.host - 1);
  return site;
}

Site site_of(const std::string& bytes) {
  Site site;
  std::memcpy(&site, bytes.data(), sizeof site);
  return site;
}

std::string objection_to(const Site& site, int rank, int size) {
  if (site.rank != rank)
    return strf(
        "the function get given by MPIX_Boot_provide gave rank 0 the value of rank %d instead of "
        "rank %d",
        site.rank, rank);
  if (site.size != size)
    return strf("MPIX_Boot_provide was given size %d on rank %d, but %d on rank 0", site.size, rank,
                size);
  return {};
}

std::vector<Site> sites_of(const std::string& bytes, const Site& own) {
  std::vector<Site> sites(bytes.size() / sizeof(Site));
  std::memcpy(sites.data(), bytes.data(), sites.size() * sizeof(Site));
  for (Site& site : sites) site.host[sizeof site.host - 1] = '\0';
  if (sites[static_cast<std::size_t>(own.rank)].process != own.process)
    throw Error(MPI_ERR_OTHER,
                strf("two processes were given rank %d by MPIX_Boot_provide, or the store holds "
                     "values of an earlier job with the same name; use a unique job name",
                     own.rank));
  return sites;
}

}  // namespace tern::boot

// SPDX-License-Identifier: Apache-2.0
#include "api/job/host_graphs.hpp"

#include <map>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "coll/topology/host_graph.hpp"
#include "coll/topology/hosts.hpp"

namespace tern::api {
namespace {

constexpr const char *kHashKey = "topology.hash", *kTextKey = "topology.text";

std::string host_text(const core::Process& process) {
  const coll::HostGraph graph = coll::discover_by_name(
      process.params.topology, static_cast<int>(process.boot->local_ranks().size()));
  return graph.gpus == 0 ? std::string() : graph.text();
}

}  // namespace

void publish_host_graph(const core::Process& process) {
  boot::Boot& boot = *process.boot;
  if (boot.job().local_index != 0) return;
  const std::string text = host_text(process);
  boot.put(kHashKey, std::to_string(digest_text(text)));
  boot.put(kTextKey, text);
}

std::shared_ptr<const coll::JobTopology> agreed_graph(const core::Process& process) {
  boot::Boot& boot = *process.boot;
  std::map<int, size_t> hosts;  // by node, from 0
  std::vector<size_t> taken;    // GPUs of each host
  std::vector<coll::RankPlace> ranks;
  std::map<std::string, std::string> known;  // texts by hash
  std::vector<std::string> texts;
  for (int rank = 0; rank < boot.size(); ++rank) {
    const auto [host, fresh] = hosts.emplace(boot.node(rank), hosts.size());
    if (fresh) {
      const std::string hash = boot.get(rank, kHashKey);
      auto text = known.find(hash);
      if (text == known.end()) text = known.emplace(hash, boot.get(rank, kTextKey)).first;
      texts.push_back(text->second);
      taken.push_back(0);
    }
    ranks.push_back({host->second, taken[host->second]++});
  }
  try {
    return coll::job_topology_of(coll::join_hosts(texts, ranks), process.params.topology);
  } catch (const Error& error) {
    if (boot.rank() == 0)
      log_line("TERN_TOPOLOGY=%s: this job has no graph: %s", process.params.topology.c_str(),
               error.what());
    return nullptr;
  }
}

}  // namespace tern::api

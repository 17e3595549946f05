// SPDX-License-Identifier: Apache-2.0
// Ports: reading /sys/class/infiniband.
#include "btl/net/ports.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "mpi.h"
#include "topo/pci.hpp"

namespace tern::btl::net {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kKey = 0x7fff;  // without the bit of membership

std::string line_of(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// The entries of a table: a file per index. A read fails where an index is unused.
std::vector<Port::Gid> table_in(const fs::path& folder) {
  std::vector<Port::Gid> entries;
  std::error_code none;
  for (const auto& file : fs::directory_iterator(folder, none)) {
    const std::string text = line_of(file.path());
    if (text.find_first_not_of("0:x") == std::string::npos) continue;
    entries.push_back({std::atoi(file.path().filename().c_str()), text});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Port::Gid& one, const Port::Gid& other) { return one.index < other.index; });
  return entries;
}

bool has_gid(const Port& port, int64_t index) {
  return index < 0 || std::any_of(port.gids.begin(), port.gids.end(),
                                  [&](const Port::Gid& one) { return one.index == index; });
}

bool has_key(const Port& port, int64_t key) {
  return key < 0 || std::any_of(port.pkeys.begin(), port.pkeys.end(), [&](unsigned one) {
           return (one & kKey) == (static_cast<unsigned>(key) & kKey);
         });
}

std::string gids_in_words(const std::vector<Port>& ports) {
  std::string text;
  for (const Port& port : ports)
    for (const Port::Gid& one : port.gids)
      text += strf("%s%s %d %s", text.empty() ? "" : ", ", port.name.c_str(), one.index,
                   one.text.c_str());
  return text;
}

std::string keys_in_words(const std::vector<Port>& ports) {
  std::string text;
  for (const Port& port : ports)
    for (const unsigned key : port.pkeys)
      text += strf("%s%s 0x%04x", text.empty() ? "" : ", ", port.name.c_str(), key);
  return text;
}

}  // namespace

std::vector<Port> active_ports(const std::string& root) {
  std::vector<Port> ports;
  for (const topo::RdmaAdapter& adapter : topo::rdma_adapters(root)) {
    const fs::path folder = root + "/sys/class/infiniband/" + adapter.name + "/ports";
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      if (line_of(entry.path() / "state").find("ACTIVE") == std::string::npos) continue;
      Port port{adapter.name + ":" + entry.path().filename().string(),
                table_in(entry.path() / "gids"),
                {}};
      for (const Port::Gid& one : table_in(entry.path() / "pkeys"))
        port.pkeys.push_back(static_cast<unsigned>(std::strtoul(one.text.c_str(), nullptr, 16)));
      ports.push_back(std::move(port));
    }
  }
  return ports;
}

std::vector<Port> named_in(const std::string& devices, std::vector<Port> ports) {
  const std::string list = "," + devices + ",";
  std::vector<Port> named;
  for (const Port& port : ports) {
    const std::string adapter = port.name.substr(0, port.name.find(':'));
    if (list.find("," + port.name + ",") != std::string::npos ||
        list.find("," + adapter + ",") != std::string::npos)
      named.push_back(port);
  }
  return list.find(",all,") != std::string::npos ? ports : named;
}

std::vector<Port> suitable(const Params& params, std::vector<Port> ports) {
  const std::string keys = keys_in_words(ports);
  const bool had = !ports.empty();
  std::erase_if(ports, [&](const Port& port) { return !has_key(port, params.net_pkey); });
  if (had && ports.empty())
    throw Error(MPI_ERR_OTHER,
                strf("TERN_NET_PKEY=0x%llx: no active port of this host is in this partition; the "
                     "keys here: %s. Set another key, or unset TERN_NET_PKEY",
                     static_cast<unsigned long long>(params.net_pkey), keys.c_str()));
  const std::string gids = gids_in_words(ports);
  std::erase_if(ports, [&](const Port& port) { return !has_gid(port, params.net_gid); });
  if (had && ports.empty())
    throw Error(MPI_ERR_OTHER,
                strf("TERN_NET_GID=%lld: no active port of this host has an address at this index; "
                     "the addresses here: %s. Set another index, or unset TERN_NET_GID",
                     static_cast<long long>(params.net_gid), gids.c_str()));
  return ports;
}

}  // namespace tern::btl::net

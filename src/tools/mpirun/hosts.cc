// SPDX-License-Identifier: Apache-2.0
// Parses host lists and host files, and recognises this machine's names.
#include "tools/mpirun/hosts.hpp"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "mpi.h"
#include "tools/mpirun/option_parser.hpp"
#include "topo/cpus.hpp"

namespace tern::mpirun {
namespace {

int parse_slots(const std::string& text, const std::string& host) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 1 || value > kMostRanks)
    throw Error(MPI_ERR_ARG, strf("\"%s\" is not a number of ranks from 1 to %d for host %s",
                                  text.c_str(), kMostRanks, host.c_str()));
  return static_cast<int>(value);
}

// Parses "name" or "name:4"; an IPv6 address has several colons and no slots.
Host parse_host(const std::string& word) {
  Host host{word, 0};
  const std::size_t colon = word.find(':');
  if (colon != std::string::npos && word.find(':', colon + 1) == std::string::npos) {
    host.name = word.substr(0, colon);
    host.slots = parse_slots(word.substr(colon + 1), host.name);
  }
  if (host.name.empty() || host.name.find_first_of("+^*/ ") != std::string::npos)
    throw Error(MPI_ERR_ARG, strf("\"%s\" is not a host; the form is a,b:4", word.c_str()));
  return host;
}

void take_word(Host& host, const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (key == "slots" || key == "cpu" || key == "count")
    host.slots = parse_slots(value, host.name);
  else if (key != "max_slots" && key != "max-slots" && key != "user" && key != "binding" &&
           key != "ifname")
    throw Error(MPI_ERR_ARG,
                strf("\"%s\" is unknown; the form of a line is: name slots=4", word.c_str()));
}

bool same_address(const sockaddr* a, const sockaddr* b) {
  if (a == nullptr || b == nullptr || a->sa_family != b->sa_family) return false;
  if (a->sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in*>(a)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(b)->sin_addr.s_addr;
  return a->sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(b)->sin6_addr, sizeof(in6_addr)) == 0;
}

bool resolves_to_here(const std::string& name) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> interfaces(list, ::freeifaddrs);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next)
    for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next)
      if (same_address(a->ai_addr, i->ifa_addr)) return true;
  return false;
}

}  // namespace

void add_hosts(std::vector<Host>& hosts, const std::string& list) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    hosts.push_back(parse_host(list.substr(begin, end - begin)));
    begin = end + 1;
  }
}

void add_host_file(std::vector<Host>& hosts, const std::string& path) {
  const std::size_t before = hosts.size();
  int number = 0;
  for (const std::string& line : read_lines(path)) {
    ++number;
    try {
      const auto words = split_words(line);
      if (words.empty()) continue;
      Host host = parse_host(words[0]);
      for (std::size_t i = 1; i < words.size(); ++i) take_word(host, words[i]);
      hosts.push_back(host);
    } catch (const Error& error) {
      throw Error(MPI_ERR_ARG, strf("%s:%d: %s", path.c_str(), number, error.what()));
    }
  }
  if (hosts.size() == before) throw Error(MPI_ERR_ARG, strf("%s names no host", path.c_str()));
}

bool is_this_host(const std::string& name) {
  const std::string here = topo::host_name();
  const char* slurm = std::getenv("SLURMD_NODENAME");
  if (name == "localhost" || name == here || name == here.substr(0, here.find('.')) ||
      here == name.substr(0, name.find('.')) || (slurm != nullptr && name == slurm))
    return true;
  return resolves_to_here(name);
}

const Host* first_other_host(const std::vector<Host>& hosts) {
  const auto found = std::find_if(hosts.begin(), hosts.end(),
                                  [](const Host& host) { return !is_this_host(host.name); });
  return found == hosts.end() ? nullptr : &*found;
}

int slots_of(const std::vector<Host>& hosts) noexcept {
  int sum = 0;
  for (const Host& host : hosts) sum += host.slots;
  return sum;
}

}  // namespace tern::mpirun

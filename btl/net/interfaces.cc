// SPDX-License-Identifier: Apache-2.0
// Interfaces: queried from the kernel and described in words.
#include "btl/net/interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "boot/boot.hpp"
#include "core/process.hpp"

namespace tern::btl::net {
namespace {

constexpr const char* kOfContainers[] = {"docker", "virbr", "podman", "cni",
                                         "br-",    "lxcbr", "lxdbr"};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

}  // namespace

std::string text_of(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof four);
    ::inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    if (!IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr))
      ::inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
  }
  return text;
}

std::vector<Interface> interfaces() {
  std::vector<Interface> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    if ((at->ifa_flags & IFF_UP) == 0 || (at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (std::string text = text_of(*at->ifa_addr); !text.empty())
      all.push_back({at->ifa_name, std::move(text), (at->ifa_flags & IFF_RUNNING) != 0});
  }
  ::freeifaddrs(first);
  return all;
}

bool stays_on_host(const Interface& one) {
  return std::any_of(std::begin(kOfContainers), std::end(kOfContainers),
                     [&](const char* begins) { return one.name.starts_with(begins); });
}

std::string names_of(const std::vector<Interface>& some) {
  std::string text;
  std::vector<std::string> listed;
  for (const Interface& one : some) {
    if (std::find(listed.begin(), listed.end(), one.name) != listed.end()) continue;
    listed.push_back(one.name);
    text += (text.empty() ? "" : ",") + one.name;
  }
  return text;
}

std::string route(const std::string& address) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(address.c_str(), "9", &hints, &found) != 0) return "";
  const int fd = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_storage here{};
  socklen_t bytes = sizeof here;
  std::string text;
  if (fd >= 0 && ::connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &bytes) == 0)
    text = text_of(*reinterpret_cast<const sockaddr*>(&here));
  if (fd >= 0) ::close(fd);
  ::freeaddrinfo(found);
  return text;
}

Choice choose(const std::vector<Interface>& all, const std::vector<std::string>& peers,
              const Route& way) {
  std::vector<Interface> outer, ways;
  std::vector<std::string> inner, dark, others;
  for (const Interface& one : all) {
    if (stays_on_host(one))
      inner.push_back(one.name);
    else if (!one.running)
      dark.push_back(one.name);
    else
      outer.push_back(one);
  }
  for (const std::string& peer : peers) {
    const std::string from = way(peer);
    for (const Interface& one : outer)
      if (one.address == from &&
          std::none_of(ways.begin(), ways.end(),
                       [&](const Interface& other) { return other.address == one.address; }))
        ways.push_back(one);
  }
  if (ways.empty()) ways = outer;
  if (ways.empty()) return {};
  for (const Interface& one : outer)
    if (std::none_of(ways.begin(), ways.end(),
                     [&](const Interface& other) { return other.name == one.name; }))
      others.push_back(one.name);
  std::vector<std::string> why;
  if (!inner.empty())
    why.push_back(joined(inner) + (inner.size() == 1 ? " reaches" : " reach") + " no other host");
  if (!dark.empty())
    why.push_back(joined(dark) + (dark.size() == 1 ? " has" : " have") + " no carrier");
  if (!others.empty())
    why.push_back("the names of other hosts lead to " + names_of(ways) + ", not to " +
                  joined(others));
  if (why.empty()) return {};  // all interfaces, in another order
  return {ways, joined(why)};
}

std::string words_on(const std::vector<Interface>& all, const Choice& choice,
                     const char* variable) {
  if (all.empty()) return "";
  std::vector<std::string> told;
  for (const Interface& one : all)
    told.push_back(strf("%s (%s)", one.name.c_str(), one.address.c_str()));
  const std::string text = "this host has " + joined(told);
  if (choice.used.empty())
    return names_of(all).find(',') == std::string::npos
               ? text
               : text + strf("; %s=NAME chooses", variable);
  return text + strf("; used: %s, because %s; %s=NAME chooses others",
                     names_of(choice.used).c_str(), choice.why.c_str(), variable);
}

namespace {

/// A few hosts are enough to find the network of the job.
std::vector<std::string> other_hosts(core::Process& process) {
  constexpr size_t kHosts = 3;
  constexpr int kMostRanks = 4096;
  std::vector<std::string> names;
  boot::Boot& boot = *process.boot;
  int last = boot.node(process.world_rank);
  const int own = last, ranks = std::min(process.world_size, kMostRanks);
  for (int i = 1; i < ranks && names.size() < kHosts; ++i) {
    const int rank = (process.world_rank + i) % process.world_size;
    const int node = boot.node(rank);
    if (node == own || node == last) continue;
    last = node;
    names.push_back(boot.host(rank));
  }
  return names;
}

struct LookUp {
  std::vector<std::string> names;
  std::vector<gaicb> requests;
  std::vector<gaicb*> list;
  addrinfo hints{};
};

/// A thread of the C library asks; after a second its memory is left to the thread.
std::vector<std::string> addresses_of(std::vector<std::string> names) {
  if (names.empty()) return {};
  auto asked = std::make_unique<LookUp>();
  asked->names = std::move(names);
  asked->hints.ai_socktype = SOCK_DGRAM;
  asked->requests.resize(asked->names.size());
  for (size_t i = 0; i < asked->names.size(); ++i) {
    asked->requests[i].ar_name = asked->names[i].c_str();
    asked->requests[i].ar_request = &asked->hints;
    asked->list.push_back(&asked->requests[i]);
  }
  const int count = static_cast<int>(asked->list.size());
  if (::getaddrinfo_a(GAI_NOWAIT, asked->list.data(), count, nullptr) != 0) {
    (void)asked.release();  // some requests may be under way
    return {};
  }
  std::vector<std::string> addresses;
  const int64_t end = now_ns() + 1'000'000'000;
  bool late = false;
  for (gaicb* const one : asked->list) {
    while (::gai_error(one) == EAI_INPROGRESS && now_ns() < end) {
      const timespec moment{0, 20'000'000};
      (void)::gai_suspend(&one, 1, &moment);
    }
    if (::gai_error(one) == EAI_INPROGRESS) late |= ::gai_cancel(one) != EAI_CANCELED;
    if (::gai_error(one) != 0) continue;
    for (const addrinfo* at = one->ar_result; at != nullptr; at = at->ai_next)
      if (std::string text = text_of(*at->ai_addr); !text.empty()) addresses.push_back(text);
    ::freeaddrinfo(one->ar_result);
  }
  if (late) (void)asked.release();
  return addresses;
}

}  // namespace

Choice choose_for(core::Process& process, int64_t rails) {
  const std::vector<Interface> all = interfaces();
  if (names_of(all).find(',') == std::string::npos) return {};
  if (rails > 1) return choose(all, {});  // names lead to one rail
  return choose(all, addresses_of(other_hosts(process)));
}

}  // namespace tern::btl::net

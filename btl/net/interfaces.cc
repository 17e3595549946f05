// SPDX-License-Identifier: Apache-2.0
// Interfaces: queried from the kernel and described in words.
#include "btl/net/interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"

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

/// Empty for other families, and for addresses of a single link.
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

}  // namespace

std::vector<Interface> interfaces() {
  std::vector<Interface> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    if ((at->ifa_flags & IFF_UP) == 0 || (at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (std::string text = text_of(*at->ifa_addr); !text.empty())
      all.push_back({at->ifa_name, std::move(text)});
  }
  ::freeifaddrs(first);
  return all;
}

bool stays_on_host(const Interface& one) {
  return std::any_of(std::begin(kOfContainers), std::end(kOfContainers),
                     [&](const char* begins) { return one.name.starts_with(begins); });
}

std::string words_on(const std::vector<Interface>& all, const char* variable) {
  if (all.empty()) return "";
  std::vector<std::string> told, inner;
  std::string others;
  for (const Interface& one : all) {
    told.push_back(strf("%s (%s)", one.name.c_str(), one.address.c_str()));
    if (stays_on_host(one))
      inner.push_back(one.name);
    else
      others += (others.empty() ? "" : ",") + one.name;
  }
  std::string text = "this host has " + joined(told);
  if (inner.empty()) return text;
  text += strf("; %s reach%s no other host", joined(inner).c_str(), inner.size() == 1 ? "es" : "");
  if (others.empty()) return text;
  return text +
         strf(": %s=%s excludes %s", variable, others.c_str(), inner.size() == 1 ? "it" : "them");
}

}  // namespace tern::btl::net

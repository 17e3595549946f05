// SPDX-License-Identifier: Apache-2.0
// Lanes: reads "lane[0]:  2:rc_verbs/rxe0:1.0 md[1] ..." of an endpoint, and
// "resource 0 :  md 0 dev 0 flags -- rc_verbs/rxe0:1" of a context.
#include "btl/ucx/lanes.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <regex>

#include "base/error.hpp"

namespace tern::btl::ucx {
namespace {

std::string printed(const std::function<void(std::FILE*)>& print) {
  char* text = nullptr;
  size_t bytes = 0;
  std::FILE* const stream = ::open_memstream(&text, &bytes);
  if (stream == nullptr) return {};
  print(stream);
  std::fclose(stream);
  std::string words(text, bytes);
  std::free(text);
  return words;
}

void add_new(std::vector<std::string>* words, const std::string& word) {
  if (std::find(words->begin(), words->end(), word) == words->end()) words->push_back(word);
}

}  // namespace

Lanes lanes_in(const std::string& description) {
  static const std::regex lane(
      R"((?:lane\[\d+\]:\s+\d+:|resource .* flags \S+ )([a-z0-9_]+)/(\S+?)(\.\d+)?\s)");
  Lanes lanes;
  for (std::sregex_iterator at(description.begin(), description.end(), lane), end; at != end;
       ++at) {
    const std::string transport = (*at)[1];
    lanes.rdma |= transport.starts_with("rc") || transport.starts_with("dc");
    lanes.datagrams |= transport.starts_with("ud");
    lanes.sockets |= transport.starts_with("tcp");
    add_new(&lanes.names, transport + "/" + (*at)[2].str());
  }
  return lanes;
}

std::string Lanes::words() const {
  std::vector<std::string> transports, all;
  std::string text;
  for (const std::string& name : names) add_new(&transports, name.substr(0, name.find('/')));
  for (const std::string& transport : transports) {
    std::string devices;
    for (const std::string& name : names) {
      if (!name.starts_with(transport + "/")) continue;
      const std::string device = name.substr(transport.size() + 1);
      add_new(&all, device);
      devices += (devices.empty() ? "" : " and ") + device;
    }
    text += strf("%s%s over %s", text.empty() ? "" : ", ", transport.c_str(), devices.c_str());
  }
  return all.size() > 1 ? text + strf(", %zu rails", all.size()) : text;
}

Lanes lanes_of(const Library& ucp, ucp_ep_h endpoint) {
  return lanes_in(printed([&](std::FILE* to) { ucp.ucp_ep_print_info(endpoint, to); }));
}

Lanes resources_of(const Library& ucp, ucp_context_h context) {
  return lanes_in(printed([&](std::FILE* to) { ucp.ucp_context_print_info(context, to); }));
}

}  // namespace tern::btl::ucx

// SPDX-License-Identifier: Apache-2.0
// Lanes: reads "lane[0]:  2:rc_verbs/rxe0:1.0 md[1] ...".
#include "btl/ucx/lanes.hpp"

#include <cstdio>
#include <cstdlib>
#include <regex>

namespace tern::btl::ucx {

Lanes lanes_in(const std::string& description) {
  static const std::regex lane(R"(lane\[\d+\]:\s+\d+:([a-z0-9_]+)/(\S+?)(\.\d+)?\s)");
  Lanes lanes;
  for (std::sregex_iterator at(description.begin(), description.end(), lane), end; at != end;
       ++at) {
    const std::string transport = (*at)[1], name = transport + "/" + (*at)[2].str();
    lanes.rdma |= transport.starts_with("rc") || transport.starts_with("dc");
    lanes.datagrams |= transport.starts_with("ud");
    lanes.sockets |= transport.starts_with("tcp");
    if (lanes.names.find(name) == std::string::npos)
      lanes.names += (lanes.names.empty() ? "" : ", ") + name;
  }
  return lanes;
}

Lanes lanes_of(const Library& ucp, ucp_ep_h endpoint) {
  char* text = nullptr;
  size_t bytes = 0;
  std::FILE* const stream = ::open_memstream(&text, &bytes);
  if (stream == nullptr) return {};
  ucp.ucp_ep_print_info(endpoint, stream);
  std::fclose(stream);
  Lanes lanes = lanes_in(std::string(text, bytes));
  std::free(text);
  return lanes;
}

}  // namespace tern::btl::ucx

// SPDX-License-Identifier: Apache-2.0
// Lists the transports, tries the new transport, and polls it on two channels.
#include <cstdio>

#include "btl/table.hpp"
#include "btl/transport.hpp"
#include "core/process.hpp"

namespace {
class Deaf final : public tern::btl::Sink {
 public:
  void arrived(tern::btl::Endpoint&, const tern::btl::Frame&) noexcept override {}
};
}  // namespace

int main() {
  tern::core::Process process;
  Deaf sink;
  for (const tern::btl::Transport* row : tern::btl::transports()) std::printf("%s\n", row->name);
  for (const tern::btl::Transport* row : tern::btl::transports())
    for (const tern::btl::Trial& trial : row->try_here())
      std::printf("%s\n", trial.finding.c_str());
  tern::btl::Table first(process, sink, 0, nullptr), second(process, sink, 1, &first);
  std::printf("polled %d and %d\n", first.progress(), second.progress());
}

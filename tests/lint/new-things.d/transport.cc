// SPDX-License-Identifier: Apache-2.0
// A transport without reachable ranks. Each poll reports an arrived frame.
#include "btl/transport.hpp"

namespace tern::btl::dummy {
namespace {

class Dummy final : public Btl {
 public:
  const char* name() const noexcept override { return "dummy"; }
  bool reaches(const core::Peer&) const noexcept override { return false; }
  Endpoint* connect(core::Peer&, uint32_t) override { return nullptr; }
  int progress() noexcept override { return 1; }
  std::unique_ptr<Btl> for_channel(Sink&, uint32_t) override { return std::make_unique<Dummy>(); }
};

}  // namespace

extern const Transport kTransport{
    .name = "dummy",
    .reaches = "no rank",
    .make = [](core::Process&, Sink&, AddressBook&) -> std::unique_ptr<Btl> {
      return std::make_unique<Dummy>();
    },
    .try_here = []() -> std::vector<Trial> {
      return {{"dummy", "no rank", true, "it was tried", ""}};
    }};

}  // namespace tern::btl::dummy

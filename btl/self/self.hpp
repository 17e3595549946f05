// SPDX-License-Identifier: Apache-2.0
// Self: messages of a rank to itself.
#pragma once

#include <memory>
#include <vector>

#include "btl/transport.hpp"

namespace tern::btl::self {

class Self final : public Btl {
 public:
  Self(core::Process& process, Sink& sink, uint32_t channel = 0);
  ~Self() override;
  const char* name() const noexcept override { return "self"; }
  bool reaches(const core::Peer& peer) const noexcept override;
  Endpoint* connect(core::Peer& peer, uint32_t hint) override;
  int progress() noexcept override { return 0; }
  std::unique_ptr<Btl> for_channel(Sink& sink, uint32_t channel) override;
  bool is_polled() const noexcept override { return false; }

 private:
  core::Process& process_;
  Sink& sink_;
  const uint32_t channel_;
  std::unique_ptr<Endpoint> endpoint_;
};

[[nodiscard]] std::vector<Trial> try_here();

}  // namespace tern::btl::self

// SPDX-License-Identifier: Apache-2.0
// DeviceLinks: which devices reach each other's memory in truth: loads by kernels and copies that
// were tried once for each pair.
// Why: on some machines (PCIe switches with access control, virtual machines) memory of a peer can
// be mapped, and what comes from there is wrong.
// Lifetime: Coll. Threads: under the channel's lock.
// See: tests/gpu/mpi/peer_links.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "coll/flat/slots.hpp"
#include "cuda/device.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

class DeviceLinks {
 public:
  enum class State : uint8_t { kUntried, kGood, kBad };
  [[nodiscard]] State between(const cuda::Uuid& own, const cuda::Uuid& other) const noexcept;
  /// Some epochs of all ranks: each reads a pattern of each other's, by a kernel and by a copy, and
  /// writes one. `job` is on the own device, `devices` are those of all ranks. Whether all of this
  /// rank's are good. What could be tried is remembered; of what is wrong nothing is mapped any
  /// more.
  [[nodiscard]] bool try_all(core::Process& process, Slots& slots, pml::Pml& pml, cuda::Job& job,
                             const std::vector<cuda::Uuid>& devices);

 private:
  struct Link {
    cuda::Uuid own, other;
    bool good;
  };
  void remember(const cuda::Uuid& own, const cuda::Uuid& other, bool good);
  std::vector<Link> links_;
};

}  // namespace tern::coll

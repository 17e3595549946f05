// SPDX-License-Identifier: Apache-2.0
// DeviceLinks: device pairs with working peer access, each tried once. Why: some machines (PCIe
// switches with access control, virtual machines) map peer memory but return wrong data.
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
  /// In try_all() each rank reads every peer's pattern, by kernel and by copy, and writes a mark.
  /// Returns whether all links of this rank work. Bad links are never mapped again.
  [[nodiscard]] bool try_all(core::Process& process, Slots& slots, pml::Pml& pml, cuda::Job& job,
                             const std::vector<cuda::Uuid>& devices);

 private:
  struct TriedLink {
    cuda::Uuid own, other;
    bool good;
  };
  void remember(const cuda::Uuid& own, const cuda::Uuid& other, bool good);
  std::vector<TriedLink> links_;
};

}  // namespace tern::coll

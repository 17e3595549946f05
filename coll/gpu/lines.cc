// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/lines.hpp"

#include <optional>

#include "base/error.hpp"
#include "cuda/kernels.hpp"

namespace tern::coll {
namespace {

constexpr uint64_t kLeastCapability = 70;

/// A device that this process can see, by its name.
std::optional<CUdevice> visible(const cuda::Driver& driver, const cuda::Uuid& wanted) noexcept {
  int count = 0;
  if (driver.cuDeviceGetCount(&count) != CUDA_SUCCESS) return std::nullopt;
  for (int i = 0; i < count; ++i) {
    CUdevice handle = 0;
    CUuuid name{};
    cuda::Uuid found;
    if (driver.cuDeviceGet(&handle, i) != CUDA_SUCCESS ||
        driver.cuDeviceGetUuid_v2(&name, handle) != CUDA_SUCCESS)
      continue;
    for (size_t byte = 0; byte < sizeof name.bytes; ++byte)
      found.bytes[byte] = static_cast<unsigned char>(name.bytes[byte]);
    if (found == wanted) return handle;
  }
  return std::nullopt;
}

/// Native atomics are what tells NVLink from PCIe, as tern_info says it, too.
bool is_nvlink(const cuda::Driver& driver, CUdevice from, CUdevice to) noexcept {
  int access = 0, atomics = 0;
  return driver.cuDeviceGetP2PAttribute(&access, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, from,
                                        to) == CUDA_SUCCESS &&
         driver.cuDeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                        from, to) == CUDA_SUCCESS &&
         access != 0 && atomics != 0;
}

/// What stands against lines between this rank's device and another rank's.
std::string why_not_to(const cuda::Driver& driver, CUdevice own, const LineFacts& mine,
                       const LineFacts& theirs, size_t other) {
  if (theirs.device == mine.device) return strf("it shares its GPU with rank %zu", other);
  if (theirs.capability != mine.capability)
    return strf("its GPU is of sm_%llu, rank %zu's of sm_%llu",
                static_cast<unsigned long long>(mine.capability), other,
                static_cast<unsigned long long>(theirs.capability));
  const std::optional<CUdevice> there = visible(driver, theirs.device);
  if (!there)
    return strf(
        "it does not see rank %zu's GPU (CUDA_VISIBLE_DEVICES), and so not how they are linked",
        other);
  return is_nvlink(driver, own, *there) ? std::string()
                                        : strf("no NVLink joins its GPU and rank %zu's", other);
}

}  // namespace

LineFacts line_facts(cuda::Device& device) {
  LineFacts facts;
  facts.capability = static_cast<uint64_t>(device.capability());
  if (const cuda::Kernels* const kernels = device.kernels(); kernels != nullptr)
    facts.blocks = static_cast<uint64_t>(kernels->most_waiting_lines());
  facts.device = device.uuid;
  return facts;
}

std::string why_no_lines(const cuda::Device& device, const std::vector<LineFacts>& all, size_t rank,
                         uint64_t blocks) {
  const LineFacts& mine = all[rank];
  if (blocks == 0 || mine.blocks < blocks) return "its GPU does not hold their kernel";
  if (mine.capability < kLeastCapability)
    return strf("its GPU is of sm_%llu, and lines arrive whole from sm_70 on",
                static_cast<unsigned long long>(mine.capability));
  CUdevice own = 0;
  if (device.driver.cuDeviceGet(&own, device.ordinal) != CUDA_SUCCESS) return "its GPU is gone";
  for (size_t other = 0; other < all.size(); ++other) {
    if (other == rank) continue;
    std::string why = why_not_to(device.driver, own, mine, all[other], other);
    if (!why.empty()) return why;
  }
  return {};
}

}  // namespace tern::coll

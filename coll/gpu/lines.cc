// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/lines.hpp"

#include <optional>

#include "base/error.hpp"
#include "cuda/kernels.hpp"

namespace tern::coll {
namespace {

constexpr uint64_t kLeastCapability = 70;

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

/// Native atomics are the driver's only sign of NVLink; NVML knows better.
bool has(const cuda::Driver& driver, CUdevice_P2PAttribute which, CUdevice from,
         CUdevice to) noexcept {
  int value = 0;
  return driver.cuDeviceGetP2PAttribute(&value, which, from, to) == CUDA_SUCCESS && value != 0;
}

std::string no_nvlink(size_t other) {
  return strf("no NVLink joins the GPU and rank %zu's", other);
}

class DevicePair {
 public:
  DevicePair(const cuda::Device& device, const topo::NvLinks& links, const LineFacts& mine,
             const LineFacts& theirs, size_t other)
      : driver_(device.driver), links_(links), mine_(mine), theirs_(theirs), other_(other) {
    has_own_ = driver_.cuDeviceGet(&own_, device.ordinal) == CUDA_SUCCESS;
  }

  [[nodiscard]] LinesVerdict verdict() const {
    if (!has_own_) return {"the GPU is lost", {}};
    if (theirs_.device == mine_.device)
      return {strf("its GPU is shared with rank %zu", other_), {}};
    if (theirs_.capability != mine_.capability)
      return {strf("its GPU is sm_%llu, rank %zu's sm_%llu",
                   static_cast<unsigned long long>(mine_.capability), other_,
                   static_cast<unsigned long long>(theirs_.capability)),
              {}};
    const std::optional<CUdevice> there = visible(driver_, theirs_.device);
    if (there && !has(driver_, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, own_, *there))
      return {no_nvlink(other_), {}};
    const topo::Joint joint = topo::nvml().joint(mine_.address, theirs_.address, links_,
                                                 static_cast<int>(theirs_.to_switches));
    if (joint.kind != topo::Joint::Kind::kUnknown)
      return {joint.is_nvlink() ? std::string() : no_nvlink(other_) + ", says NVML", "NVML"};
    return by_driver(there, joint.why);
  }

 private:
  [[nodiscard]] LinesVerdict by_driver(const std::optional<CUdevice>& there,
                                       const std::string& why_not_nvml) const {
    if (!there)
      return {
          strf(
              "rank %zu's GPU is hidden by CUDA_VISIBLE_DEVICES, and NVML cannot say how both GPUs "
              "are linked: %s",
              other_, why_not_nvml.c_str()),
          {}};
    if (!has(driver_, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, own_, *there))
      return {no_nvlink(other_), {}};
    return {{}, "the CUDA driver's attributes (NVML: " + why_not_nvml + ")"};
  }

  const cuda::Driver& driver_;
  const topo::NvLinks& links_;
  const LineFacts &mine_, &theirs_;
  const size_t other_;
  CUdevice own_ = 0;
  bool has_own_ = false;
};

topo::PciAddress address_of(const cuda::Device& device) {
  CUdevice handle = 0;
  char text[32] = {};
  if (device.driver.cuDeviceGet(&handle, device.ordinal) != CUDA_SUCCESS ||
      device.driver.cuDeviceGetPCIBusId(text, sizeof text, handle) != CUDA_SUCCESS)
    return {};
  return topo::parse_pci_address(text).value_or(topo::PciAddress{});
}

}  // namespace

LineFacts line_facts(cuda::Device& device, topo::NvLinks* links) {
  LineFacts facts;
  facts.capability = static_cast<uint64_t>(device.capability());
  facts.device = device.uuid;
  if (links == nullptr || device.kernels() == nullptr) return facts;
  facts.address = address_of(device);
  *links = topo::nvml().links_of(facts.address);
  if (links->known()) facts.to_switches = links->to_switches;
  return facts;
}

LinesVerdict judge_lines(const cuda::Device& device, const topo::NvLinks& links,
                         const std::vector<LineFacts>& all, size_t rank, uint64_t blocks) {
  const LineFacts& mine = all[rank];
  if (blocks == 0) return {"the GPU does not hold the LL128 kernel", {}};
  if (mine.capability < kLeastCapability)
    return {strf("the GPU is sm_%llu, and packets arrive whole from sm_70 on",
                 static_cast<unsigned long long>(mine.capability)),
            {}};
  LinesVerdict all_pairs;
  for (size_t other = 0; other < all.size(); ++other) {
    if (other == rank) continue;
    LinesVerdict one = DevicePair(device, links, mine, all[other], other).verdict();
    if (!one.why_not.empty()) return one;
    if (all_pairs.source.find(one.source) == std::string::npos)
      all_pairs.source += (all_pairs.source.empty() ? "" : "; ") + one.source;
  }
  return all_pairs;
}

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// Nvml: opening the library, queries.
#include "topo/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "base/error.hpp"

namespace tern::topo {
namespace {

constexpr unsigned kMostSpeed = 10000000;  // MB/s

template <class Function>
bool resolve(void* library, const char* name, Function& place) noexcept {
  place = reinterpret_cast<Function>(::dlsym(library, name));
  return place != nullptr;
}

bool same_device(const PciAddress& one, const PciAddress& other) noexcept {
  return one.domain == other.domain && one.bus == other.bus && one.device == other.device;
}

}  // namespace

Joint joint_of(const NvLinks& links, const PciAddress& other, int others_to_switches) {
  if (!links.known()) return {Joint::Kind::kUnknown, links.why_not};
  for (const PciAddress& gpu : links.gpus)
    if (same_device(gpu, other)) return {Joint::Kind::kNvlink, {}};
  if (links.to_switches > 0 && others_to_switches > 0) return {Joint::Kind::kNvswitch, {}};
  if (links.to_switches > 0 && others_to_switches < 0)
    return {Joint::Kind::kUnknown, "the other GPU's NVLinks are not known"};
  if (links.unknown > 0)
    return {Joint::Kind::kUnknown,
            strf("NVML does not name the far ends of %d NVLinks", links.unknown)};
  return {Joint::Kind::kNot, {}};
}

Nvml::Nvml(const char* library) : library_(::dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    const char* const reason = ::dlerror();
    why_not_ = reason != nullptr ? reason : strf("%s cannot be loaded", library);
    return;
  }
  const char* lacks = nullptr;
#define TERN_NVML_REQUIRED_ROW(name, ...) \
  if (!resolve(library_, #name, table_.name) && lacks == nullptr) lacks = #name;
#define TERN_NVML_OPTIONAL_ROW(name, ...) (void)resolve(library_, #name, table_.name);
  TERN_NVML_REQUIRED(TERN_NVML_REQUIRED_ROW)
  TERN_NVML_OPTIONAL(TERN_NVML_OPTIONAL_ROW)
#undef TERN_NVML_REQUIRED_ROW
#undef TERN_NVML_OPTIONAL_ROW
  (void)resolve(library_, "nvmlErrorString", table_.nvmlErrorString);
  if (lacks != nullptr) {
    why_not_ = strf("%s has no %s", library, lacks);
    return;
  }
  if (const NvmlReturn result = table_.nvmlInit_v2(); result != kNvmlSuccess)
    why_not_ = words_of("nvmlInit_v2", result);
}

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  if (why_not_.empty()) (void)table_.nvmlShutdown();
  (void)::dlclose(library_);
}

std::string Nvml::words_of(const char* function, NvmlReturn result) const {
  const char* const text =
      table_.nvmlErrorString == nullptr ? nullptr : table_.nvmlErrorString(result);
  return text != nullptr ? strf("%s: %s", function, text)
                         : strf("%s: error %d", function, static_cast<int>(result));
}

NvmlDevice Nvml::device_at(const PciAddress& address, std::string* why_not) const {
  NvmlDevice device = nullptr;
  const NvmlReturn result =
      table_.nvmlDeviceGetHandleByPciBusId_v2(to_text(address).c_str(), &device);
  if (result == kNvmlSuccess) return device;
  *why_not = words_of("nvmlDeviceGetHandleByPciBusId_v2", result);
  return nullptr;
}

// Addresses of switches differ between machines, so only the type counts.
void Nvml::add_link(NvmlDevice device, unsigned link, NvLinks* links) const {
  NvmlRemoteType type = kNvmlRemoteUnknown;
  if (table_.nvmlDeviceGetNvLinkRemoteDeviceType == nullptr ||
      table_.nvmlDeviceGetNvLinkRemoteDeviceType(device, link, &type) != kNvmlSuccess)
    type = kNvmlRemoteUnknown;
  if (type == kNvmlRemoteSwitch) ++links->to_switches;
  if (type == kNvmlRemoteSwitch || type == kNvmlRemoteCpu) return;
  NvmlPciInfo remote{};
  const bool told =
      table_.nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &remote) == kNvmlSuccess;
  if (told)
    links->gpus.push_back({remote.domain, static_cast<uint8_t>(remote.bus),
                           static_cast<uint8_t>(remote.device), 0, 1});
  if (!told || type != kNvmlRemoteGpu) ++links->unknown;
}

NvLinks Nvml::links_of(const PciAddress& gpu) const {
  NvLinks links;
  links.why_not = gpu.known == 0 ? "the GPU's PCI address is not known" : why_not_;
  if (!links.known()) return links;
  const std::lock_guard<std::mutex> guard(mutex_);
  const NvmlDevice device = device_at(gpu, &links.why_not);
  if (device == nullptr) return links;
  for (unsigned link = 0; link < kNvmlMostLinks; ++link) {
    NvmlEnableState state = kNvmlDisabled;
    const NvmlReturn result = table_.nvmlDeviceGetNvLinkState(device, link, &state);
    if (result == kNvmlSuccess && state == kNvmlEnabled) add_link(device, link, &links);
    // Without NVLink, NVML returns kNvmlNotSupported; beyond the last link, kNvmlInvalidArgument.
    if (result == kNvmlSuccess || result == kNvmlNotSupported || result == kNvmlInvalidArgument)
      continue;
    links.why_not = words_of("nvmlDeviceGetNvLinkState", result);
    break;
  }
  return links;
}

// NVML's rates include the encoding: 25,781 MB/s (V100), 26,562 (H100), 53,125 (B200).
double Nvml::link_rate(const PciAddress& gpu) const {
  if (gpu.known == 0 || !why_not_.empty() || table_.nvmlDeviceGetFieldValues == nullptr) return 0;
  const std::lock_guard<std::mutex> guard(mutex_);
  std::string none;
  NvmlFieldValue speed{};
  speed.field = kNvmlNvlinkSpeedField;
  const NvmlDevice device = device_at(gpu, &none);
  if (device == nullptr || table_.nvmlDeviceGetFieldValues(device, 1, &speed) != kNvmlSuccess ||
      speed.result != kNvmlSuccess || speed.type != kNvmlUnsigned || speed.value > kMostSpeed)
    return 0;
  for (const unsigned published : {100U, 50U, 25U, 20U})
    if (speed.value >= published * 950) return published;
  return speed.value / 1000.0;
}

std::string Nvml::shared_fabric(const PciAddress& gpu) const {
  if (gpu.known == 0 || !why_not_.empty() || table_.nvmlDeviceGetGpuFabricInfoV == nullptr)
    return {};
  const std::lock_guard<std::mutex> guard(mutex_);
  std::string cluster;
  NvmlFabricInfo info{};
  info.version = kNvmlFabricInfo2;
  const NvmlDevice device = device_at(gpu, &cluster);
  if (device == nullptr || table_.nvmlDeviceGetGpuFabricInfoV(device, &info) != kNvmlSuccess ||
      info.state != kNvmlFabricComplete || info.status != kNvmlSuccess)
    return {};
  for (const unsigned char byte : info.cluster) cluster += strf("%02x", byte);
  // Without links to other hosts the cluster is zero.
  if (cluster.find_first_not_of('0') == std::string::npos) return {};
  return strf("%s-%u", cluster.c_str(), info.clique);
}

Joint::Kind Nvml::kind_of_pair(const PciAddress& one, const PciAddress& other) const {
  if (!why_not_.empty() || table_.nvmlDeviceGetP2PStatus == nullptr) return Joint::Kind::kUnknown;
  const std::lock_guard<std::mutex> guard(mutex_);
  std::string none;
  const NvmlDevice here = device_at(one, &none), there = device_at(other, &none);
  NvmlP2pStatus status = kNvmlP2pUnknown;
  if (here == nullptr || there == nullptr ||
      table_.nvmlDeviceGetP2PStatus(here, there, kNvmlP2pByNvlink, &status) != kNvmlSuccess ||
      status == kNvmlP2pUnknown)
    return Joint::Kind::kUnknown;
  return status == kNvmlP2pOk ? Joint::Kind::kNvlink : Joint::Kind::kNot;
}

Joint Nvml::joint(const PciAddress& one, const PciAddress& other, const NvLinks& links,
                  int others_to_switches) const {
  if (other.known == 0) return {Joint::Kind::kUnknown, "the other GPU's PCI address is not known"};
  // Instances of one GPU have no link.
  if (same_device(one, other)) return {Joint::Kind::kNot, {}};
  Joint by_links = joint_of(links, other, others_to_switches);
  const Joint::Kind pair = kind_of_pair(one, other);
  if (pair == Joint::Kind::kUnknown) return by_links;
  if (pair == Joint::Kind::kNvlink && by_links.is_nvlink()) return by_links;
  return {pair, {}};
}

const Nvml& nvml() {
  static const Nvml& opened = *new Nvml;  // never closed: other threads may query at exit
  return opened;
}

}  // namespace tern::topo

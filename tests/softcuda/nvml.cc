// SPDX-License-Identifier: Apache-2.0
// A software NVML: libnvidia-ml.so.1 of the machine in SOFTCUDA_DEVICES, _PEERS, _PCI, _NVLINK and
// _CLUSTER. Why: NVML shows links and devices hidden by CUDA_VISIBLE_DEVICES. How: each nvmlInit_v2
// reads the environment anew. SOFTCUDA_NVML=FUNCTION:CODE,... makes functions fail; "own" hides
// devices as a container does.
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "config.hpp"
#include "topo/nvml_api.hpp"

using namespace tern::topo;  // NOLINT

struct tern::topo::NvmlDeviceHandle {
  int physical;
};

namespace softcuda {
namespace {

constexpr unsigned kLinksToAPeer = 2, kLinksToSwitches = 18;
constexpr unsigned kSwitchBus = 0xf0;

struct End {
  NvmlRemoteType type;
  int physical;
};

struct Place {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  bool operator==(const Place&) const = default;
};

Place place_of(const char* text) {
  Place place;
  if (sscanf(text, "%x:%x:%x.%x", &place.domain, &place.bus, &place.device, &place.function) < 3)
    place.domain = ~0u;
  return place;
}

struct Machine {
  Config config = read_config();
  Links links{config};
  std::vector<NvmlDeviceHandle> devices;
  int users = 0;

  Machine() {
    for (int i = 0; i < config.devices; ++i) devices.push_back({i});
  }
  [[nodiscard]] bool shows(int physical) const {
    if (config.nvml.find("own") == std::string::npos) return true;
    const char* const shown = getenv("CUDA_VISIBLE_DEVICES");
    if (shown == nullptr) return true;
    const std::vector<std::string> words = split(shown, ',');
    return std::find(words.begin(), words.end(), std::to_string(physical)) != words.end();
  }
  [[nodiscard]] std::vector<End> ends_of(int physical) const {
    std::vector<End> ends;
    unsigned switches = 0;
    for (int other = 0; other < config.devices; ++other) {
      if (other == physical || links.between(physical, other) != Link::kNvlink) continue;
      if (links.switched(physical, other))
        switches = std::max(switches, links.count(physical, other, kLinksToSwitches));
      else
        ends.insert(ends.end(), links.count(physical, other, kLinksToAPeer),
                    {kNvmlRemoteGpu, other});
    }
    ends.insert(ends.end(), switches, {kNvmlRemoteSwitch, -1});
    if (ends.size() > kNvmlMostLinks) ends.resize(kNvmlMostLinks);
    return ends;
  }
};

std::unique_ptr<Machine>& machine() {
  static std::unique_ptr<Machine> present;
  return present;
}

NvmlReturn wanted(const char* function) {
  for (const std::string& word : split(machine()->config.nvml, ',')) {
    const size_t colon = word.find(':');
    if (word.substr(0, colon) == function && colon != std::string::npos)
      return static_cast<NvmlReturn>(atoi(word.c_str() + colon + 1));
  }
  return kNvmlSuccess;
}

NvmlReturn enter(const char* function) {
  return machine() == nullptr ? kNvmlUninitialized : wanted(function);
}

/// end_of() returns null for a missing link.
const End* end_of(NvmlDevice device, unsigned link, End* place) {
  const std::vector<End> ends = machine()->ends_of(device->physical);
  if (link >= ends.size()) return nullptr;
  *place = ends[link];
  return place;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;  // NOLINT

#define SOFTNVML_ENTER \
  if (const NvmlReturn refused = softcuda::enter(__func__)) return refused

extern "C" {

extern const int softnvml_marker;
const int softnvml_marker = 1;

NvmlReturn nvmlInit_v2() {
  if (machine() == nullptr) machine() = std::make_unique<Machine>();
  if (const NvmlReturn refused = wanted("nvmlInit_v2")) {
    if (machine()->users == 0) machine().reset();
    return refused;
  }
  ++machine()->users;
  return kNvmlSuccess;
}

NvmlReturn nvmlShutdown() {
  SOFTNVML_ENTER;
  if (--machine()->users == 0) machine().reset();
  return kNvmlSuccess;
}

const char* nvmlErrorString(NvmlReturn result) {
  switch (result) {
    case kNvmlSuccess:
      return "Success";
    case kNvmlUninitialized:
      return "Uninitialized";
    case kNvmlInvalidArgument:
      return "Invalid Argument";
    case kNvmlNotSupported:
      return "Not Supported";
    case kNvmlNotFound:
      return "Not Found";
    case kNvmlDriverNotLoaded:
      return "Driver Not Loaded";
  }
  return "Unknown Error";
}

NvmlReturn nvmlDeviceGetHandleByPciBusId_v2(const char* pciBusId, NvmlDevice* device) {
  SOFTNVML_ENTER;
  const Place wanted_place = place_of(pciBusId);
  for (NvmlDeviceHandle& one : machine()->devices) {
    const std::string text = pci_of(machine()->config, one.physical);
    if (place_of(text.c_str()) != wanted_place || !machine()->shows(one.physical)) continue;
    *device = &one;
    return kNvmlSuccess;
  }
  return kNvmlNotFound;
}

NvmlReturn nvmlDeviceGetNvLinkState(NvmlDevice device, unsigned link, NvmlEnableState* isActive) {
  SOFTNVML_ENTER;
  End end{};
  if (machine()->ends_of(device->physical).empty()) return kNvmlNotSupported;
  if (end_of(device, link, &end) == nullptr) return kNvmlInvalidArgument;
  *isActive = kNvmlEnabled;
  return kNvmlSuccess;
}

NvmlReturn nvmlDeviceGetNvLinkRemotePciInfo_v2(NvmlDevice device, unsigned link, NvmlPciInfo* pci) {
  SOFTNVML_ENTER;
  End end{};
  if (end_of(device, link, &end) == nullptr) return kNvmlInvalidArgument;
  const Place place = end.type == kNvmlRemoteSwitch
                          ? Place{0, kSwitchBus + link % 4, 0, 0}
                          : place_of(pci_of(machine()->config, end.physical).c_str());
  memset(pci, 0, sizeof *pci);
  pci->domain = place.domain;
  pci->bus = place.bus;
  pci->device = place.device;
  snprintf(pci->bus_id, sizeof pci->bus_id, "%08X:%02X:%02X.0", place.domain, place.bus,
           place.device);
  return kNvmlSuccess;
}

NvmlReturn nvmlDeviceGetNvLinkRemoteDeviceType(NvmlDevice device, unsigned link,
                                               NvmlRemoteType* type) {
  SOFTNVML_ENTER;
  End end{};
  if (end_of(device, link, &end) == nullptr) return kNvmlInvalidArgument;
  *type = end.type;
  return kNvmlSuccess;
}

NvmlReturn nvmlDeviceGetP2PStatus(NvmlDevice device1, NvmlDevice device2, NvmlP2pIndex index,
                                  NvmlP2pStatus* status) {
  SOFTNVML_ENTER;
  if (index != kNvmlP2pByNvlink) return kNvmlInvalidArgument;
  const bool linked =
      device1 != device2 &&
      machine()->links.between(device1->physical, device2->physical) == Link::kNvlink;
  *status = linked ? kNvmlP2pOk : kNvmlP2pNotSupported;
  return kNvmlSuccess;
}

NvmlReturn nvmlDeviceGetFieldValues(NvmlDevice device, int valuesCount, NvmlFieldValue* values) {
  SOFTNVML_ENTER;
  for (int i = 0; i < valuesCount; ++i) {
    const bool links = !machine()->ends_of(device->physical).empty();
    const bool known = links && values[i].field == kNvmlNvlinkSpeedField;
    values[i].result = known ? kNvmlSuccess : kNvmlNotSupported;
    values[i].type = kNvmlUnsigned;
    values[i].value = known ? machine()->config.nvlink : 0;
  }
  return kNvmlSuccess;
}

// SOFTCUDA_CLUSTER has letters of the cluster and a clique: "rack1:7".
NvmlReturn nvmlDeviceGetGpuFabricInfoV([[maybe_unused]] NvmlDevice device,
                                       NvmlFabricInfo* gpuFabricInfo) {
  SOFTNVML_ENTER;
  if (gpuFabricInfo->version != kNvmlFabricInfo2) return kNvmlInvalidArgument;
  const std::string& words = machine()->config.fabric_cluster;
  if (words.empty()) return kNvmlNotSupported;
  *gpuFabricInfo = {};
  gpuFabricInfo->version = kNvmlFabricInfo2;
  const size_t colon = std::min(words.find(':'), words.size());
  memcpy(gpuFabricInfo->cluster, words.data(), std::min(colon, sizeof gpuFabricInfo->cluster));
  gpuFabricInfo->clique =
      colon < words.size() ? static_cast<unsigned>(atoi(words.c_str() + colon + 1)) : 0;
  gpuFabricInfo->state = kNvmlFabricComplete;
  return kNvmlSuccess;
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
// The used part of NVML: values, a structure, functions. Builds need no toolkit; the rows also fill
// the software NVML of the tests.
#pragma once

namespace tern::topo {

using NvmlDevice = struct NvmlDeviceHandle*;

enum NvmlReturn : int {
  kNvmlSuccess = 0,
  kNvmlUninitialized = 1,
  kNvmlInvalidArgument = 2,
  kNvmlNotSupported = 3,
  kNvmlNotFound = 6,
  kNvmlDriverNotLoaded = 9,
};
enum NvmlEnableState : int { kNvmlDisabled = 0, kNvmlEnabled = 1 };
enum NvmlRemoteType : int {
  kNvmlRemoteGpu = 0,
  kNvmlRemoteCpu = 1,
  kNvmlRemoteSwitch = 2,
  kNvmlRemoteUnknown = 0xff,
};
enum NvmlP2pIndex : int { kNvmlP2pByNvlink = 2 };
enum NvmlP2pStatus : int { kNvmlP2pOk = 0, kNvmlP2pNotSupported = 5, kNvmlP2pUnknown = 6 };

struct NvmlPciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device;
  unsigned pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

/// The field is the rate of a link each way, in MB/s.
inline constexpr unsigned kNvmlNvlinkSpeedField = 90;
struct NvmlFieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type;  // kNvmlUnsigned: `value`
  NvmlReturn result;
  union {
    unsigned value;
    double widest;
  };
};
inline constexpr int kNvmlUnsigned = 1;

/// GPUs of one cluster and clique share the switches of NVLink, also across hosts.
struct NvmlFabricInfo {
  unsigned version;
  unsigned char cluster[16];
  NvmlReturn status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
inline constexpr unsigned char kNvmlFabricComplete = 3;
inline constexpr unsigned kNvmlFabricInfo2 = sizeof(NvmlFabricInfo) | 2U << 24;

/// kNvmlMostLinks is the maximum of all devices. Devices with fewer links return
/// kNvmlInvalidArgument.
inline constexpr unsigned kNvmlMostLinks = 36;

}  // namespace tern::topo

// clang-format off
#define TERN_NVML_REQUIRED(ROW)                                                                    \
  ROW(nvmlInit_v2)                                                                                 \
  ROW(nvmlShutdown)                                                                                \
  ROW(nvmlDeviceGetHandleByPciBusId_v2, const char* pciBusId, NvmlDevice* device)                  \
  ROW(nvmlDeviceGetNvLinkState, NvmlDevice device, unsigned link, NvmlEnableState* isActive)       \
  ROW(nvmlDeviceGetNvLinkRemotePciInfo_v2, NvmlDevice device, unsigned link, NvmlPciInfo* pci)

#define TERN_NVML_OPTIONAL(ROW)                                                                    \
  ROW(nvmlDeviceGetNvLinkRemoteDeviceType, NvmlDevice device, unsigned link, NvmlRemoteType* type) \
  ROW(nvmlDeviceGetP2PStatus, NvmlDevice device1, NvmlDevice device2, NvmlP2pIndex index,          \
      NvmlP2pStatus* status)                                                                       \
  ROW(nvmlDeviceGetFieldValues, NvmlDevice device, int valuesCount, NvmlFieldValue* values)        \
  ROW(nvmlDeviceGetGpuFabricInfoV, NvmlDevice device, NvmlFabricInfo* gpuFabricInfo)
// clang-format on

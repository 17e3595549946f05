// SPDX-License-Identifier: Apache-2.0
// NVML: the NVLinks of GPUs, even of GPUs hidden by CUDA_VISIBLE_DEVICES.
// Why: LL128 requires NVLink (coll/gpu/lines.hpp), but cuDeviceGetP2PAttribute covers visible
// devices only. A missing libnvidia-ml.so.1 or function yields a reason.
// Threads: any; queries are serialized. Cost: tens of milliseconds for the first query, which opens
// the library.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "topo/nvml_api.hpp"
#include "topo/pci.hpp"

namespace tern::topo {

struct NvLinks {
  std::vector<PciAddress> gpus;  // far ends, by link
  int to_switches = 0;
  int unknown = 0;
  std::string why_not;
  [[nodiscard]] bool known() const noexcept { return why_not.empty(); }
};

struct Joint {
  enum class Kind : uint8_t { kUnknown, kNvlink, kNvswitch, kNot };
  Kind kind = Kind::kUnknown;
  std::string why;
  [[nodiscard]] bool is_nvlink() const noexcept {
    return kind == Kind::kNvlink || kind == Kind::kNvswitch;
  }
};

/// The links alone decide. `others_to_switches` counts the other GPU's links to switches; negative
/// means unknown.
[[nodiscard]] Joint joint_of(const NvLinks& links, const PciAddress& other, int others_to_switches);

class Nvml {
 public:
  explicit Nvml(const char* library = "libnvidia-ml.so.1");
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  [[nodiscard]] NvLinks links_of(const PciAddress& gpu) const;
  /// GB/s of a link each way, as published for its generation; 0: unknown.
  [[nodiscard]] double link_rate(const PciAddress& gpu) const;
  /// A name of the switches of NVLink that several hosts share ("1a2b3c4d-0"); empty: none.
  [[nodiscard]] std::string shared_fabric(const PciAddress& gpu) const;
  /// NVML decides about a visible pair, the links about other pairs.
  [[nodiscard]] Joint joint(const PciAddress& one, const PciAddress& other, const NvLinks& links,
                            int others_to_switches) const;

 private:
  struct Table {
#define TERN_NVML_ROW(name, ...) NvmlReturn (*name)(__VA_ARGS__) = nullptr;
    TERN_NVML_REQUIRED(TERN_NVML_ROW)
    TERN_NVML_OPTIONAL(TERN_NVML_ROW)
#undef TERN_NVML_ROW
    const char* (*nvmlErrorString)(NvmlReturn result) = nullptr;
  };
  [[nodiscard]] std::string words_of(const char* function, NvmlReturn result) const;
  [[nodiscard]] NvmlDevice device_at(const PciAddress& address, std::string* why_not) const;
  void add_link(NvmlDevice device, unsigned link, NvLinks* links) const;
  [[nodiscard]] Joint::Kind kind_of_pair(const PciAddress& one, const PciAddress& other) const;
  void* library_ = nullptr;
  Table table_;
  std::string why_not_;
  mutable std::mutex mutex_;
};

[[nodiscard]] const Nvml& nvml();

}  // namespace tern::topo

// SPDX-License-Identifier: Apache-2.0
// NVML: the NVLinks of GPUs, also of GPUs hidden from this process by CUDA_VISIBLE_DEVICES.
// Why: cuDeviceGetP2PAttribute answers for visible devices only, and native atomics are no proof of
// NVLink. LL128 trusts whole lines (coll/gpu/lines.hpp) and needs the fact.
// How: libnvidia-ml.so.1 comes with the driver. The first question opens the library; a program
// without device memory asks nothing. A missing library or function is a reason in words.
// Lifetime: nvml() is the process's. Threads: any; one question at a time.
// Cost: tens of milliseconds for the first question (nvmlInit_v2).
// See: topo/nvml_api.hpp, tests/unit/topo/nvml_test.cc, tests/softcuda/nvml.cc.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "topo/nvml_api.hpp"
#include "topo/pci.hpp"

namespace tern::topo {

/// The active NVLinks of one GPU.
struct NvLinks {
  std::vector<PciAddress> gpus;  // at the far ends, by link
  int to_switches = 0;
  int unknown = 0;      // links without a known far end
  std::string why_not;  // not empty: no answer, and the reason
  [[nodiscard]] bool known() const noexcept { return why_not.empty(); }
};

/// How two GPUs are joined.
struct Joint {
  enum class Kind : uint8_t { kUnknown, kNvlink, kNvswitch, kNot };
  Kind kind = Kind::kUnknown;
  std::string why;  // kUnknown: the reason
  [[nodiscard]] bool is_nvlink() const noexcept {
    return kind == Kind::kNvlink || kind == Kind::kNvswitch;
  }
};

/// By the links alone. `others_to_switches`: links of the other GPU to switches (another process
/// may have asked NVML); negative: not known.
[[nodiscard]] Joint joint_of(const NvLinks& links, const PciAddress& other, int others_to_switches);

class Nvml {
 public:
  /// Opens and initialises the library.
  explicit Nvml(const char* library = "libnvidia-ml.so.1");
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  /// Why NVML cannot be asked; empty: NVML is ready.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  [[nodiscard]] NvLinks links_of(const PciAddress& gpu) const;
  /// The verdict of NVML about the pair if both GPUs are visible to NVML, else by the links.
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

/// The process's NVML; the first call opens the library.
[[nodiscard]] const Nvml& nvml();

}  // namespace tern::topo

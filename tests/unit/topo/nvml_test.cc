// SPDX-License-Identifier: Apache-2.0
// Nvml on the software NVML: reasons of failures, links of unknown pairs, declarations against
// nvml.h.
#include "topo/nvml.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/cuda/software_driver.hpp"

#if __has_include(<nvml.h>)
#include <nvml.h>
#define HAS_NVML_H 1
#endif

namespace tern::topo {
namespace {

using Kind = Joint::Kind;

class Settings {
 public:
  using Values = std::vector<std::pair<const char*, const char*>>;
  explicit Settings(Values values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) ::setenv(name, value, 1);
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;
  ~Settings() {
    for (const auto& [name, value] : values_) ::unsetenv(name);
  }

 private:
  Values values_;
};

PciAddress gpu(int number) { return {0, static_cast<uint8_t>(number + 1), 0, 0, 1}; }

/// `tells`: the other GPU's links are known here.
Joint ask(const std::string& library, int other, bool tells = true) {
  const Nvml nvml(cuda::test::built(library).c_str());
  const NvLinks links = nvml.links_of(gpu(0));
  const int others = tells ? nvml.links_of(gpu(other)).to_switches : -1;
  return nvml.joint(gpu(0), gpu(other), links, others);
}

constexpr char kMixed[] = "X,NV,PCIE,NVS;NV,X,NVS,PCIE;PCIE,NVS,X,NV;NVS,PCIE,NV,X";
constexpr char kLibrary[] = "libnvidia-ml.so.1";

TEST(Nvml, EachPairForItself) {
  const Settings settings(Settings::Values{{"SOFTCUDA_DEVICES", "4"}, {"SOFTCUDA_PEERS", kMixed}});
  EXPECT_EQ(ask(kLibrary, 1).kind, Kind::kNvlink);
  // Both GPUs have links to switches, but NVML denies NVLink between the two GPUs.
  EXPECT_EQ(ask(kLibrary, 2).kind, Kind::kNot);
  EXPECT_EQ(ask(kLibrary, 3).kind, Kind::kNvswitch);
}

TEST(Nvml, ALibraryThatIsMissingIsAReason) {
  const Nvml nvml("libno-such-nvml.so.1");
  EXPECT_NE(nvml.why_not().find("libno-such-nvml.so.1: cannot open"), std::string::npos)
      << nvml.why_not();
  EXPECT_EQ(nvml.links_of(gpu(0)).why_not, nvml.why_not());
  EXPECT_EQ(nvml.joint(gpu(0), gpu(1), nvml.links_of(gpu(0)), 18).why, nvml.why_not());
  const Nvml broken(cuda::test::built("nvml-away/libnvidia-ml.so.1").c_str());
  EXPECT_NE(broken.why_not(), "");
}

TEST(Nvml, ALibraryWithoutItsFunctionsIsAReason) {
  const Nvml nvml("libdl.so.2");
  EXPECT_EQ(nvml.why_not(), "libdl.so.2 has no nvmlInit_v2");
}

TEST(Nvml, FailuresAreReasons) {
  {
    const Settings settings(Settings::Values{{"SOFTCUDA_NVML", "nvmlInit_v2:9"}});
    EXPECT_EQ(Nvml(cuda::test::built(kLibrary).c_str()).why_not(),
              "nvmlInit_v2: Driver Not Loaded");
  }
  {
    const Settings settings(Settings::Values{{"SOFTCUDA_NVML", "nvmlDeviceGetNvLinkState:999"}});
    const Nvml nvml(cuda::test::built(kLibrary).c_str());
    EXPECT_EQ(nvml.links_of(gpu(0)).why_not, "nvmlDeviceGetNvLinkState: Unknown Error");
  }
  const Settings settings(Settings::Values{{"SOFTCUDA_DEVICES", "2"}});
  const Nvml nvml(cuda::test::built(kLibrary).c_str());
  EXPECT_EQ(nvml.links_of(gpu(7)).why_not, "nvmlDeviceGetHandleByPciBusId_v2: Not Found");
  EXPECT_EQ(nvml.links_of({}).why_not, "the GPU's PCI address is not known");
  EXPECT_EQ(nvml.joint(gpu(0), {}, nvml.links_of(gpu(0)), 0).kind, Kind::kUnknown);
}

// As in a container, NVML shows links, but not the remote GPUs.
TEST(Nvml, LinksTellWhereTheOtherGpuIsHiddenFromNvml) {
  Settings settings(Settings::Values{{"SOFTCUDA_DEVICES", "4"},
                                     {"SOFTCUDA_PEERS", kMixed},
                                     {"SOFTCUDA_NVML", "own"},
                                     {"CUDA_VISIBLE_DEVICES", "0"}});
  const Nvml nvml(cuda::test::built(kLibrary).c_str());
  const NvLinks links = nvml.links_of(gpu(0));
  EXPECT_EQ(links.why_not, "");
  EXPECT_EQ(links.gpus.size(), 2u);
  EXPECT_NE(nvml.links_of(gpu(1)).why_not, "");
  EXPECT_EQ(nvml.joint(gpu(0), gpu(1), links, -1).kind, Kind::kNvlink);
  // The other rank may have published links to switches.
  EXPECT_EQ(nvml.joint(gpu(0), gpu(3), links, 18).kind, Kind::kNvswitch);
  EXPECT_EQ(nvml.joint(gpu(0), gpu(3), links, 0).kind, Kind::kNot);
  const Joint unknown = nvml.joint(gpu(0), gpu(3), links, -1);
  EXPECT_EQ(unknown.kind, Kind::kUnknown);
  EXPECT_EQ(unknown.why, "the other GPU's NVLinks are not known");
}

// An old NVML cannot tell switches from GPUs.
TEST(Nvml, AnOldOneKnowsDirectLinksAlone) {
  const Settings settings(Settings::Values{{"SOFTCUDA_DEVICES", "4"}, {"SOFTCUDA_PEERS", kMixed}});
  EXPECT_EQ(ask("nvml-old/libnvidia-ml.so.1", 1).kind, Kind::kNvlink);
  const Joint joint = ask("nvml-old/libnvidia-ml.so.1", 3);
  EXPECT_EQ(joint.kind, Kind::kUnknown);
  EXPECT_EQ(joint.why, "NVML does not name the far ends of 20 NVLinks");
}

TEST(Nvml, PcieAloneIsNoNvlink) {
  const Settings settings(Settings::Values{{"SOFTCUDA_DEVICES", "2"}, {"SOFTCUDA_PEERS", "PCIE"}});
  EXPECT_EQ(ask(kLibrary, 1).kind, Kind::kNot);
  EXPECT_EQ(ask("nvml-old/libnvidia-ml.so.1", 1).kind, Kind::kNot);
}

TEST(Nvml, InstancesOfOneGpuAreNotJoined) {
  const Settings settings(Settings::Values{{"SOFTCUDA_DEVICES", "2"}, {"SOFTCUDA_MIG", "on"}});
  EXPECT_EQ(ask(kLibrary, 0).kind, Kind::kNot);
}

// Programs without device memory make no Nvml.
TEST(Nvml, IsOpenedAtTheFirstQuestion) {
  const auto loaded = [] {
    return ::dlopen(cuda::test::built(kLibrary).c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr;
  };
  EXPECT_FALSE(loaded());
  const Nvml nvml(cuda::test::built(kLibrary).c_str());
  EXPECT_TRUE(loaded());
}

#ifdef HAS_NVML_H
TEST(Nvml, OurDeclarationsAreThoseOfItsHeader) {
  static_assert(sizeof(NvmlPciInfo) == sizeof(nvmlPciInfo_t));
  static_assert(offsetof(NvmlPciInfo, domain) == offsetof(nvmlPciInfo_t, domain));
  static_assert(offsetof(NvmlPciInfo, bus) == offsetof(nvmlPciInfo_t, bus));
  static_assert(offsetof(NvmlPciInfo, device) == offsetof(nvmlPciInfo_t, device));
  static_assert(offsetof(NvmlPciInfo, bus_id) == offsetof(nvmlPciInfo_t, busId));
#define SAME(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))
  SAME(kNvmlSuccess, NVML_SUCCESS);
  SAME(kNvmlUninitialized, NVML_ERROR_UNINITIALIZED);
  SAME(kNvmlInvalidArgument, NVML_ERROR_INVALID_ARGUMENT);
  SAME(kNvmlNotSupported, NVML_ERROR_NOT_SUPPORTED);
  SAME(kNvmlNotFound, NVML_ERROR_NOT_FOUND);
  SAME(kNvmlDriverNotLoaded, NVML_ERROR_DRIVER_NOT_LOADED);
  SAME(kNvmlEnabled, NVML_FEATURE_ENABLED);
  SAME(kNvmlRemoteGpu, NVML_NVLINK_DEVICE_TYPE_GPU);
  SAME(kNvmlRemoteCpu, NVML_NVLINK_DEVICE_TYPE_IBMNPU);
  SAME(kNvmlRemoteSwitch, NVML_NVLINK_DEVICE_TYPE_SWITCH);
  SAME(kNvmlRemoteUnknown, NVML_NVLINK_DEVICE_TYPE_UNKNOWN);
  SAME(kNvmlP2pByNvlink, NVML_P2P_CAPS_INDEX_NVLINK);
  SAME(kNvmlP2pOk, NVML_P2P_STATUS_OK);
  SAME(kNvmlP2pNotSupported, NVML_P2P_STATUS_NOT_SUPPORTED);
  SAME(kNvmlP2pUnknown, NVML_P2P_STATUS_UNKNOWN);
#undef SAME
  EXPECT_GE(kNvmlMostLinks, unsigned{NVML_NVLINK_MAX_LINKS});
}
#endif

}  // namespace
}  // namespace tern::topo

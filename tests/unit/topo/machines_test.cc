// SPDX-License-Identifier: Apache-2.0
// Six captured machines (machines/): adapters, distances, access to device memory, NVLinks by the
// software NVML.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <string>

#include "tern_config.h"
#include "tests/unit/cuda/software_driver.hpp"
#include "tests/unit/topo/captured.hpp"
#include "topo/direct_rdma.hpp"
#include "topo/nvml.hpp"
#include "topo/pci.hpp"

#ifdef HAVE_LIBFABRIC
#include "btl/ofi/fabric.hpp"
#endif

namespace tern::topo {
namespace {

using test::CapturedMachine;
using Way = DirectRdma::Way;

std::string described(const std::string& name) {
  return std::string(TERN_MACHINES "/") + name + ".txt";
}

struct Expected {
  const char* machine;
  size_t gpus, adapters;
  Joint::Kind joint;
  int switch_links;
  const char* nearest;
  bool exports_dma_buf;
  Way way;
  const char* why;
};
using Kind = Joint::Kind;
const Expected kMachines[] = {
    {"dgx-h100", 8, 12, Kind::kNvswitch, 18,
     "PXB mlx5_0; PXB mlx5_3; PXB mlx5_4; PXB mlx5_5; PXB mlx5_6; PXB mlx5_9; PXB mlx5_10; "
     "PXB mlx5_11",
     true, Way::kDmaBuf, "kernel 5.15.0-1063-nvidia, and the GPU driver exports dma-buf"},
    {"dgx-a100", 8, 12, Kind::kNvswitch, 12,
     "PXB mlx5_0 mlx5_1; PXB mlx5_0 mlx5_1; PXB mlx5_2 mlx5_3; PXB mlx5_2 mlx5_3; "
     "PXB mlx5_6 mlx5_7; PXB mlx5_6 mlx5_7; PXB mlx5_8 mlx5_9; PXB mlx5_8 mlx5_9",
     true, Way::kPeerMemory, "the module nv_mem is loaded"},
    {"hgx-4-direct", 4, 4, Kind::kNvlink, 0, "PIX mlx5_0; PIX mlx5_1; PIX mlx5_2; PIX mlx5_3",
     false, Way::kNone,
     "the GPU driver exports no dma-buf (its open kernel modules do); the module nvidia_peermem is "
     "not loaded: modprobe nvidia_peermem"},
    {"pcie-l40s", 4, 2, Kind::kNot, 0,
     "SYS mlx5_0 mlx5_1; SYS mlx5_0 mlx5_1; NODE mlx5_0 mlx5_1; NODE mlx5_0 mlx5_1", false,
     Way::kPeerMemory, "the module nvidia_peermem is loaded"},
    {"gb200", 4, 12, Kind::kNvswitch, 18,
     "PIX rdmap39s0 rdmap40s0; PIX rdmap61s0 rdmap62s0; PIX rdmap154s0 rdmap155s0; "
     "PIX rdmap176s0 rdmap177s0",
     true, Way::kDmaBuf, "kernel 6.8.0-1030-aws, and the GPU driver exports dma-buf"},
    {"cloud-flat", 8, 1, Kind::kNot, 0,
     "PHB rdmap0s6; PHB rdmap0s6; PHB rdmap0s6; PHB rdmap0s6; PHB rdmap0s6; PHB rdmap0s6; "
     "PHB rdmap0s6; PHB rdmap0s6",
     true, Way::kNone,
     "dma-buf needs a kernel from 5.12 on, and this is 5.10.216-204.855.amzn2.x86_64; the module "
     "nvidia_peermem is not loaded: modprobe nvidia_peermem"},
};

class Machines : public testing::TestWithParam<Expected> {};
INSTANTIATE_TEST_SUITE_P(Captured, Machines, testing::ValuesIn(kMachines), [](const auto& one) {
  std::string name = one.param.machine;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(Machines, AdaptersAndTheNearestOfEachGpu) {
  const Expected& expected = GetParam();
  const CapturedMachine machine(described(expected.machine));
  const auto adapters = rdma_adapters(machine.root());
  ASSERT_EQ(adapters.size(), expected.adapters);
  for (const RdmaAdapter& adapter : adapters) {
    EXPECT_EQ(adapter.address.known, 1) << adapter.name;
    EXPECT_EQ(adapter.driver, adapter.name.starts_with("mlx5") ? "mlx5_core" : "efa");
  }
  ASSERT_EQ(machine.gpus.size(), expected.gpus);
  std::string text;
  for (const PciAddress& gpu : machine.gpus) {
    const NearestAdapters nearest = nearest_adapters(gpu, adapters, machine.root());
    text += std::string(text.empty() ? "" : "; ") + name_of(nearest.distance);
    for (const std::string& name : nearest.names) text += " " + name;
  }
  EXPECT_EQ(text, expected.nearest);
}

TEST_P(Machines, WhetherAdaptersCouldReachDeviceMemory) {
  const Expected& expected = GetParam();
  const CapturedMachine machine(described(expected.machine));
  const DirectRdma verdict = direct_rdma(expected.exports_dma_buf, machine.root());
  EXPECT_EQ(verdict.way, expected.way);
  EXPECT_EQ(verdict.why, expected.why);
  machine.remove("sys/class/infiniband");
  EXPECT_EQ(direct_rdma(true, machine.root()).why, "no RDMA adapter is present");
}

#ifdef HAVE_LIBFABRIC
TEST_P(Machines, WhetherLibfabricIsMadeForTheAdapters) {
  const CapturedMachine machine(described(GetParam().machine));
  const bool efa = rdma_adapters(machine.root()).front().driver == "efa";
  EXPECT_EQ(btl::ofi::fast_adapter_here(machine.root()), efa);
  machine.file("sys/class/cxi/cxi0/device", "");
  EXPECT_TRUE(btl::ofi::fast_adapter_here(machine.root()));
}
#endif

TEST_P(Machines, HowTheGpusAreJoined) {
  const Expected& expected = GetParam();
  const CapturedMachine machine(described(expected.machine));
  const std::string library = cuda::test::built("libnvidia-ml.so.1");
  ::setenv("SOFTCUDA_DEVICES", std::to_string(expected.gpus).c_str(), 1);
  ::setenv("SOFTCUDA_PEERS", machine.peers.c_str(), 1);
  ::setenv("SOFTCUDA_PCI", machine.addresses().c_str(), 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);  // NVML ignores the variable
  const Nvml nvml(library.c_str());
  for (const char* const name :
       {"SOFTCUDA_DEVICES", "SOFTCUDA_PEERS", "SOFTCUDA_PCI", "CUDA_VISIBLE_DEVICES"})
    ::unsetenv(name);
  ASSERT_EQ(nvml.why_not(), "");
  std::vector<NvLinks> links;
  for (const PciAddress& gpu : machine.gpus) {
    links.push_back(nvml.links_of(gpu));
    EXPECT_EQ(links.back().why_not, "");
    EXPECT_EQ(links.back().to_switches, expected.switch_links);
    EXPECT_EQ(links.back().unknown, 0);
  }
  for (size_t i = 0; i < machine.gpus.size(); ++i)
    for (size_t j = 0; j < machine.gpus.size(); ++j) {
      if (i == j) continue;
      const Joint joint =
          nvml.joint(machine.gpus[i], machine.gpus[j], links[i], links[j].to_switches);
      EXPECT_EQ(joint.kind, expected.joint) << i << " and " << j;
      EXPECT_EQ(joint_of(links[i], machine.gpus[j], links[j].to_switches).kind, expected.joint);
    }
}

TEST(PciAddresses, ThereAndBack) {
  EXPECT_EQ(to_text(*parse_pci_address("0000:3B:00.0")), "0000:3b:00.0");
  EXPECT_EQ(to_text(*parse_pci_address("00000000:3B:1F.7")), "0000:3b:1f.7");
  EXPECT_EQ(to_text(*parse_pci_address("1000e:00:00.0")), "1000e:00:00.0");
  for (const char* const wrong :
       {"", "3b:00.0", "0000:3b:20.0", "0000:3b:00.8", "0000:3b:00.0 ", "pci0000:00", "mlx5_0"})
    EXPECT_FALSE(parse_pci_address(wrong)) << wrong;
}

TEST(PciDistances, WithoutATreeNothingIsNear) {
  EXPECT_EQ(pci_distance({0, 1, 0, 0, 1}, {0, 2, 0, 0, 1}, "/nowhere"), PciDistance::kSystem);
  EXPECT_TRUE(rdma_adapters("/nowhere").empty());
  EXPECT_TRUE(nearest_adapters({0, 1, 0, 0, 1}, {}, "/nowhere").names.empty());
}

TEST(PciDistances, AnAdapterThatIsGoneIsFar) {
  const CapturedMachine machine(described("hgx-4-direct"));
  machine.remove("sys/bus/pci/devices/0000:03:00.0");
  EXPECT_EQ(pci_distance(machine.gpus[0], *parse_pci_address("0000:03:00.0"), machine.root()),
            PciDistance::kSystem);
}

}  // namespace
}  // namespace tern::topo

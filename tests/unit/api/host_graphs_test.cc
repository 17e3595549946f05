// SPDX-License-Identifier: Apache-2.0
// TERN_TOPOLOGY=auto: ranks of several hosts agree on one graph, or on none.
#include "api/job/host_graphs.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text_file.hpp"
#include "boot/fake.hpp"
#include "tests/unit/cuda/software_driver.hpp"
#include "tests/unit/topo/captured.hpp"

namespace tern::api {
namespace {

using topo::test::CapturedMachine;

std::string captured(const char* name) { return std::string(TERN_MACHINES "/") + name + ".txt"; }

/// Hosts of ranks, each with the tree of a machine in its TERN_TOPOLOGY.
class Hosts {
 public:
  Hosts(std::vector<std::string> hosts, const std::vector<std::string>& settings)
      : job_(static_cast<int>(hosts.size()), hosts) {
    for (size_t rank = 0; rank < hosts.size(); ++rank) {
      boots_.push_back(job_.boot(static_cast<int>(rank)));
      processes_.push_back(std::make_unique<core::Process>());
      processes_.back()->boot = boots_.back().get();
      processes_.back()->params.set("TERN_TOPOLOGY", settings[rank]);
      publish_host_graph(*processes_.back());
    }
    for (const auto& boot : boots_) boot->start_fence();
    for (const auto& boot : boots_) EXPECT_TRUE(boot->fence_over());
    for (const auto& boot : boots_) boot->end_fence();
  }
  ~Hosts() {
    for (const auto& boot : boots_) boot->finalize();
  }
  /// The graph of all ranks, or null.
  std::shared_ptr<const coll::JobTopology> graph() {
    const auto first = agreed_graph(*processes_.front());
    for (const auto& process : processes_) {
      const auto other = agreed_graph(*process);
      EXPECT_EQ(other == nullptr, first == nullptr);
      if (first != nullptr && other != nullptr) {
        EXPECT_EQ(other->hash, first->hash);
      }
    }
    return first;
  }

 private:
  boot::FakeJob job_;
  std::vector<std::unique_ptr<boot::Boot>> boots_;
  std::vector<std::unique_ptr<core::Process>> processes_;
};

class HostGraphsOfJobs : public testing::Test {
 protected:
  // NVML shows the GPUs of h100_ alone, for the whole program.
  void SetUp() override {
    ::setenv("SOFTCUDA_DEVICES", "8", 1);
    ::setenv("SOFTCUDA_PEERS", h100_.peers.c_str(), 1);
    ::setenv("SOFTCUDA_PCI", h100_.addresses().c_str(), 1);
    ::setenv("SOFTCUDA_NVLINK", h100_.nvlink.c_str(), 1);
    ASSERT_NE(::dlopen(cuda::test::built("libnvidia-ml.so.1").c_str(), RTLD_NOW), nullptr);
  }
  CapturedMachine h100_{captured("dgx-h100")};
  const std::string here_ = "auto:" + h100_.root();
};

TEST_F(HostGraphsOfJobs, EqualHostsWithRails) {
  Hosts hosts({"a", "a", "a", "a", "a", "a", "a", "a", "b", "b", "b", "b", "b", "b", "b", "b"},
              std::vector<std::string>(16, here_));
  const auto graph = hosts.graph();
  ASSERT_NE(graph, nullptr);
  const std::string file = TERN_TOPOLOGIES "/2x8-h100-rails.topo";
  EXPECT_EQ(graph->hash, coll::job_topology(file)->hash);
}

TEST_F(HostGraphsOfJobs, RanksInTurn) {
  Hosts hosts({"a", "b", "a", "b"}, std::vector<std::string>(4, here_));
  const auto graph = hosts.graph();
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(coll::canonical_text(graph->graph).substr(0, 40),
            "gpu h0g0\ngpu h1g0\ngpu h0g1\ngpu h1g1\nnode");
}

// The tree of each host's lowest rank counts.
TEST_F(HostGraphsOfJobs, HostsMayDiffer) {
  const CapturedMachine box(captured("pcie-8-switches"));
  const std::string other = "auto:" + box.root();
  Hosts hosts({"a", "a", "b", "b", "b"}, {here_, "auto:/nowhere", other, here_, here_});
  const auto graph = hosts.graph();
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->graph.ranks(), 5);
  const std::string text = coll::canonical_text(graph->graph);
  for (const char* line : {"link h0g1 h0sw 450 1.5\n", "link h1g2 h1pci0 15.75 2.85\n",
                           "link h0g0 net0 50 6\n", "link h1pci0 net0 12.5 6\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST_F(HostGraphsOfJobs, NoGraphIsAgreedToo) {
  const std::string nowhere = "auto:/nowhere";
  Hosts without({"a", "b"}, {here_, nowhere});
  testing::internal::CaptureStderr();
  EXPECT_EQ(without.graph(), nullptr);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("this job has no graph: host 1 has no GPU that is known"), std::string::npos)
      << said;
  Hosts crowded(std::vector<std::string>(9, "a"), std::vector<std::string>(9, here_));
  EXPECT_EQ(crowded.graph(), nullptr);
  h100_.remove("sys/class/infiniband");
  Hosts apart({"a", "b"}, {here_, here_});
  EXPECT_EQ(apart.graph(), nullptr);
  Hosts alone({"a", "a"}, {here_, here_});
  ASSERT_NE(alone.graph(), nullptr);
}

}  // namespace
}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// Discovered graphs of captured machines (tests/unit/topo/machines) against their descriptions
// (coll/topology/examples), with any PCI numbers; damaged trees; several hosts.
#include "coll/topology/host_graph.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "coll/topology/canonical.hpp"
#include "coll/topology/hosts.hpp"
#include "tests/unit/cuda/software_driver.hpp"
#include "tests/unit/topo/captured.hpp"

namespace tern::coll {
namespace {

using topo::test::CapturedMachine;
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& machine) {
  return CapturedMachine::lines_of(std::string(TERN_MACHINES "/") + machine + ".txt");
}
std::string example(const std::string& name) {
  return text_of_file(std::string(TERN_TOPOLOGIES "/") + name + ".topo");
}
std::string canonical_of(const std::string& text) {
  return canonical_text(parse_topology(text, "text"));
}

class NvmlOf {
 public:
  explicit NvmlOf(const CapturedMachine& machine, const std::string& extra = "") {
    set("SOFTCUDA_DEVICES", std::to_string(machine.gpus.size()));
    set("SOFTCUDA_PEERS", machine.peers);
    set("SOFTCUDA_PCI", machine.addresses());
    set("SOFTCUDA_NVLINK", machine.nvlink);
    if (!extra.empty()) set("SOFTCUDA_CLUSTER", extra);
    nvml = std::make_unique<topo::Nvml>(cuda::test::built("libnvidia-ml.so.1").c_str());
    for (const std::string& name : names_) ::unsetenv(name.c_str());
    EXPECT_EQ(nvml->why_not(), "");
  }
  std::unique_ptr<topo::Nvml> nvml;

 private:
  void set(const char* name, const std::string& value) {
    ::setenv(name, value.c_str(), 1);
    names_.emplace_back(name);
  }
  std::vector<std::string> names_;
};

HostGraph discovered(const CapturedMachine& machine, const std::string& slurm = "") {
  const NvmlOf library(machine);
  HostQuestion question;
  question.root = machine.root();
  question.nvml = library.nvml.get();
  question.slurm_address = slurm;
  return discover_host(question);
}

/// Other PCI domains and buses, other names of adapters, and another order of lines. `rising`: the
/// order of addresses stays. Returns the new number of each GPU.
std::vector<int> renumber(Lines* lines, unsigned seed, bool rising) {
  std::mt19937 random(seed);
  const std::regex place("([0-9a-f]{4}):([0-9a-f]{2})(?=:)|pci([0-9a-f]{4}):([0-9a-f]{2})");
  std::set<std::pair<int, int>> old;
  for (const std::string& line : *lines)
    for (std::sregex_iterator at(line.begin(), line.end(), place), end; at != end; ++at)
      old.insert({std::stoi((*at)[(*at)[1].matched ? 1 : 3], nullptr, 16),
                  std::stoi((*at)[(*at)[1].matched ? 2 : 4], nullptr, 16)});
  std::set<std::pair<int, int>> drawn;
  while (drawn.size() < old.size())
    drawn.insert({static_cast<int>(random() % 0x10000), static_cast<int>(random() % 256)});
  std::vector<std::pair<int, int>> fresh(drawn.begin(), drawn.end());
  if (!rising) std::shuffle(fresh.begin(), fresh.end(), random);
  std::map<std::pair<int, int>, std::pair<int, int>> to;
  size_t next = 0;
  for (const auto& one : old) to[one] = fresh[next++];
  for (std::string& line : *lines) {
    std::string made;
    size_t from = 0;
    for (std::sregex_iterator at(line.begin(), line.end(), place), end; at != end; ++at) {
      const bool plain = (*at)[1].matched;
      const auto& [domain, bus] = to[{std::stoi((*at)[plain ? 1 : 3], nullptr, 16),
                                      std::stoi((*at)[plain ? 2 : 4], nullptr, 16)}];
      made += line.substr(from, static_cast<size_t>(at->position()) - from) + (plain ? "" : "pci") +
              strf("%04x:%02x", domain, bus);
      from = static_cast<size_t>(at->position() + at->length());
    }
    line = made + line.substr(from);
  }
  // Devices come before the files and adapters in their folders.
  const auto is_device = [](const std::string& line) { return line.starts_with("pci "); };
  const auto first = std::find_if(lines->begin(), lines->end(), is_device);
  const auto last = std::find_if_not(first, lines->end(), is_device);
  std::shuffle(first, last, random);
  std::string gpus;
  for (const std::string& line : *lines)
    if (line.starts_with("gpus ")) gpus = line.substr(5);
  std::istringstream words(gpus);
  Lines addresses;
  for (std::string word; words >> word;) addresses.push_back(word);
  std::vector<int> numbers;
  for (const std::string& one : addresses)
    numbers.push_back(
        static_cast<int>(std::count_if(addresses.begin(), addresses.end(),
                                       [&](const std::string& other) { return other < one; })));
  return numbers;
}

/// The description with other numbers of GPUs: g<i> becomes g<numbers[i]>. Bridges and processors
/// are numbered by their lowest GPU.
std::string relabelled(const std::string& text, const std::vector<int>& numbers) {
  Topology graph = parse_topology(text, "text");
  std::vector<int> lowest(graph.nodes.size(), 1 << 20);
  for (size_t i = 0; i < numbers.size(); ++i) {
    graph.nodes[i].name = strf("g%d", numbers[i]);
    lowest[i] = numbers[i];
  }
  for (int round = 0; round < 2; ++round)  // GPUs to bridges, bridges to processors
    for (const Topology::Link& link : graph.links) {
      const auto from = static_cast<size_t>(link.from), to = static_cast<size_t>(link.to);
      const auto level = [&](size_t at) {
        return at < numbers.size() ? 0 : graph.nodes[at].name.starts_with("pci") ? 1 : 2;
      };
      if (level(from) < level(to)) lowest[to] = std::min(lowest[to], lowest[from]);
    }
  for (const char* stem : {"pci", "cpu"}) {
    std::map<int, size_t> order;
    for (size_t i = numbers.size(); i < graph.nodes.size(); ++i)
      if (graph.nodes[i].name.starts_with(stem)) order[lowest[i]] = i;
    int next = 0;
    for (const auto& [low, node] : order) graph.nodes[node].name = strf("%s%d", stem, next++);
  }
  std::vector<Topology::Node> gpus = graph.nodes;
  std::string lines;
  for (size_t i = 0; i < numbers.size(); ++i) lines += strf("gpu g%zu\n", i);
  for (size_t i = numbers.size(); i < gpus.size(); ++i) lines += "node " + gpus[i].name + "\n";
  for (const Topology::Link& link : graph.links)
    lines += strf("oneway %s %s %.6f %.6f\n", graph.name_of(link.from).c_str(),
                  graph.name_of(link.to).c_str(), link.bandwidth(), link.latency);
  return canonical_of(lines);
}

struct Machine {
  const char* captured;
  const char* one;  // description of a host
  const char* two;  // of two hosts; or null
};
const Machine kMachines[] = {
    {"dgx-1v", "dgx-1v", nullptr},
    {"dgx-a100", "dgx-a100", "2x8-a100-rails"},
    {"dgx-h100", nullptr, "2x8-h100-rails"},
    {"pcie-8-switches", "pcie-8", nullptr},
    {"mi250", "mi250", nullptr},
    {"azure-ndv5", nullptr, "2x8-h100-rails"},
};

class HostGraphs : public testing::TestWithParam<Machine> {};
INSTANTIATE_TEST_SUITE_P(Captured, HostGraphs, testing::ValuesIn(kMachines), [](const auto& one) {
  std::string name = one.param.captured;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(HostGraphs, AreTheMachinesDescription) {
  const CapturedMachine machine(lines_of(GetParam().captured));
  const HostGraph graph = discovered(machine);
  if (GetParam().one != nullptr) {
    EXPECT_EQ(canonical_of(graph.inside), canonical_of(example(GetParam().one))) << graph.inside;
    EXPECT_EQ(canonical_of(described(graph)), canonical_of(graph.inside));
    EXPECT_EQ(join_copies(graph.text(), 1), canonical_of(graph.inside));
  }
  if (GetParam().two != nullptr) {
    EXPECT_EQ(join_copies(graph.text(), 2), canonical_of(example(GetParam().two))) << graph.text();
  }
}

TEST_P(HostGraphs, DoNotDependOnPciNumbers) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    Lines lines = lines_of(GetParam().captured);
    (void)renumber(&lines, seed, true);
    const CapturedMachine machine(lines);
    const HostGraph graph = discovered(machine);
    if (GetParam().one != nullptr) {
      EXPECT_EQ(canonical_of(graph.inside), canonical_of(example(GetParam().one))) << seed;
    }
    if (GetParam().two != nullptr) {
      EXPECT_EQ(join_copies(graph.text(), 2), canonical_of(example(GetParam().two))) << seed;
    }
  }
}

TEST_P(HostGraphs, FollowTheOrderOfAddresses) {
  bool moved = false;
  for (unsigned seed = 0; seed < 4; ++seed) {
    Lines lines = lines_of(GetParam().captured);
    const std::vector<int> numbers = renumber(&lines, seed, false);
    moved |= !std::is_sorted(numbers.begin(), numbers.end());
    const CapturedMachine machine(lines);
    const HostGraph graph = discovered(machine);
    if (GetParam().one != nullptr) {
      EXPECT_EQ(canonical_of(graph.inside), relabelled(example(GetParam().one), numbers)) << seed;
    }
    if (GetParam().two != nullptr) {  // GPUs are alike, and rails follow the GPUs
      EXPECT_EQ(join_copies(graph.text(), 2), canonical_of(example(GetParam().two))) << seed;
    }
  }
  EXPECT_TRUE(moved);
}

TEST(HostGraph, TheOriginStandsBesideEachLine) {
  const CapturedMachine machine(lines_of("dgx-1v"));
  const std::string text = described(discovered(machine));
  for (const char* line :
       {"gpu g0  # 0000:06:00.0\n", "link g0 g3 50 3  # NVML: 2 links of 25 GB/s\n",
        "# link g0 net0 6.25 6  # mlx5_0\n",
        "# net net0  # one switch a rail, not blocking (assumed)\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  const CapturedMachine box(lines_of("pcie-8-switches"));
  const std::string ways = discovered(box).text();
  for (const char* line :
       {"node cpu1  # NUMA node 1\n", "link g0 pci0 15.75 2.85  # 8 GT/s x16 of 0000:1c:00.0\n",
        "link cpu0 cpu1 20 0.5  # assumed\n", "link pci0 net0 12.5 6  # mlx5_0\n"})
    EXPECT_NE(ways.find(line), std::string::npos) << line << ways;
}

TEST(HostGraph, TheSlowerEndOfALinkCounts) {
  const std::string port = "sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0/";
  const CapturedMachine box(lines_of("pcie-8-switches"));
  box.file(port + "max_link_width", "4");  // the switch's upper port
  box.file(port + "0000:19:04.0/max_link_speed", "2.5 GT/s PCIe");
  const std::string text = discovered(box).inside;
  EXPECT_NE(text.find("link pci0 cpu0 3.93 0.5  # 8 GT/s x4 of 0000:18:00.0\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("link g1 pci0 4 2.85  # 2.5 GT/s x16 of 0000:19:04.0\n"), std::string::npos)
      << text;
}

// Without NVML, PCIe is all that is known.
TEST(HostGraph, WithoutNvmlTheReasonIsSaid) {
  const CapturedMachine machine(lines_of("dgx-1v"));
  const topo::Nvml missing("libno-such-nvml.so.1");
  HostQuestion question;
  question.root = machine.root();
  question.nvml = &missing;
  const HostGraph graph = discover_host(question);
  EXPECT_NE(graph.inside.find("# NVLink unknown: libno-such-nvml.so.1: cannot open"),
            std::string::npos);
  const Topology made = parse_topology(graph.inside, "made");
  EXPECT_EQ(made.ranks(), 8);
  EXPECT_EQ(made.nodes.size(), 8u + 4 + 2) << graph.inside;
}

TEST(HostGraph, TheFirstGpusOfAHost) {
  const CapturedMachine machine(lines_of("dgx-1v"));
  const NvmlOf library(machine);
  HostQuestion question;
  question.root = machine.root();
  question.nvml = library.nvml.get();
  question.most_gpus = 4;
  EXPECT_EQ(canonical_of(discover_host(question).inside),
            canonical_of("gpu g0..g3\nlink g0 g1 25 3\nlink g0 g2 25 3\nlink g0 g3 50 3\n"
                         "link g1 g2 50 3\nlink g1 g3 25 3\nlink g2 g3 50 3\n"));
  question.most_gpus = 0;
  EXPECT_EQ(discover_host(question).text(), "");
}

// GPUs of several hosts on one NVSwitch (NVL72): one node for all.
TEST(HostGraph, HostsOfACliqueShareTheirSwitches) {
  const CapturedMachine machine(lines_of("gb200"));
  const NvmlOf library(machine, "rack1:7");
  HostQuestion question;
  question.root = machine.root();
  question.nvml = library.nvml.get();
  const HostGraph graph = discover_host(question);
  const Topology joined = parse_topology(join_copies(graph.text(), 3), "joined");
  EXPECT_EQ(joined.ranks(), 12);
  const auto switches =
      std::count_if(joined.nodes.begin(), joined.nodes.end(),
                    [](const auto& one) { return one.kind == Topology::Kind::kNode; });
  EXPECT_EQ(switches, 1) << graph.text();
}

TEST(HostGraph, SwitchesOfSlurm) {
  const CapturedMachine machine(lines_of("dgx-h100"));
  const std::string left = discovered(machine, "core.leaf1.host7").text();
  const std::string right = discovered(machine, "core.leaf2.host9").text();
  std::vector<RankPlace> ranks;
  for (size_t host = 0; host < 3; ++host)
    for (size_t gpu = 0; gpu < 8; ++gpu) ranks.push_back({host, gpu});
  const Topology joined = parse_topology(join_hosts({left, left, right}, ranks), "joined");
  std::map<std::string, double> capacity;
  for (size_t i = 0; i < joined.links.size(); ++i)
    capacity[joined.name_of_link(static_cast<int32_t>(i))] = joined.links[i].bandwidth();
  EXPECT_EQ(capacity["net-leaf1 -> net-core"], 800);  // of two hosts
  EXPECT_EQ(capacity["net-core -> net-leaf2"], 400);
  EXPECT_EQ(capacity["h1g3 -> net-leaf1"], 50);
  // A host's name alone has no switch; words of the text form become harmless.
  EXPECT_NE(discovered(machine, "host7").network.find("net net0"), std::string::npos);
  const std::string odd = discovered(machine, "a b#..c=d.host").text();
  EXPECT_NE(odd.find("net net-c-d  # SLURM_TOPOLOGY_ADDR\n"), std::string::npos) << odd;
  EXPECT_EQ(parse_topology(odd, "odd").nodes.size(), 8U + 1 + 2);
  EXPECT_EQ(parse_topology(discovered(machine, "s0.s0.host").text(), "twice").nodes.size(),
            8U + 1 + 1);
}

TEST(HostNetwork, ThePatternTellsSwitchesFromHosts) {
  EXPECT_EQ(slurm_switches("s0.s1.n1", "switch.switch.node"), "s0.s1.host");
  EXPECT_EQ(slurm_switches("n1.cluster.example", "node"), "host");
  EXPECT_EQ(slurm_switches("s0.n1.cluster", "switch.node"), "s0.host");
  EXPECT_EQ(slurm_switches("n1", "switch.node"), "host");
  EXPECT_EQ(slurm_switches("", ""), "host");
}

TEST(Hosts, RanksInAnyOrder) {
  const std::string host = "gpu g0 g1\nlink g0 g1 10 1\nnet net0\nlink g0..g1 net0 5 6\n";
  EXPECT_EQ(join_hosts({host, host}, {{0, 0}, {1, 0}, {0, 1}, {1, 1}}),
            canonical_of("gpu h0g0 h1g0 h0g1 h1g1\nnet net0\nlink h0g0 h0g1 10 1\n"
                         "link h1g0 h1g1 10 1\nlink h0g0..h0g1 net0 5 6\n"
                         "link h1g0..h1g1 net0 5 6\n"));
  EXPECT_EQ(join_hosts({host, host}, {{0, 1}, {1, 0}}),
            canonical_of("gpu h0g1 h1g0\nnet net0\nlink h0g1 net0 5 6\nlink h1g0 net0 5 6\n"));
}

std::string fault_of(const std::vector<std::string>& hosts, const std::vector<RankPlace>& ranks) {
  try {
    return join_hosts(hosts, ranks);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Hosts, FaultsAreNamed) {
  const std::string host = "gpu g0 g1\nlink g0 g1 10 1\n";
  EXPECT_EQ(fault_of({host}, {{0, 0}, {0, 1}, {0, 2}}),
            "host 0 has more than 2 ranks, but 2 GPUs: a rank needs a GPU of its own");
  EXPECT_EQ(fault_of({host, ""}, {{0, 0}, {1, 0}}), "host 1 has no GPU that is known");
  EXPECT_NE(fault_of({host, host}, {{0, 0}, {1, 0}}).find("no way from h0g0 to h1g0"),
            std::string::npos);
  EXPECT_NE(fault_of({host, "gpu g0\nnonsense\n"}, {{0, 0}, {1, 0}}).find("host 1:2: "),
            std::string::npos);
  EXPECT_THROW((void)join_copies("", 2), Error);
}

// Each attribute of a tree is cut, emptied, overgrown, turned into a folder or a circle. Discovery
// gives a graph that is read back, or none.
TEST(HostGraph, DamagedTrees) {
  std::mt19937 random(7);
  const std::string values[] = {"",
                                "0x",
                                "-1",
                                "99999999999999999999999",
                                "1e308 GT/s PCIe",
                                "nan GT/s",
                                "0xffffffffffffffff",
                                "Unknown",
                                std::string(100000, '7'),
                                std::string("\0\xff\n#", 4)};
  for (const Machine& one : kMachines) {
    for (int round = 0; round < 4; ++round) {
      const CapturedMachine machine(lines_of(one.captured));
      std::vector<std::filesystem::path> files;
      const std::string root = machine.root();
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "/sys"))
        files.push_back(entry.path());
      for (int i = 0; i < 40; ++i) {
        const std::filesystem::path victim = files[random() % files.size()];
        const unsigned way = random() % 16;
        std::error_code none;
        if (way > 2 && !std::filesystem::is_regular_file(victim, none)) continue;
        std::filesystem::remove_all(victim, none);
        if (way == 0) continue;
        if (way == 1) std::filesystem::create_directory(victim, none);
        if (way == 2) std::filesystem::create_symlink(victim.parent_path(), victim, none);
        if (way > 2) std::ofstream(victim) << values[random() % std::size(values)];
      }
      const HostGraph graph = discovered(machine);
      EXPECT_LE(graph.gpus, 16);
      if (graph.gpus == 0) continue;
      const std::string text = graph.text();
      EXPECT_EQ(parse_topology(text, one.captured).ranks(), graph.gpus) << text;
    }
  }
}

}  // namespace
}  // namespace tern::coll

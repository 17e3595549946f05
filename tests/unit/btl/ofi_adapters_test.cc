// SPDX-License-Identifier: Apache-2.0
// The choice of an adapter, in a list as libfabric makes it.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <deque>
#include <filesystem>
#include <fstream>

#include "btl/ofi/fabric.hpp"

namespace tern::btl::ofi {
namespace {

namespace fs = std::filesystem;

class OfiAdapters : public testing::Test {
 protected:
  struct Entry {
    std::string provider, domain;
    fi_fabric_attr fabric{};
    fi_domain_attr of_domain{};
    fi_ep_attr endpoint{};
    fi_bus_attr bus{};
    fid_nic nic{};
    fi_info info{};
  };
  OfiAdapters() {
    std::string name = (fs::temp_directory_path() / "tern_adapters_XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~OfiAdapters() override { fs::remove_all(root_); }

  /// `bus` is also the number of the PCI bus; a negative NUMA node: no file.
  Entry& add(const std::string& provider, const std::string& domain, uint8_t bus, int numa) {
    const bool first = entries_.empty();
    Entry& made = entries_.emplace_back();
    made.provider = provider;
    made.domain = domain;
    made.fabric.prov_name = made.provider.data();
    made.of_domain.name = made.domain.data();
    made.bus.bus_type = FI_BUS_PCI;
    made.bus.attr.pci.bus_id = bus;
    made.nic.bus_attr = &made.bus;
    made.info.fabric_attr = &made.fabric;
    made.info.domain_attr = &made.of_domain;
    made.info.ep_attr = &made.endpoint;
    made.info.nic = &made.nic;
    if (!first) entries_[entries_.size() - 2].info.next = &made.info;
    if (numa < 0) return made;
    char address[16];
    std::snprintf(address, sizeof address, "0000:%02x:00.0", bus);
    const fs::path folder = fs::path(root_) / "sys/bus/pci/devices" / address;
    fs::create_directories(folder);
    std::ofstream(folder / "numa_node") << numa;
    return made;
  }
  /// Puts a PCI device behind bridges: "pci0000:20/0000:20:01.0/0000:21:00.0".
  void place(uint8_t bus, const std::string& bridges) {
    char address[16];
    std::snprintf(address, sizeof address, "0000:%02x:00.0", bus);
    const fs::path known = fs::path(root_) / "sys/bus/pci/devices" / address;
    const fs::path device = fs::path(root_) / "sys/devices" / bridges / address;
    fs::create_directories(device);
    if (fs::exists(known / "numa_node")) fs::copy(known / "numa_node", device / "numa_node");
    fs::remove_all(known);
    fs::create_directories(known.parent_path());
    fs::create_directory_symlink(fs::absolute(device), known);
  }
  std::string chosen_for_gpu(uint8_t bus, size_t turn = 0) {
    const Near near{1, turn, {0, bus, 0, 0, 1}};
    return nearest_of(&entries_.front().info, "cxi", near, root_)->domain_attr->name;
  }
  std::string chosen(int numa, size_t turn = 0, const char* provider = "cxi") {
    const fi_info* const found = nearest_of(&entries_.front().info, provider, {numa, turn}, root_);
    return found == nullptr ? "" : found->domain_attr->name;
  }

 private:
  std::string root_;
  std::deque<Entry> entries_;
};

TEST_F(OfiAdapters, TheAdapterAtTheRanksNodeIsTaken) {
  add("tcp", "eth0", 1, 1);
  add("cxi", "cxi0", 2, 0);
  add("cxi", "cxi1", 3, 1);
  EXPECT_EQ(chosen(0), "cxi0");
  EXPECT_EQ(chosen(1), "cxi1");
  EXPECT_EQ(chosen(-1), "cxi0") << "a rank on several nodes";
  EXPECT_EQ(chosen(7), "cxi0") << "a node without an adapter";
  EXPECT_EQ(chosen(0, 0, "efa"), "");
}

TEST_F(OfiAdapters, RanksSpreadOverEqualAdapters) {
  add("cxi", "cxi0", 1, 0);
  add("cxi", "cxi0", 1, 0);  // another way to use the same adapter
  add("cxi", "cxi1", 2, 0);
  add("cxi", "cxi2", 3, 1);
  EXPECT_EQ(chosen(0, 0), "cxi0");
  EXPECT_EQ(chosen(0, 1), "cxi1");
  EXPECT_EQ(chosen(0, 2), "cxi0");
  EXPECT_EQ(chosen(1, 5), "cxi2");
}

TEST_F(OfiAdapters, OnlyEntriesLikeTheFirstCount) {
  add("cxi", "cxi0", 1, 0);
  add("cxi", "cxi1", 2, 1).info.caps = FI_HMEM;
  add("cxi", "cxi2", 3, 1).endpoint.protocol = 5;
  EXPECT_EQ(chosen(1), "cxi0");
}

TEST_F(OfiAdapters, AnAdapterOfAnUnknownPlaceIsNotNear) {
  add("cxi", "cxi0", 1, -1);
  add("cxi", "cxi1", 2, 1).info.nic = nullptr;
  EXPECT_EQ(chosen(1), "cxi0");
}

TEST(OfiTrafficClass, IsAnAttributeOfDomainAndEndpoint) {
  fi_domain_attr domain{};
  fi_tx_attr sending{};
  fi_info info{};
  info.domain_attr = &domain;
  info.tx_attr = &sending;
  const auto set = [&](const char* word) {
    Params params;
    params.set("TERN_NET_TRAFFIC_CLASS", word);
    set_traffic_class(info, net::traffic_word(params));
    EXPECT_EQ(domain.tclass, sending.tclass);
    return sending.tclass;
  };
  EXPECT_EQ(set("auto"), uint32_t{FI_TC_UNSPEC});
  EXPECT_EQ(set("104"), uint32_t{FI_TC_UNSPEC});
  EXPECT_EQ(set("best-effort"), uint32_t{FI_TC_BEST_EFFORT});
  EXPECT_EQ(set("low-latency"), uint32_t{FI_TC_LOW_LATENCY});
  EXPECT_EQ(set("dedicated-access"), uint32_t{FI_TC_DEDICATED_ACCESS});
  EXPECT_EQ(set("bulk-data"), uint32_t{FI_TC_BULK_DATA});
}

// Adapter 0 and GPU 0x30 share a switch; adapter 1 and GPU 0x30 share a switch above; adapter 2 has
// a root port of its own at the rank's node.
TEST_F(OfiAdapters, AnAdapterBehindTheGpusSwitchPrecedesTheRanksNode) {
  add("cxi", "cxi0", 0x31, 0);
  add("cxi", "cxi1", 0x32, 0);
  add("cxi", "cxi2", 0x33, 1);
  const std::string top = "pci0000:20/0000:20:01.0/0000:21:00.0/";
  place(0x30, top + "0000:22:00.0/0000:23:00.0/0000:24:00.0");
  place(0x31, top + "0000:22:00.0/0000:23:00.0/0000:24:01.0");
  place(0x32, top + "0000:22:01.0/0000:25:00.0/0000:26:00.0");
  place(0x33, "pci0000:80/0000:80:01.0");
  place(0x34, top + "0000:22:01.0/0000:25:00.0/0000:26:01.0");
  place(0x35, "pci0000:90/0000:90:01.0");
  EXPECT_EQ(chosen_for_gpu(0x30), "cxi0");
  EXPECT_EQ(chosen_for_gpu(0x30, 1), "cxi0") << "the farther adapter gets no ranks of this GPU";
  EXPECT_EQ(chosen_for_gpu(0x34), "cxi1");
  EXPECT_EQ(chosen_for_gpu(0x35), "cxi2") << "no adapter shares a switch: the rank's node counts";
  EXPECT_EQ(chosen_for_gpu(0x36), "cxi2") << "an unknown GPU";
}

TEST_F(OfiAdapters, RanksOfOneGpuSpreadOverItsAdapters) {
  add("cxi", "cxi0", 0x31, 0);
  add("cxi", "cxi1", 0x32, 0);
  const std::string below = "pci0000:20/0000:20:01.0/0000:21:00.0/";
  place(0x30, below + "0000:22:00.0");
  place(0x31, below + "0000:22:01.0");
  place(0x32, below + "0000:22:02.0");
  EXPECT_EQ(chosen_for_gpu(0x30, 0), "cxi0");
  EXPECT_EQ(chosen_for_gpu(0x30, 1), "cxi1");
}

}  // namespace
}  // namespace tern::btl::ofi

// SPDX-License-Identifier: Apache-2.0
// CapturedMachine: expands a description (machines/README.md) to a temporary folder with /sys and
// /proc.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "topo/pci.hpp"

namespace tern::topo::test {

class CapturedMachine {
 public:
  explicit CapturedMachine(const std::string& file) : CapturedMachine(lines_of(file)) {}
  explicit CapturedMachine(const std::vector<std::string>& lines) {
    std::string folder = testing::TempDir() + "tern-machine.XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr) << folder;
    root_ = folder;
    for (const std::string& line : lines) add(line);
  }
  static std::vector<std::string> lines_of(const std::string& file) {
    std::ifstream description(file);
    EXPECT_TRUE(description.good()) << file;
    std::vector<std::string> lines;
    for (std::string line; std::getline(description, line);)
      if (!line.empty() && line[0] != '#') lines.push_back(line);
    return lines;
  }
  CapturedMachine(const CapturedMachine&) = delete;
  CapturedMachine& operator=(const CapturedMachine&) = delete;
  ~CapturedMachine() { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string root() const { return root_.string(); }
  std::vector<PciAddress> gpus;
  std::string peers, nvlink = "25781";
  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root_ / path); }
  [[nodiscard]] std::string addresses() const {
    std::string text;
    for (const PciAddress& gpu : gpus) text += (text.empty() ? "" : ",") + to_text(gpu);
    return text;
  }

 private:
  void add(const std::string& line) {
    std::istringstream words(line);
    std::string kind, first;
    words >> kind >> first;
    if (kind == "file") {
      std::string text;
      std::getline(words >> std::ws, text);
      file(first, text);
    } else if (kind == "pci") {
      add_device(first, words);
    } else if (kind == "rdma") {
      add_adapter(first, words);
    } else if (kind == "speed") {
      speed_ = first;
      words >> width_;
    } else if (kind == "peers") {
      peers = first;
    } else if (kind == "nvlink") {
      nvlink = first;
    } else if (kind == "node") {
      add_node(first, words);
    } else if (kind == "xgmi") {
      add_xgmi(first, words);
    } else if (kind == "gpus") {
      for (; !first.empty(); first.clear(), words >> first)
        gpus.push_back(parse_pci_address(first).value_or(PciAddress{}));
    } else {
      ADD_FAILURE() << "unknown kind of line: " << line;
    }
  }
  void link(const std::string& path, const std::string& target) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::filesystem::create_symlink(target, root_ / path);
  }
  void add_device(const std::string& path, std::istream& words) const {
    std::string kind, vendor, numa, driver;
    words >> kind >> vendor >> numa >> driver;
    const std::string folder = "sys/devices/" + path + "/";
    file(folder + "class", kind);
    file(folder + "vendor", vendor);
    file(folder + "numa_node", numa);
    for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
      add_bridge(path.substr(0, path.find('/', end + 1)));
    if (!driver.empty()) link(folder + "driver", "/sys/bus/pci/drivers/" + driver);
    link("sys/bus/pci/devices/" + path.substr(path.rfind('/') + 1), "../../../devices/" + path);
  }
  void add_bridge(const std::string& path) const {
    const std::string folder = "sys/devices/" + path + "/";
    const std::string name = path.substr(path.rfind('/') + 1);
    if (!speed_.empty()) {
      file(folder + "max_link_speed", speed_ + " GT/s PCIe");
      file(folder + "max_link_width", width_);
    }
    if (std::filesystem::exists(root_ / folder / "class")) return;
    file(folder + "class", "0x060400");
    link("sys/bus/pci/devices/" + name, "../../../devices/" + path);
  }
  // A node of the kernel driver kfd: node NUMBER ADDRESS; xgmi FROM TO MB/s HOPS.
  void add_node(const std::string& number, std::istream& words) const {
    std::string address;
    words >> address;
    const PciAddress place = parse_pci_address(address).value_or(PciAddress{});
    const int location = place.bus << 8 | place.device << 3 | place.function;
    file(kNodes + number + "/properties", "cpu_cores_count 0\nsimd_count 440\nlocation_id " +
                                              std::to_string(location) + "\ndomain " +
                                              std::to_string(place.domain));
  }
  void add_xgmi(const std::string& from, std::istream& words) {
    std::string to, mbytes;
    int hops = 0;
    words >> to >> mbytes >> hops;
    file(kNodes + from + "/io_links/" + std::to_string(links_++) + "/properties",
         "type 11\nversion_major 0\nnode_from " + from + "\nnode_to " + to + "\nweight " +
             std::to_string(15 * hops) + "\nmin_bandwidth 50000\nmax_bandwidth " + mbytes);
  }
  // As in sysfs, an adapter is a link to a folder below the device, and `device` links back.
  void add_adapter(const std::string& name, std::istream& words) const {
    std::string address, gbit;
    words >> address >> gbit;
    const auto device = std::filesystem::canonical(root_ / "sys/bus/pci/devices" / address);
    const std::string below =
        std::filesystem::relative(device, root_).string() + "/infiniband/" + name;
    std::filesystem::create_directories(root_ / below);
    if (!gbit.empty()) file(below + "/ports/1/rate", gbit + " Gb/sec (4X)");
    if (!gbit.empty()) file(below + "/ports/1/state", "4: ACTIVE");
    link(below + "/device", "../../../" + address);
    link("sys/class/infiniband/" + name, (root_ / below).string());
  }
  static constexpr char kNodes[] = "sys/class/kfd/kfd/topology/nodes/";
  std::filesystem::path root_;
  std::string speed_, width_;
  int links_ = 0;
};

}  // namespace tern::topo::test

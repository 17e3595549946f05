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
  explicit CapturedMachine(const std::string& file) {
    std::string folder = testing::TempDir() + "tern-machine.XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr) << folder;
    root_ = folder;
    std::ifstream description(file);
    EXPECT_TRUE(description.good()) << file;
    for (std::string line; std::getline(description, line);)
      if (!line.empty() && line[0] != '#') add(line);
  }
  CapturedMachine(const CapturedMachine&) = delete;
  CapturedMachine& operator=(const CapturedMachine&) = delete;
  ~CapturedMachine() { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string root() const { return root_.string(); }
  std::vector<PciAddress> gpus;
  std::string peers;
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
    } else if (kind == "peers") {
      peers = first;
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
    if (!driver.empty()) link(folder + "driver", "/sys/bus/pci/drivers/" + driver);
    link("sys/bus/pci/devices/" + path.substr(path.rfind('/') + 1), "../../../devices/" + path);
  }
  // As in sysfs, an adapter is a link to a folder below the device, and `device` links back.
  void add_adapter(const std::string& name, std::istream& words) const {
    std::string address;
    words >> address;
    const auto device = std::filesystem::canonical(root_ / "sys/bus/pci/devices" / address);
    const std::string below =
        std::filesystem::relative(device, root_).string() + "/infiniband/" + name;
    std::filesystem::create_directories(root_ / below);
    link(below + "/device", "../../../" + address);
    link("sys/class/infiniband/" + name, (root_ / below).string());
  }
  std::filesystem::path root_;
};

}  // namespace tern::topo::test

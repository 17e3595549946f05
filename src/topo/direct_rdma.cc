// SPDX-License-Identifier: Apache-2.0
// DirectRdma: adapters, kernel release, peer memory modules.
#include "topo/direct_rdma.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "topo/pci.hpp"

namespace tern::topo {
namespace {

/// Linux 5.12 registers dma-bufs.
constexpr int kDmaBufMajor = 5, kDmaBufMinor = 12;

std::string first_line(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

bool registers_dma_buf(const std::string& release) {
  int major = 0, minor = 0;
  if (std::sscanf(release.c_str(), "%d.%d", &major, &minor) != 2) return false;
  return major > kDmaBufMajor || (major == kDmaBufMajor && minor >= kDmaBufMinor);
}

}  // namespace

std::string peer_memory_module(const std::string& root) {
  std::error_code none;
  if (std::filesystem::exists(root + "/sys/module/nvidia_peermem", none)) return "nvidia_peermem";
  for (const char* const older : {"nv_mem", "nv_mem_nc"})
    if (std::filesystem::exists(root + "/sys/kernel/mm/memory_peers/" + older + "/version", none))
      return older;
  return {};
}

DirectRdma direct_rdma(bool exports_dma_buf, const std::string& root) {
  if (rdma_adapters(root).empty()) return {DirectRdma::Way::kNone, "no RDMA adapter is present"};
  const std::string release = first_line(root + "/proc/sys/kernel/osrelease");
  const bool kernel = registers_dma_buf(release);
  if (exports_dma_buf && kernel)
    return {DirectRdma::Way::kDmaBuf,
            strf("kernel %s, and the GPU driver exports dma-buf", release.c_str())};
  if (const std::string module = peer_memory_module(root); !module.empty())
    return {DirectRdma::Way::kPeerMemory, strf("the module %s is loaded", module.c_str())};
  std::string why = exports_dma_buf
                        ? strf("dma-buf needs a kernel from %d.%d on, and this is %s", kDmaBufMajor,
                               kDmaBufMinor, release.empty() ? "unknown" : release.c_str())
                        : "the GPU driver exports no dma-buf (its open kernel modules do)";
  why += "; the module nvidia_peermem is not loaded: modprobe nvidia_peermem";
  return {DirectRdma::Way::kNone, why};
}

}  // namespace tern::topo

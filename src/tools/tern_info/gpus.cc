// SPDX-License-Identifier: Apache-2.0
// GPU facts: driver, devices, and kernels of this build. A machine without GPUs is not a fault.
#include <unistd.h>

#include <functional>
#include <map>
#include <string>

#include "base/config.hpp"
#include "base/error.hpp"
#include "coll/gpu/verdicts.hpp"
#include "cuda/driver.hpp"
#include "cuda/kernels/image.hpp"
#include "tools/tern_info/facts.hpp"
#include "topo/direct_rdma.hpp"
#include "topo/islands.hpp"
#include "topo/nvml.hpp"
#include "topo/pci.hpp"

namespace tern::info {
namespace {

std::string driver_words() {
  const cuda::Driver* const driver = cuda::driver();
  if (driver != nullptr) return "CUDA " + cuda::driver_in_words();
  const std::string why = cuda::driver_in_words();
  return why.starts_with("no ") ? "none here: libcuda.so.1 cannot be loaded" : why;
}

std::vector<std::string> device_names(const cuda::Driver& driver, std::string* why_not) {
  int count = 0;
  CUresult result = driver.cuInit(0);
  const char* function = "cuInit";
  if (result == CUDA_SUCCESS) {
    function = "cuDeviceGetCount";
    result = driver.cuDeviceGetCount(&count);
  }
  *why_not = result != CUDA_SUCCESS ? cuda::words_of(function, result) : "none";
  if (result != CUDA_SUCCESS) return {};
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    char name[128] = "?";
    size_t bytes = 0;
    if (driver.cuDeviceGet(&device, i) == CUDA_SUCCESS) {
      (void)driver.cuDeviceGetName(name, sizeof name, device);
      (void)driver.cuDeviceTotalMem_v2(&bytes, device);
    }
    names.push_back(strf("%d: %s, %.0f GiB", i, name, static_cast<double>(bytes) / (1 << 30)));
  }
  return names;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& one : words) text += (text.empty() ? "" : between) + one;
  return text;
}

struct Gpu {
  CUdevice handle = 0;
  topo::PciAddress address;
  topo::NvLinks links;
  bool there = false;
};

Gpu gpu_at(const cuda::Driver& driver, int ordinal) {
  Gpu gpu;
  char text[32] = {};
  gpu.there = driver.cuDeviceGet(&gpu.handle, ordinal) == CUDA_SUCCESS;
  if (gpu.there && driver.cuDeviceGetPCIBusId(text, sizeof text, gpu.handle) == CUDA_SUCCESS)
    gpu.address = topo::parse_pci_address(text).value_or(topo::PciAddress{});
  gpu.links = topo::nvml().links_of(gpu.address);
  return gpu;
}

int attribute_of_pair(const cuda::Driver& driver, CUdevice_P2PAttribute which, const Gpu& one,
                      const Gpu& other) {
  int value = 0;
  return driver.cuDeviceGetP2PAttribute(&value, which, one.handle, other.handle) == CUDA_SUCCESS
             ? value
             : 0;
}

/// Returns the link of a pair. Without NVML's answer, native atomics count as NVLink, and *why_not
/// has NVML's error.
const char* link_word(const cuda::Driver& driver, const Gpu& one, const Gpu& other,
                      std::string* why_not) {
  if (!one.there || !other.there ||
      attribute_of_pair(driver, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, one, other) == 0)
    return "none";
  const topo::Joint joint = topo::nvml().joint(one.address, other.address, one.links,
                                               other.links.known() ? other.links.to_switches : -1);
  if (joint.kind != topo::Joint::Kind::kUnknown) return joint.is_nvlink() ? "nvlink" : "pcie";
  *why_not = joint.why;
  return attribute_of_pair(driver, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, one, other) != 0
             ? "nvlink"
             : "pcie";
}

/// Returns "nvlink: 0-1, 2-3; none: 0-2, ..."; empty for one device.
std::string links_words(const GpuLinks& links) {
  std::map<std::string, std::string> pairs;
  for (size_t i = 0; i < links.names.size(); ++i)
    for (size_t j = i + 1; j < links.names.size(); ++j) {
      std::string& list = pairs[links.kind[i][j]];
      list += strf("%s%zu-%zu", list.empty() ? "" : ", ", i, j);
    }
  std::vector<std::string> words;
  for (const auto& [word, list] : pairs)
    words.push_back(pairs.size() == 1 ? word + " between all" : word + ": " + list);
  return joined(words, "; ");
}

/// Returns groups with peer access: "0 1, 2 3"; empty: a single group.
std::string islands_words(const GpuLinks& links) {
  std::map<int, std::string> members;
  for (size_t i = 0; i < links.island.size(); ++i) {
    std::string& list = members[links.island[i]];
    list += strf("%s%zu", list.empty() ? "" : " ", i);
  }
  if (members.size() < 2) return {};
  std::vector<std::string> words;
  for (const auto& [first, list] : members) words.push_back(list);
  return joined(words, ", ");
}

}  // namespace

GpuLinks gpu_links() {
  cuda::load_driver();
  GpuLinks links;
  const cuda::Driver* const driver = cuda::driver();
  if (driver == nullptr) {
    links.problem = "no GPUs to draw: driver: " + driver_words();
    return links;
  }
  links.names = device_names(*driver, &links.problem);
  const auto count = static_cast<int>(links.names.size());
  std::vector<Gpu> gpus;
  if (count > 1)
    for (int i = 0; i < count; ++i) gpus.push_back(gpu_at(*driver, i));
  topo::Reach reach(count);
  std::string why_not;
  bool some = false;
  for (int i = 0; i < count; ++i) {
    auto& row = links.kind.emplace_back();
    for (int j = 0; j < count; ++j) {
      row.push_back(i == j ? "same"
                           : link_word(*driver, gpus[static_cast<size_t>(i)],
                                       gpus[static_cast<size_t>(j)], &why_not));
      const bool reaches = std::string(row.back()) != "none";
      some |= reaches && i != j;
      reach.set(i, j, reaches);
    }
  }
  if (some)
    links.source = why_not.empty() ? "NVML" : "attributes of the driver, since NVML: " + why_not;
  links.island = topo::islands_of(reach);
  return links;
}

namespace {

std::string adapters_words(const cuda::Driver& driver, size_t devices) {
  const std::vector<topo::RdmaAdapter> adapters = topo::rdma_adapters();
  std::vector<std::string> words;
  for (size_t i = 0; i < devices && !adapters.empty(); ++i) {
    const Gpu gpu = gpu_at(driver, static_cast<int>(i));
    const topo::NearestAdapters nearest = topo::nearest_adapters(gpu.address, adapters);
    if (nearest.names.empty()) continue;
    words.push_back(
        strf("%zu: %s (%s)", i, joined(nearest.names, " ").c_str(), name_of(nearest.distance)));
  }
  return joined(words, "; ");
}

int attribute_of(const cuda::Driver& driver, CUdevice_attribute which, size_t ordinal) {
  CUdevice device = 0;
  int value = 0;
  if (driver.cuDeviceGet(&device, static_cast<int>(ordinal)) == CUDA_SUCCESS)
    (void)driver.cuDeviceGetAttribute(&value, which, device);
  return value;
}

/// Returns "0 1: WORDS; 2: OTHER WORDS", or the words alone if all GPUs have the same.
std::string by_gpu(size_t gpus, const std::function<std::string(size_t)>& words_of) {
  std::map<std::string, std::string> groups;
  for (size_t i = 0; i < gpus; ++i) {
    std::string& members = groups[words_of(i)];
    members += strf("%s%zu", members.empty() ? "" : " ", i);
  }
  if (groups.empty()) return {};
  if (groups.size() == 1) return groups.begin()->first;
  std::vector<std::string> all;
  for (const auto& [words, members] : groups) all.push_back(members + ": " + words);
  return joined(all, "; ");
}

/// The adapters' side of a transfer; the library's side is in the facts of the transports.
std::string direct_rdma_words(const cuda::Driver& driver, size_t gpu) {
  if (attribute_of(driver, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, gpu) == 0)
    return "not possible: the GPU has no GPUDirect RDMA. Cure: a GPU for data centers or "
           "workstations";
  const bool dma_buf = attribute_of(driver, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, gpu) != 0;
  const topo::DirectRdma verdict = topo::direct_rdma(dma_buf);
  if (verdict.way == topo::DirectRdma::Way::kNone) return "not possible: " + verdict.why;
  return strf("possible by %s (%s), if the network's library has CUDA (see the transports)",
              verdict.way == topo::DirectRdma::Way::kDmaBuf ? "dma-buf" : "peer memory",
              verdict.why.c_str());
}

std::string dma_buf_words(const cuda::Driver& driver, size_t gpu) {
  return attribute_of(driver, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, gpu) != 0
             ? "the driver exports device memory"
             : "no. Cure: the open kernel modules of the driver (Turing GPUs and newer)";
}

std::string peer_memory_words() {
  const std::string module = topo::peer_memory_module();
  return module.empty() ? "no. Cure: modprobe nvidia_peermem" : module + " is loaded";
}

std::string direct_storage_words() {
  const Params params = load_params(::environ, nullptr);
  if (::access(params.io_nvidia_fs.c_str(), F_OK) != 0)
    return strf(
        "GPUDirect Storage is not possible: the kernel module nvidia-fs is not loaded (no %s)",
        params.io_nvidia_fs.c_str());
  return params.io_direct_storage != 0
             ? "GPUDirect Storage serves files, if libcufile.so.0 is installed"
             : "GPUDirect Storage is possible, but off (TERN_IO_DIRECT_STORAGE=0)";
}

}  // namespace

std::vector<Fact> gpu_facts() {
  const GpuLinks gpus = gpu_links();
  std::vector<Fact> facts{{"driver", driver_words()}};
  if (const cuda::Driver* driver = cuda::driver()) {
    const size_t count = gpus.names.size();
    facts.push_back({"devices", gpus.names.empty() ? gpus.problem : joined(gpus.names, "; ")});
    for (auto& [name, words] :
         {Fact{"links", links_words(gpus)}, Fact{"source of links", gpus.source},
          Fact{"islands", islands_words(gpus)},
          Fact{"near adapters", adapters_words(*driver, gpus.names.size())},
          Fact{"GPUDirect RDMA",
               by_gpu(count, [&](size_t gpu) { return direct_rdma_words(*driver, gpu); })},
          Fact{"dma-buf", by_gpu(count, [&](size_t gpu) { return dma_buf_words(*driver, gpu); })},
          Fact{"peer memory", count == 0 ? "" : peer_memory_words()},
          Fact{"direct storage", gpus.names.empty() ? "" : direct_storage_words()},
          Fact{"not in driver", joined(cuda::missing_functions(*driver), ", ")}})
      if (!words.empty()) facts.push_back({name, words});
  }
  facts.push_back({"kernels", cuda::kernels_in_words()});
  facts.push_back({"engines", coll::engines_in_words()});
  facts.push_back({"wires", coll::wires_in_words()});
  const bool maps = load_params(::environ, nullptr).cuda_ipc != 0;
  facts.push_back({"between ranks", maps ? "device memory is mapped and copied once"
                                         : "device memory goes through the host "
                                           "(TERN_TEST=cuda_ipc=0)"});
  return facts;
}

}  // namespace tern::info

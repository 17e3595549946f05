// SPDX-License-Identifier: Apache-2.0
// What tern_info says of GPUs: the driver, its devices, the kernels of this build. A machine
// without any is no problem, and is said so.
#include <map>
#include <string>

#include "base/error.hpp"
#include "cuda/driver.hpp"
#include "cuda/kernels/image.hpp"
#include "tools/tern_info/facts.hpp"
#include "topo/islands.hpp"

namespace tern::info {
namespace {

std::string driver_words() {
  const cuda::Driver* const driver = cuda::driver();
  if (driver != nullptr) return "CUDA " + cuda::driver_in_words();
  const std::string why = cuda::driver_in_words();
  return why.starts_with("no ") ? "none here: libcuda.so.1 cannot be loaded" : why;
}

/// "0: NVIDIA H100, 80 GiB" for each; none with a reason.
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

/// Of a pair: how one reaches the other's memory. What the driver says; ranks try it as well.
const char* link_word(const cuda::Driver& driver, CUdevice device, CUdevice of) {
  int access = 0, atomics = 0;
  if (driver.cuDeviceGetP2PAttribute(&access, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, device,
                                     of) != CUDA_SUCCESS ||
      access == 0)
    return "none";
  (void)driver.cuDeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                       device, of);
  return atomics != 0 ? "nvlink" : "pcie";
}

/// "nvlink: 0-1, 2-3; none: 0-2, ..."; empty for one device.
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

/// "0 1, 2 3"; empty where all reach each other.
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
    links.problem = "there are no GPUs to draw: driver: " + driver_words();
    return links;
  }
  links.names = device_names(*driver, &links.problem);
  const auto count = static_cast<int>(links.names.size());
  topo::Reach reach(count);
  for (int i = 0; i < count; ++i) {
    auto& row = links.kind.emplace_back();
    for (int j = 0; j < count; ++j) {
      CUdevice one = 0, other = 0;
      const bool there = driver->cuDeviceGet(&one, i) == CUDA_SUCCESS &&
                         driver->cuDeviceGet(&other, j) == CUDA_SUCCESS;
      row.push_back(i == j ? "same" : there ? link_word(*driver, one, other) : "none");
      reach.set(i, j, std::string(row.back()) != "none");
    }
  }
  links.island = topo::islands_of(reach);
  return links;
}

std::vector<Fact> gpu_facts(const std::string& ipc) {
  const GpuLinks gpus = gpu_links();
  std::vector<Fact> facts{{"driver", driver_words()}};
  if (const cuda::Driver* driver = cuda::driver()) {
    facts.push_back({"devices", gpus.names.empty() ? gpus.problem : joined(gpus.names, "; ")});
    for (auto& [name, words] :
         {Fact{"links", links_words(gpus)}, Fact{"islands", islands_words(gpus)},
          Fact{"not in driver", joined(cuda::missing_functions(*driver), ", ")}})
      if (!words.empty()) facts.push_back({name, words});
  }
  facts.push_back({"kernels", cuda::kernels_in_words()});
  facts.push_back(
      {"between ranks", ipc == "0" ? "device memory goes through the host (TERN_CUDA_IPC=0)"
                                   : "device memory is mapped and copied once (TERN_CUDA_IPC=1)"});
  return facts;
}

}  // namespace tern::info

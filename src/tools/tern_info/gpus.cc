// SPDX-License-Identifier: Apache-2.0
// What tern_info says of GPUs: the driver, its devices, the kernels of this build. A machine
// without any is no problem, and is said so.
#include <map>
#include <utility>

#include "base/error.hpp"
#include "cuda/driver.hpp"
#include "cuda/kernels/image.hpp"
#include "tools/tern_info/facts.hpp"

namespace tern::info {
namespace {

std::string driver_words() {
  const cuda::Driver* const driver = cuda::driver();
  if (driver != nullptr) return "CUDA " + cuda::driver_in_words();
  const std::string why = cuda::driver_in_words();
  return why.starts_with("no ") ? "none here: libcuda.so.1 cannot be loaded" : why;
}

std::string device_words(const cuda::Driver& driver) {
  int count = 0;
  CUresult result = driver.cuInit(0);
  if (result != CUDA_SUCCESS) return cuda::words_of("cuInit", result);
  result = driver.cuDeviceGetCount(&count);
  if (result != CUDA_SUCCESS) return cuda::words_of("cuDeviceGetCount", result);
  std::string words = count == 0 ? "none" : "";
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    char name[128] = "?";
    size_t bytes = 0;
    if (driver.cuDeviceGet(&device, i) == CUDA_SUCCESS) {
      (void)driver.cuDeviceGetName(name, sizeof name, device);
      (void)driver.cuDeviceTotalMem_v2(&bytes, device);
    }
    words += strf("%s%d: %s, %.0f GiB", i == 0 ? "" : "; ", i, name,
                  static_cast<double>(bytes) / (1 << 30));
  }
  return words;
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
std::string links_words(const cuda::Driver& driver) {
  int count = 0;
  if (driver.cuDeviceGetCount(&count) != CUDA_SUCCESS || count < 2) return {};
  std::map<std::string, std::string> pairs;
  for (int i = 0; i < count; ++i)
    for (int j = i + 1; j < count; ++j) {
      CUdevice one = 0, other = 0;
      if (driver.cuDeviceGet(&one, i) != CUDA_SUCCESS ||
          driver.cuDeviceGet(&other, j) != CUDA_SUCCESS)
        continue;
      std::string& list = pairs[link_word(driver, one, other)];
      list += strf("%s%d-%d", list.empty() ? "" : ", ", i, j);
    }
  std::string words;
  for (const auto& [word, list] : pairs) {
    if (!words.empty()) words += "; ";
    words += pairs.size() == 1 ? word + " between all" : word + ": " + list;
  }
  return words;
}

}  // namespace

std::vector<Fact> gpu_facts(const std::string& ipc) {
  cuda::load_driver();
  std::vector<Fact> facts{{"driver", driver_words()}};
  if (const cuda::Driver* driver = cuda::driver()) {
    facts.push_back({"devices", device_words(*driver)});
    if (std::string links = links_words(*driver); !links.empty())
      facts.push_back({"links", std::move(links)});
  }
  facts.push_back({"kernels", cuda::kernels_in_words()});
  facts.push_back(
      {"between ranks", ipc == "0" ? "device memory goes through the host (TERN_CUDA_IPC=0)"
                                   : "device memory is mapped and copied once (TERN_CUDA_IPC=1)"});
  return facts;
}

}  // namespace tern::info

// SPDX-License-Identifier: Apache-2.0
// The driver of a unit test: the software driver, or the real driver with TERN_TEST_GPU=1. Why:
// tests start without libcuda, and compare states before and after the load.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "cuda/driver.hpp"

namespace tern::cuda::test {

inline bool on_gpu() { return std::getenv("TERN_TEST_GPU") != nullptr; }

inline std::string built(const std::string& name) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  return self.parent_path().parent_path().parent_path().parent_path() / "tests/softcuda" / name;
}

/// On a real device kernel_file() is empty and selects the embedded image.
inline std::string kernel_file() { return on_gpu() ? "" : built("libtern_kernels_host.so"); }

/// find_driver() returns null if the driver is missing.
inline const Driver* find_driver() {
  static const Driver* const found = []() -> const Driver* {
    ::setenv("SOFTCUDA_KERNELS", built("libtern_kernels_host.so").c_str(), 0);
    const std::string library = on_gpu() ? "libcuda.so.1" : built("libcuda.so.1");
    // A later dlopen by name finds this copy.
    if (!on_gpu()) (void)::dlopen(built("libnvidia-ml.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (opened == nullptr) return nullptr;
    if ((::dlsym(opened, "softcuda_marker") != nullptr) == on_gpu()) return nullptr;
    return driver();
  }();
  return found;
}

/// use_first_device() returns false if the driver fails.
inline bool use_first_device(const Driver& driver, CUdevice* device, CUcontext* context) {
  return driver.cuInit(0) == CUDA_SUCCESS && driver.cuDeviceGet(device, 0) == CUDA_SUCCESS &&
         driver.cuDevicePrimaryCtxRetain(context, *device) == CUDA_SUCCESS &&
         driver.cuCtxSetCurrent(*context) == CUDA_SUCCESS;
}

}  // namespace tern::cuda::test

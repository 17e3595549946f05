// SPDX-License-Identifier: Apache-2.0
// Kernels for the driver's tests: on a real device from PTX, here from tests/softcuda/shim.
#pragma once
#include "driver.hpp"
#include "tests/softcuda/shim/test_kernels.hpp"

namespace driver_test {

/// The kernels, loaded into the process. One that was not launched yet may not be on the device.
class TestKernels {
 public:
  TestKernels();
  TestKernels(const TestKernels&) = delete;
  TestKernels& operator=(const TestKernels&) = delete;
  ~TestKernels();
  CUfunction find(const char* name);
  /// Of a kernel that takes a word and a value.
  CUresult launch(const char* name, CUstream stream, CUdeviceptr word, uint32_t value,
                  unsigned blocks = 1, unsigned threads = 1);

 private:
  CUlibrary library_ = nullptr;
};

/// With two streams; skipped where there are no kernels.
class KernelTest : public Gpu {
 protected:
  void SetUp() override;
  void TearDown() override;
  CUstream other_ = nullptr;
};

}  // namespace driver_test

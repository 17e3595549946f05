// SPDX-License-Identifier: Apache-2.0
// The tests' kernels: PTX on a real device, tests/softcuda/shim otherwise.
#pragma once
#include "driver.hpp"
#include "tests/softcuda/shim/test_kernels.hpp"

namespace driver_test {

/// A kernel may reach the device only at its first launch.
class TestKernels {
 public:
  TestKernels();
  TestKernels(const TestKernels&) = delete;
  TestKernels& operator=(const TestKernels&) = delete;
  ~TestKernels();
  CUfunction find(const char* name);
  CUresult launch(const char* name, CUstream stream, CUdeviceptr word, uint32_t value,
                  unsigned blocks = 1, unsigned threads = 1);

 private:
  CUlibrary library_ = nullptr;
};

/// Tests of this class skip on machines without kernels.
class KernelTest : public Gpu {
 protected:
  void SetUp() override;
  void TearDown() override;
  CUstream other_ = nullptr;
};

}  // namespace driver_test

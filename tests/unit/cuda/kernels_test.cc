// SPDX-License-Identifier: Apache-2.0
// Kernels through a driver: loading, reductions, packing, mail. The tests use the software driver;
// TERN_TEST_GPU=1 selects the real driver and the embedded kernels.
#include "cuda/kernels.hpp"

#include "core/datatype_build.hpp"
#include "core/datatype_device.hpp"
#include "core/op.hpp"
#include "core/process.hpp"
#include "cuda/kernels/image.hpp"
#include "tests/unit/cuda/reduce_cases.hpp"
#include "tests/unit/cuda/software_driver.hpp"

namespace tern::cuda::test {
namespace {

class KernelsTest : public ReduceCases {
 protected:
  void SetUp() override {
    ::setenv("SOFTCUDA_WEAK", "on", 0);  // reveals missing fences
    driver_ = find_driver();
    if (driver_ == nullptr && on_gpu()) GTEST_SKIP() << "no CUDA driver here";
    ASSERT_NE(driver_, nullptr);
    ASSERT_TRUE(use_first_device(*driver_, &device_, &context_));
    ASSERT_EQ(driver_->cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0),
              CUDA_SUCCESS);
    kernels_ = std::make_unique<Kernels>(*driver_, device_, kernel_file());
    ASSERT_TRUE(kernels_->available()) << kernels_->why_not();
    core::make_predefined_types(process_);
  }
  void TearDown() override {
    if (!kernels_) return;
    core::free_predefined_types(process_);
    kernels_.reset();
    for (const CUdeviceptr block : blocks_) EXPECT_EQ(driver_->cuMemFree_v2(block), CUDA_SUCCESS);
    EXPECT_EQ(driver_->cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
    EXPECT_EQ(driver_->cuDevicePrimaryCtxRelease_v2(device_), CUDA_SUCCESS);
  }

  char* upload(const std::vector<char>& bytes) {
    CUdeviceptr block = 0;
    EXPECT_EQ(driver_->cuMemAlloc_v2(&block, bytes.size() + 1), CUDA_SUCCESS);
    blocks_.push_back(block);
    EXPECT_EQ(driver_->cuMemcpyHtoDAsync_v2(block, bytes.data(), bytes.size(), stream_),
              CUDA_SUCCESS);
    EXPECT_EQ(driver_->cuStreamSynchronize(stream_), CUDA_SUCCESS);
    return reinterpret_cast<char*>(block);
  }
  std::vector<char> download(const char* from, size_t bytes) {
    std::vector<char> copy(bytes);
    EXPECT_EQ(driver_->cuMemcpyDtoHAsync_v2(copy.data(), reinterpret_cast<CUdeviceptr>(from), bytes,
                                            stream_),
              CUDA_SUCCESS);
    EXPECT_EQ(driver_->cuStreamSynchronize(stream_), CUDA_SUCCESS);
    return copy;
  }

  void check_reduce(const Case& c, size_t n, size_t count) {
    std::vector<std::vector<char>> data;
    std::vector<const void*> sources;
    for (size_t k = 0; k < n; ++k) {
      data.push_back(random_bytes(c, count));
      sources.push_back(upload(data.back()));
    }
    const std::vector<char> wanted = expected(c, data, count);
    auto* const target = static_cast<char*>(const_cast<void*>(sources[n / 2]));
    ASSERT_EQ(kernels_->reduce(stream_, c.operation, c.plan, sources.data(), static_cast<int>(n),
                               target, static_cast<int64_t>(count)),
              CUDA_SUCCESS);
    compare(c, download(target, wanted.size()).data(), wanted, count, " by the driver");
    for (const CUdeviceptr block : blocks_) ASSERT_EQ(driver_->cuMemFree_v2(block), CUDA_SUCCESS);
    blocks_.clear();
  }

  void check_pack(const core::Datatype& type, MPI_Count count, size_t offset, size_t bytes) {
    const auto program = core::device_layout(type);
    const auto extent =
        static_cast<size_t>((count - 1) * type.extent() + type.true_lb() + type.true_extent());
    std::vector<char> memory(extent), wanted(bytes);
    for (char& byte : memory) byte = static_cast<char>(random_());
    type.pack(memory.data(), count, offset, wanted.data(), bytes);
    char* const buffer = upload(memory);
    char* const packed = upload(std::vector<char>(bytes));
    ASSERT_EQ(kernels_->pack(stream_, program, buffer, offset, packed, bytes), CUDA_SUCCESS);
    EXPECT_TRUE(download(packed, bytes) == wanted);

    for (char& byte : wanted) byte = static_cast<char>(random_());
    type.unpack(memory.data(), count, offset, wanted.data(), bytes);
    char* const given = upload(wanted);
    ASSERT_EQ(kernels_->unpack(stream_, program, buffer, offset, given, bytes), CUDA_SUCCESS);
    EXPECT_TRUE(download(buffer, extent) == memory);
  }

  core::Datatype& of(MPI_Datatype constant) { return core::predefined_type(process_, constant); }

  core::Ref<core::Datatype> scattered(MPI_Count count) {
    std::vector<MPI_Count> places;
    for (MPI_Count i = 0; i < count; ++i)
      places.push_back(2 * i + static_cast<MPI_Count>(random_() % 2));
    return core::TypeBuilder().indexed_block(count, 1, places.data(), of(MPI_INT));
  }

  const Driver* driver_ = nullptr;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::unique_ptr<Kernels> kernels_;
  std::vector<CUdeviceptr> blocks_;
  core::Process process_;
};

TEST_F(KernelsTest, EveryReduction) {
  size_t tried = 0;
  for (const Case& c : cases()) {
    ASSERT_NO_FATAL_FAILURE(check_reduce(c, 2 + tried % 3, 777));
    ++tried;
  }
  EXPECT_EQ(tried, 147U);
}

TEST_F(KernelsTest, ManyElements) {
  for (const Case& c : cases())
    if (c.operation == Reduction::kSum && c.number == Number::kFloat) check_reduce(c, 4, 100003);
}

TEST_F(KernelsTest, Packing) {
  const auto column = core::TypeBuilder().vector(500, 1, 9, of(MPI_DOUBLE));
  check_pack(*column, 2, 0, 8000);
  check_pack(*column, 2, 801, 7001);
  const auto rows = core::TypeBuilder().vector(20, 33, 50, of(MPI_INT));
  check_pack(*rows, 3, 0, 7920);
}

TEST_F(KernelsTest, ListsLieInDeviceMemoryAndTheirPlaceIsUsedAgain) {
  for (int i = 0; i < 5; ++i) {
    const auto type = scattered(2000 - i);
    ASSERT_FALSE(core::device_layout(*type)->inlined());
    check_pack(*type, 1, 0, static_cast<size_t>(type->size()));
    check_pack(*type, 1, 100, 1000);
  }
}

TEST_F(KernelsTest, MailReachesTheHost) {
  void* host = nullptr;
  ASSERT_EQ(driver_->cuMemHostAlloc(&host, 8192, 0), CUDA_SUCCESS);
  CUdeviceptr seen = 0;
  ASSERT_EQ(driver_->cuMemHostGetDevicePointer_v2(&seen, host, 0), CUDA_SUCCESS);
  auto* const flag = reinterpret_cast<uint32_t*>(static_cast<char*>(host) + 4096);
  __atomic_store_n(flag, 0U, __ATOMIC_RELEASE);
  std::vector<char> letter(1001);
  for (uint32_t turn = 1; turn <= 20; ++turn) {
    for (char& byte : letter) byte = static_cast<char>(random_());
    char* const from = upload(letter);
    ASSERT_EQ(kernels_->mail(stream_, reinterpret_cast<void*>(seen), from, letter.size(),
                             reinterpret_cast<uint32_t*>(seen + 4096), turn),
              CUDA_SUCCESS);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != turn)
      ASSERT_NE(driver_->cuStreamQuery(stream_), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(std::memcmp(host, letter.data(), letter.size()), 0) << "letter " << turn;
  }
  ASSERT_EQ(driver_->cuStreamSynchronize(stream_), CUDA_SUCCESS);
  ASSERT_EQ(driver_->cuMemFreeHost(host), CUDA_SUCCESS);
}

TEST_F(KernelsTest, WithoutAnImageTheReasonIsSaid) {
  const Kernels absent(*driver_, device_, "/nowhere/kernels.fatbin");
  EXPECT_FALSE(absent.available());
  EXPECT_NE(absent.why_not().find("/nowhere/kernels.fatbin"), std::string::npos);
  EXPECT_FALSE(kernels_in_words().empty());
  if (!embedded_kernels().empty()) return;
  const Kernels none(*driver_, device_, "");
  EXPECT_NE(none.why_not().find("--with-cuda=DIR"), std::string::npos) << none.why_not();
}

TEST_F(KernelsTest, WhatKernelsCannotReduceSaysWhy) {
  core::make_predefined_ops(process_);
  const auto op = [&](MPI_Op constant) -> core::Op& {
    return *process_.handles.find<core::Op>(constant);
  };
  const char* why = nullptr;
  EXPECT_FALSE(core::device_reduction(op(MPI_SUM), of(MPI_LONG_DOUBLE), &why));
  EXPECT_NE(std::string(why).find("arithmetic"), std::string::npos);
  const auto column = core::TypeBuilder().vector(4, 1, 2, of(MPI_INT));
  EXPECT_FALSE(core::device_reduction(op(MPI_SUM), *column, &why));
  EXPECT_NE(std::string(why).find("gaps"), std::string::npos);
  const auto four = core::TypeBuilder().contiguous(4, of(MPI_INT));
  const auto plan = core::device_reduction(op(MPI_MAX), *four);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->elements, 4);
  EXPECT_EQ(plan->operation, Reduction::kMax);
  EXPECT_EQ(core::device_reduction(op(MPI_MINLOC), of(MPI_DOUBLE_INT))->elements, 1);
  core::free_predefined_ops(process_);
}

}  // namespace
}  // namespace tern::cuda::test

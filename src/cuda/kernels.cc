// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels.hpp"

#include <algorithm>
#include <deque>
#include <fstream>
#include <sstream>

#include "base/error.hpp"

namespace tern::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr size_t kMostShared = std::max(sizeof(InterpretShared), sizeof(PushShared));

std::vector<char> contents(const std::string& file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  constexpr std::streamoff kMost = std::streamoff{1} << 32;
  const std::streamoff size = stream ? std::streamoff{stream.tellg()} : 0;
  if (size <= 0 || size > kMost) return {};  // a directory or a pipe has no size
  std::vector<char> bytes(static_cast<size_t>(size) + 1);
  stream.seekg(0).read(bytes.data(), static_cast<std::streamsize>(bytes.size() - 1));
  if (!stream) return {};
  return bytes;
}

const char* cure(CUresult result) noexcept {
  switch (result) {
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return "; the driver is older than the CUDA toolkit that Tern was built with: update it, or "
             "build Tern with an older toolkit (configure --with-cuda=DIR)";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
      return "; this build has no code for this GPU, or the driver is older than the CUDA toolkit: "
             "see tern_info, configure --with-cuda-arch, --with-cuda-legacy";
    default:
      return "";
  }
}

/// Counts SMs of the current context; a green context has fewer than the device.
int processors_of(const Driver& driver, CUdevice device) noexcept {
  CUcontext context = nullptr;
  CUdevResource resource{};
  if (driver.cuCtxGetDevResource != nullptr && driver.cuCtxGetCurrent(&context) == CUDA_SUCCESS &&
      driver.cuCtxGetDevResource(context, &resource, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
      resource.sm.smCount > 0)
    return static_cast<int>(resource.sm.smCount);
  int all = 1;
  driver.cuDeviceGetAttribute(&all, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  return all;
}

bool is_for_others(CUresult result) noexcept {
  return result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
         result == CUDA_ERROR_INVALID_IMAGE;
}

int64_t ceiling(int64_t n, int64_t by) noexcept { return (n + by - 1) / by; }

}  // namespace

Kernels::Kernels(const Driver& driver, CUdevice device, const std::string& files)
    : driver_(driver), images_(driver) {
  load(device, files);
}

Kernels::~Kernels() {
  if (library_ != nullptr) driver_.cuLibraryUnload(library_);
}

void Kernels::forget() noexcept {
  images_.forget();
  library_ = nullptr;
  why_ = "their context has ended";
}

bool Kernels::refuse(const char* function, CUresult result) {
  why_ = words_of(function, result) + cure(result);
  return false;
}

void Kernels::load(CUdevice device, const std::string& files) {
  std::deque<std::vector<char>> loaded;
  std::vector<KernelImage> images;
  std::istringstream list(files);
  for (std::string file; std::getline(list, file, ':');) {
    loaded.push_back(contents(file));
    if (loaded.back().empty()) {
      why_ = strf("cuda_kernels in TERN_TEST names %s, which cannot be read", file.c_str());
      return;
    }
    images.push_back({loaded.back().data(), "cuda_kernels in TERN_TEST"});
  }
  if (files.empty()) images.assign(embedded_kernels().begin(), embedded_kernels().end());
  if (images.empty())
    why_ = "this build of Tern has no kernels: nvcc was not found (configure --with-cuda=DIR)";
  for (size_t i = 0; i < images.size() && library_ == nullptr; ++i)
    if (!load_image(images[i], i)) return;
  if (library_ == nullptr) return;
  why_.clear();
  find_all(device);
}

bool Kernels::load_image(const KernelImage& image, size_t number) {
  const CUresult result =
      driver_.cuLibraryLoadData(&library_, image.code, nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result == CUDA_SUCCESS) {
    if (number > 0)
      image_ = strf("kernel image %zu (%s), because the driver refused the previous image: %s",
                    number + 1, image.words, why_.c_str());
    return true;
  }
  library_ = nullptr;
  refuse("cuLibraryLoadData", result);
  return is_for_others(result);
}

void Kernels::find_all(CUdevice device) {
  const int processors = processors_of(driver_, device);
  bool all = true;
#define TERN_FIND(name) all = all && find("tern_" #name, processors, &name##_);
  TERN_KERNELS(TERN_FIND)
#undef TERN_FIND
  constexpr const char* kPushNames[] = {
#define TERN_PUSH_NAME(value, word, kernel, meaning) "tern_" #kernel,
      TERN_PUSH_WIRES(TERN_PUSH_NAME)
#undef TERN_PUSH_NAME
  };
  for (size_t i = 0; i < push_.size() && all; ++i) all = find(kPushNames[i], processors, &push_[i]);
  for (size_t i = 0; i < reduce_.size() && all; ++i)
    all = find(name_of(static_cast<ReduceKernel>(i)), processors, &reduce_[i]);
}

bool Kernels::find(const char* name, int processors, Kernel* kernel) {
  CUkernel found = nullptr;
  CUresult result = driver_.cuLibraryGetKernel(&found, library_, name);
  if (result != CUDA_SUCCESS) return refuse(strf("cuLibraryGetKernel(%s)", name).c_str(), result);
  result = driver_.cuKernelGetFunction(&kernel->function, found);
  if (result != CUDA_SUCCESS) return refuse("cuKernelGetFunction", result);
  // Without cuFuncLoad the driver loads a kernel at its first launch.
  if (driver_.cuFuncLoad != nullptr) result = driver_.cuFuncLoad(kernel->function);
  if (result != CUDA_SUCCESS) return refuse("cuFuncLoad", result);
  int blocks = 1;
  result = driver_.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel->function, kThreads,
                                                               kMostShared);
  if (result != CUDA_SUCCESS) return refuse("cuOccupancyMaxActiveBlocksPerMultiprocessor", result);
  kernel->most_blocks = static_cast<unsigned>(std::max(blocks * processors, 1));
  return true;
}

CUresult Kernels::launch(const Kernel& kernel, CUstream stream, int64_t blocks,
                         const void* arguments, size_t shared) noexcept {
  const auto grid = static_cast<unsigned>(
      std::clamp<int64_t>(blocks, 1, static_cast<int64_t>(kernel.most_blocks)));
  void* parameters[] = {const_cast<void*>(arguments)};
  return driver_.cuLaunchKernel(kernel.function, grid, 1, 1, kThreads, 1, 1,
                                static_cast<unsigned>(shared), stream, parameters, nullptr);
}

CUresult Kernels::reduce(CUstream stream, Reduction operation, const ReducePlan& plan,
                         const void* const* sources, int n, void* target, int64_t count,
                         std::span<void* const> others) noexcept {
  constexpr int64_t kVectorsOfThread = 4;
  if (n < 1 || n > kMostSources || others.size() >= kMostSources) return CUDA_ERROR_INVALID_VALUE;
  if (count == 0) return CUDA_SUCCESS;
  SpreadArguments spread{};
  std::copy(others.begin(), others.end(), spread.others);
  spread.also = static_cast<int32_t>(others.size());
  ReduceArguments& arguments = spread.reduction;
  std::copy(sources, sources + n, arguments.sources);
  arguments.target = target;
  arguments.count = count * plan.factor;
  arguments.n = n;
  arguments.operation = static_cast<int32_t>(operation);
  const int64_t vectors = ceiling(count * plan.bytes, 16) + 1;
  return launch(reduce_[static_cast<size_t>(plan.kernel)], stream,
                ceiling(vectors, kVectorsOfThread * kThreads), &spread);
}

CUresult Kernels::pack(CUstream stream, const std::shared_ptr<const LayoutProgram>& program,
                       const void* buffer, size_t offset, void* packed, size_t bytes) noexcept {
  return move(stream, program, const_cast<void*>(buffer), offset, packed, bytes, false);
}

CUresult Kernels::unpack(CUstream stream, const std::shared_ptr<const LayoutProgram>& program,
                         void* buffer, size_t offset, const void* packed, size_t bytes) noexcept {
  return move(stream, program, buffer, offset, const_cast<void*>(packed), bytes, true);
}

CUresult Kernels::move(CUstream stream, const std::shared_ptr<const LayoutProgram>& program,
                       void* buffer, size_t offset, void* packed, size_t bytes,
                       bool to_memory) noexcept {
  constexpr int64_t kWordsOfThread = 4;
  if (bytes == 0) return CUDA_SUCCESS;
  const void* image = nullptr;
  const CUresult result = program->inlined() ? CUDA_SUCCESS : images_.find(program, stream, &image);
  if (result != CUDA_SUCCESS) return result;
  PackArguments arguments = program->arguments(buffer, offset, packed, bytes, to_memory, image);
  const int64_t word = arguments.shift < 0 ? 16 : int64_t{1} << arguments.shift;
  const int64_t words = ceiling(static_cast<int64_t>(bytes), word) + 1;
  return launch(pack_, stream, ceiling(words, kWordsOfThread * kThreads), &arguments);
}

CUresult Kernels::mail(CUstream stream, void* to, const void* from, size_t bytes, uint32_t* flag,
                       uint32_t value) noexcept {
  MailArguments arguments{static_cast<char*>(to), static_cast<const char*>(from),
                          static_cast<int64_t>(bytes), flag, value};
  return launch(mail_, stream, 1, &arguments);
}

CUresult Kernels::interpret(CUstream stream, const InterpretArguments& arguments,
                            int blocks) noexcept {
  return launch(interpret_, stream, blocks, &arguments, sizeof(InterpretShared));
}

CUresult Kernels::push(CUstream stream, Wire wire, const PushArguments& arguments,
                       int blocks) noexcept {
  return launch(push_[static_cast<size_t>(push_index(wire))], stream, blocks, &arguments,
                sizeof(PushShared));
}

CUresult Kernels::multicast(CUstream stream, const MulticastArguments& arguments,
                            int blocks) noexcept {
  return launch(multicast_, stream, blocks, &arguments, sizeof(PushShared));
}

CUresult Kernels::exchange(CUstream stream, const ExchangeArguments& arguments,
                           int blocks) noexcept {
  return launch(exchange_, stream, blocks, &arguments, sizeof(InterpretShared));
}

}  // namespace tern::cuda

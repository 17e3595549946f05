// SPDX-License-Identifier: Apache-2.0
// Kernels: all kernels, loaded into a context, and their launches. Why: the first use loads all
// kernels before the first capture or waiting kernel, because a lazy load may deadlock. Lifetime:
// constructed and destroyed with the context current, unless forget() was called. Threads: any,
// after construction. No call waits for the device, unless LayoutImages lacks memory for a type.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>

#include "base/number.hpp"
#include "base/wire.hpp"
#include "cuda/driver.hpp"
#include "cuda/kernels/image.hpp"
#include "cuda/kernels/layout.hpp"
#include "cuda/kernels/reduce_plan.hpp"
#include "cuda/layout_images.hpp"

// Kernels besides reductions and push: tern_NAME in a .cu file, launched through the member NAME_.
#define TERN_KERNELS(ROW) ROW(pack) ROW(mail) ROW(interpret) ROW(multicast) ROW(exchange)

namespace tern::cuda {

class Kernels {
 public:
  /// `files`: images to try in turn, separated by ":" (cuda_kernels in TERN_TEST); empty: the
  /// embedded images.
  Kernels(const Driver& driver, CUdevice device, const std::string& files);
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels();

  [[nodiscard]] bool available() const noexcept { return why_.empty(); }
  [[nodiscard]] const std::string& why_not() const noexcept { return why_; }
  [[nodiscard]] const std::string& image_in_words() const noexcept { return image_; }
  void forget() noexcept;

  // All launches require available().

  /// target[i] = sources[0][i] (op) (sources[1][i] (op) ...) for `count` elements. `n` is at most
  /// kMostSources; the target may be among the sources. `others`, fewer than kMostSources, also get
  /// the result.
  CUresult reduce(CUstream stream, Reduction operation, const ReducePlan& plan,
                  const void* const* sources, int n, void* target, int64_t count,
                  std::span<void* const> others = {}) noexcept;

  /// pack() and unpack() move the packed bytes [offset, offset + bytes) of elements at `buffer`.
  /// Both addresses must be valid on the device. The program must live until the work has ended.
  CUresult pack(CUstream stream, const std::shared_ptr<const LayoutProgram>& program,
                const void* buffer, size_t offset, void* packed, size_t bytes) noexcept;
  CUresult unpack(CUstream stream, const std::shared_ptr<const LayoutProgram>& program,
                  void* buffer, size_t offset, const void* packed, size_t bytes) noexcept;

  [[nodiscard]] LayoutImages& images() noexcept { return images_; }

  /// Copies a few KiB with one thread block, then sets *flag, unless null, to `value`. Takes device
  /// addresses of host memory.
  CUresult mail(CUstream stream, void* to, const void* from, size_t bytes, uint32_t* flag,
                uint32_t value) noexcept;

  /// `blocks`: thread blocks, which wait for other devices.
  CUresult interpret(CUstream stream, const InterpretArguments& arguments, int blocks) noexcept;
  CUresult push(CUstream stream, Wire wire, const PushArguments& arguments, int blocks) noexcept;
  CUresult multicast(CUstream stream, const MulticastArguments& arguments, int blocks) noexcept;
  CUresult exchange(CUstream stream, const ExchangeArguments& arguments, int blocks) noexcept;
  /// Returns the number of thread blocks of waiting kernels that fit the GPU, in any mix: an SM
  /// without space for another block holds at least as many as of the largest kernel.
  [[nodiscard]] int most_waiting() const noexcept {
    unsigned most =
        std::min({interpret_.most_blocks, multicast_.most_blocks, exchange_.most_blocks});
    for (const Kernel& one : push_) most = std::min(most, one.most_blocks);
    return static_cast<int>(most);
  }
  [[nodiscard]] int most_waiting_multicast() const noexcept {
    return static_cast<int>(multicast_.most_blocks);
  }

 private:
  struct Kernel {
    CUfunction function = nullptr;
    unsigned most_blocks = 1;
  };
  void load(CUdevice device, const std::string& files);
  bool load_image(const KernelImage& image, size_t number);
  void find_all(CUdevice device);
  bool find(const char* name, int processors, Kernel* kernel);
  bool refuse(const char* function, CUresult result);
  CUresult move(CUstream stream, const std::shared_ptr<const LayoutProgram>& program, void* buffer,
                size_t offset, void* packed, size_t bytes, bool to_memory) noexcept;
  CUresult launch(const Kernel& kernel, CUstream stream, int64_t blocks, const void* arguments,
                  size_t shared = 0) noexcept;

  const Driver& driver_;
  std::string why_, image_;
  CUlibrary library_ = nullptr;
  std::array<Kernel, static_cast<size_t>(ReduceKernel::kCount)> reduce_;
#define TERN_MEMBER(name) Kernel name##_;
  TERN_KERNELS(TERN_MEMBER)
#undef TERN_MEMBER
  std::array<Kernel, std::size(kPushWires)> push_;
  LayoutImages images_;
};

}  // namespace tern::cuda

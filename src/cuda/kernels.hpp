// SPDX-License-Identifier: Apache-2.0
// Kernels: all kernels loaded into one context, and launched on streams of it.
// Why: loading belongs before the first capture or waiting kernel (a lazy load may deadlock), so
// all are loaded eagerly, when the first is wanted. Lifetime: made and ended with the context
// current; forget() where the context has gone before. Threads: any, after construction. A call
// never waits for the device, but may where LayoutImages has no room for a type. See:
// cuda/kernels/image.hpp (where they come from), tests/unit/cuda/kernels_test.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "base/number.hpp"
#include "base/wire.hpp"
#include "cuda/driver.hpp"
#include "cuda/kernels/image.hpp"
#include "cuda/kernels/layout.hpp"
#include "cuda/kernels/reduce_plan.hpp"
#include "cuda/layout_images.hpp"

// Kernels beside the reductions: tern_NAME of a .cu file, and the member NAME_ that is launched.
// TERN_PUSH_WIRES has the kernels of push().
#define TERN_KERNELS(ROW) ROW(pack) ROW(mail) ROW(interpret) ROW(multicast) ROW(exchange)

namespace tern::cuda {

class Kernels {
 public:
  /// `files`: images to try one after the other, with ":" between them, instead of the embedded
  /// ones; empty for those (TERN_CUDA_KERNELS).
  Kernels(const Driver& driver, CUdevice device, const std::string& files);
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels();

  [[nodiscard]] bool available() const noexcept { return why_.empty(); }
  /// Why they are not available, and what helps: a sentence without a full stop.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_; }
  /// Which image was loaded, and why; empty for the first.
  [[nodiscard]] const std::string& image_in_words() const noexcept { return image_; }
  /// The context has gone, and everything in it.
  void forget() noexcept;

  // The following ask for available(), and give the result of the driver's launch.

  /// target[i] = sources[0][i] (op) (sources[1][i] (op) ...) for `count` elements of the type; 1 to
  /// kMostSources sources, of which one may be the target.
  CUresult reduce(CUstream stream, Reduction operation, const ReducePlan& plan,
                  const void* const* sources, int n, void* target, int64_t count) noexcept;

  /// The packed bytes [offset, offset + bytes) of elements at `buffer` to `packed`; and back. Both
  /// are addresses that the device can use. The program stays alive until the work has ended.
  CUresult pack(CUstream stream, const std::shared_ptr<const LayoutProgram>& program,
                const void* buffer, size_t offset, void* packed, size_t bytes) noexcept;
  CUresult unpack(CUstream stream, const std::shared_ptr<const LayoutProgram>& program,
                  void* buffer, size_t offset, const void* packed, size_t bytes) noexcept;

  /// What pack and unpack read beside the data.
  [[nodiscard]] LayoutImages& images() noexcept { return images_; }

  /// Copies up to some KiB by one block, then sets *flag, unless it is null, to `value`. Host
  /// memory by its device address.
  CUresult mail(CUstream stream, void* to, const void* from, size_t bytes, uint32_t* flag,
                uint32_t value) noexcept;

  /// Runs a program by so many blocks of threads, which wait for those of other devices.
  CUresult interpret(CUstream stream, const InterpretArguments& arguments, int blocks) noexcept;
  /// `wire`: one of kPushWires.
  CUresult push(CUstream stream, Wire wire, const PushArguments& arguments, int blocks) noexcept;
  /// Only where the device has multicast memory.
  CUresult multicast(CUstream stream, const MulticastArguments& arguments, int blocks) noexcept;
  CUresult exchange(CUstream stream, const ExchangeArguments& arguments, int blocks) noexcept;
  /// How many blocks of kernels that wait are resident together, of whichever of these: a
  /// multiprocessor without room for one more holds as many as it can of the largest.
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
    unsigned most_blocks = 1;  // that are resident together
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

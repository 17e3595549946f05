// SPDX-License-Identifier: Apache-2.0
// LayoutImages: datatype lists (LayoutProgram::image) in device memory, for pack kernels.
// Why: an upload must not block the host, because the stream may contain waits for other ranks.
// How: each list has a device block and a pinned block. Streams copy pinned to device until the
// first copy has ended. Blocks of freed types are reused, because cuMemFree would wait for the
// device.
// Lifetime: the Kernels'; requires the context. Threads: any.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "cuda/driver.hpp"
#include "cuda/kernels/layout.hpp"

namespace tern::cuda {

class LayoutImages {
 public:
  using Program = std::shared_ptr<const LayoutProgram>;
  explicit LayoutImages(const Driver& driver) noexcept : driver_(driver) {}
  LayoutImages(const LayoutImages&) = delete;
  LayoutImages& operator=(const LayoutImages&) = delete;
  ~LayoutImages();
  /// forget() replaces the destruction after the end of the context.
  void forget() noexcept;

  /// prepare() may wait for the device.
  void prepare() noexcept;
  [[nodiscard]] CUresult prepare(const Program& program) noexcept;
  [[nodiscard]] bool reserve(const Program& program) noexcept;
  /// Returns the list's address for later work in this stream. Allocates unless reserve() returned
  /// true.
  [[nodiscard]] CUresult find(const Program& program, CUstream stream, const void** at) noexcept;

 private:
  struct Image {
    std::weak_ptr<const LayoutProgram> owner;
    CUdeviceptr at = 0;
    void* pinned = nullptr;
    size_t bytes = 0;
    CUevent copied = nullptr;
    bool under_way = false, there = false;
  };
  [[nodiscard]] Image* own(const Program& program) noexcept;
  [[nodiscard]] Image* idle(size_t bytes) noexcept;
  [[nodiscard]] CUresult make(size_t bytes, Image** made) noexcept;
  [[nodiscard]] CUresult place(const Program& program, Image** image) noexcept;
  [[nodiscard]] CUresult bring(Image& image, size_t bytes, CUstream stream) noexcept;
  void free(const Image& image) noexcept;

  const Driver& driver_;
  std::mutex mutex_;
  std::list<Image> images_;
  bool prepared_ = false;
};

}  // namespace tern::cuda

// SPDX-License-Identifier: Apache-2.0
// DirectStorage: moves whole blocks between a file and device memory by NVIDIA GPUDirect Storage
// (libcufile.so.0), without host memory.
// Why: the data need not cross the host's memory twice. Where anything fails, the caller moves the
// bytes through pinned chunks.
// Lifetime: its RawFile. The library stays loaded and open. Threads: any except the worker, because
// libcufile calls the CUDA driver.
// See: https://docs.nvidia.com/gpudirect-storage/api-reference-guide (functions, structures,
// errors), tests/softcuda/cufile.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "io/memory.hpp"
#include "io/part.hpp"

namespace tern::io {

struct CuFile;

class DirectStorage {
 public:
  /// Smaller transfers are as fast through chunks.
  static constexpr size_t kLeast = size_t{1} << 20;

  explicit DirectStorage(std::string name) : name_(std::move(name)) {}
  DirectStorage(const DirectStorage&) = delete;
  DirectStorage& operator=(const DirectStorage&) = delete;
  ~DirectStorage();
  /// Whether the kernel has NVIDIA's module for storage. Sets errno.
  [[nodiscard]] static bool may_exist(const Params& params) noexcept;

  /// The part of a transfer's bytes that whole blocks of the file hold; empty if this way is not
  /// possible.
  struct Middle {
    size_t offset = 0, bytes = 0;
  };
  [[nodiscard]] static Middle middle(const Part& part, const Memory& memory, size_t bytes,
                                     bool writes) noexcept;
  /// Returns the bytes moved. After an error or a short call, fewer; the first prints a sentence.
  [[nodiscard]] size_t move(const Part& part, const Memory& memory, const Middle& middle,
                            bool writes) noexcept;

 private:
  /// Registers the file at the first call. Requires a current context.
  [[nodiscard]] bool open(const Part& part, const core::Process& process) noexcept;
  void say(const std::string& why) const noexcept;

  const std::string name_;
  std::mutex mutex_;
  bool tried_ = false;
  const CuFile* library_ = nullptr;
  void* handle_ = nullptr;
};

}  // namespace tern::io

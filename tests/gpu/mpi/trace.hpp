// SPDX-License-Identifier: Apache-2.0
// Trace: copies between host and device in the software driver's trace.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

#include "allocators.hpp"

namespace tern::test {

class Trace {
 public:
  /// The constructor must precede the driver's initialisation.
  Trace() {
    char folder[] = "/tmp/tern_trace_XXXXXX";
    if (mkdtemp(folder) == nullptr) FAIL("no folder for the trace in %s", "/tmp");
    folder_ = folder;
    setenv("SOFTCUDA_TRACE", (folder_ + "/calls").c_str(), 1);
  }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace() {
    (void)unlink(name().c_str());
    (void)rmdir(folder_.c_str());
  }

  [[nodiscard]] size_t through_host() {
    std::FILE* const file = std::fopen(name().c_str(), "r");
    if (file == nullptr || std::fseek(file, place_, SEEK_SET) != 0)
      FAIL("no trace at %s", name().c_str());
    size_t bytes = 0;
    for (char line[4096]; std::fgets(line, sizeof line, file) != nullptr;) {
      place_ += static_cast<long>(std::strlen(line));
      const char* const words = std::strchr(line, '(');
      unsigned long long to = 0, from = 0, length = 0;
      if (std::strstr(line, "cuMemcpy") == nullptr || words == nullptr ||
          std::sscanf(words, "(%lli, %lli, %lli", &to, &from, &length) != 3)
        continue;
      if (!on_device(to) || !on_device(from)) bytes += length;
    }
    (void)std::fclose(file);
    return bytes;
  }

 private:
  [[nodiscard]] static bool on_device(CUdeviceptr at) {
    unsigned type = 0;
    return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) == CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE;
  }
  [[nodiscard]] std::string name() const { return folder_ + "/calls." + std::to_string(getpid()); }
  std::string folder_;
  long place_ = 0;
};

}  // namespace tern::test

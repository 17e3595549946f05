// SPDX-License-Identifier: Apache-2.0
// Boxes: a window's boxes, at this rank and its targets. Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rma/box.hpp"
#include "rma/elements.hpp"

namespace tern::rma {

class Targets;

class Boxes {
 public:
  explicit Boxes(Targets& targets);
  Boxes(const Boxes&) = delete;
  Boxes& operator=(const Boxes&) = delete;
  ~Boxes();

  // Each call returns true and sets *code if the target executed the operation; false if nothing
  // happened.
  [[nodiscard]] bool put(int target, std::byte* to, const std::byte* from, size_t bytes,
                         int* code) noexcept;
  [[nodiscard]] bool get(int target, const std::byte* from, std::byte* to, size_t bytes,
                         int* code) noexcept;
  [[nodiscard]] bool accumulate(int target, std::byte* to, size_t count, const Element& element,
                                const Operands& operands, int* code) noexcept;
  [[nodiscard]] bool swap(int target, std::byte* to, size_t bytes, const void* compare,
                          const void* value, void* result, int* code) noexcept;
  int serve() noexcept;

 private:
  struct BoxTarget {
    std::atomic<uint8_t> pause{0};
    std::atomic<uint8_t> left{0};
    std::atomic<uint32_t> polls{0};
  };
  [[nodiscard]] Box* claim(int target) noexcept;
  [[nodiscard]] bool await(int target, Box& box, int* code) noexcept;
  [[nodiscard]] int execute(Box& box) noexcept;
  [[nodiscard]] bool looks_alive(BoxTarget& known, const Box& box) noexcept;

  Targets& targets_;
  std::unique_ptr<BoxTarget[]> known_;
};

}  // namespace tern::rma

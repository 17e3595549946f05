// SPDX-License-Identifier: Apache-2.0
// Boxes: small operations that targets do for origins of their host, as box.hpp tells; the own
// side and the others'. Lifetime: Window. Threads: any. See: tests/mpi/rma_boxes.c.
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

  // Whether the target has done it, and *code is how: 0, or an error class with fail() text. False:
  // nothing has happened.
  [[nodiscard]] bool put(int target, std::byte* to, const std::byte* from, size_t bytes,
                         int* code) noexcept;
  [[nodiscard]] bool get(int target, const std::byte* from, std::byte* to, size_t bytes,
                         int* code) noexcept;
  [[nodiscard]] bool accumulate(int target, std::byte* to, size_t count, const Element& element,
                                const Operands& operands, int* code) noexcept;
  [[nodiscard]] bool swap(int target, std::byte* to, size_t bytes, const void* compare,
                          const void* value, void* result, int* code) noexcept;
  /// Does what others have posted to this rank: how many operations.
  int serve() noexcept;

 private:
  /// What is known of a target.
  struct Known {
    std::atomic<uint8_t> pause{0};   // 0: it was not slow; else operations that it is left alone,
    std::atomic<uint8_t> left{0};    // those to come,
    std::atomic<uint32_t> polls{0};  // and how often it had polled
  };
  [[nodiscard]] Box* claim(int target) noexcept;
  [[nodiscard]] bool await(int target, Box& box, int* code) noexcept;
  [[nodiscard]] int execute(Box& box) noexcept;
  [[nodiscard]] bool looks_alive(Known& known, const Box& box) noexcept;

  Targets& targets_;
  std::unique_ptr<Known[]> known_;  // by rank
};

}  // namespace tern::rma

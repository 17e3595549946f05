// SPDX-License-Identifier: Apache-2.0
// Boxes: the boxes of a window (box.hpp), at this rank and at the targets of its host. Lifetime:
// Window. Threads: any. See: tests/mpi/rma_boxes.c.
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

  // Return true if the target executed the operation; then *code is 0 or an error class with fail()
  // text. Return false if nothing happened.
  [[nodiscard]] bool put(int target, std::byte* to, const std::byte* from, size_t bytes,
                         int* code) noexcept;
  [[nodiscard]] bool get(int target, const std::byte* from, std::byte* to, size_t bytes,
                         int* code) noexcept;
  [[nodiscard]] bool accumulate(int target, std::byte* to, size_t count, const Element& element,
                                const Operands& operands, int* code) noexcept;
  [[nodiscard]] bool swap(int target, std::byte* to, size_t bytes, const void* compare,
                          const void* value, void* result, int* code) noexcept;
  /// Executes operations posted to this rank; returns their number.
  int serve() noexcept;

 private:
  /// The state of a target as seen by this rank.
  struct Known {
    std::atomic<uint8_t> pause{0};   // 0: quick so far; otherwise the length of the current pause
    std::atomic<uint8_t> left{0};    // operations left in the pause
    std::atomic<uint32_t> polls{0};  // the target's last poll count
  };
  [[nodiscard]] Box* claim(int target) noexcept;
  [[nodiscard]] bool await(int target, Box& box, int* code) noexcept;
  [[nodiscard]] int execute(Box& box) noexcept;
  [[nodiscard]] bool looks_alive(Known& known, const Box& box) noexcept;

  Targets& targets_;
  std::unique_ptr<Known[]> known_;
};

}  // namespace tern::rma

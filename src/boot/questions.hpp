// SPDX-License-Identifier: Apache-2.0
// Questions: mpirun asks for reports on waiting, and waiting ranks answer.
// Lifetime: a SharedJob's memory. Threads: any process at once; data from other ranks is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/futex.hpp"

namespace tern::boot {

class Questions {
 public:
  static constexpr std::size_t kAnswerRoom = 4080;

  Questions() = default;
  // `memory` has bytes_for(size) bytes of zeros, aligned to 64.
  Questions(std::byte* memory, int size) noexcept : memory_(memory), size_(size) {}
  static std::size_t bytes_for(int size) noexcept;

  void ask() const noexcept;
  [[nodiscard]] FutexWord question() const noexcept;
  void answer(int rank, std::uint32_t question, std::string_view text) const noexcept;
  [[nodiscard]] bool answered(int rank, std::string* text) const;
  // `since_ns` is 0 if the rank is not waiting.
  void set_waiting(int rank, std::int64_t since_ns, std::int64_t until_ns) const noexcept;
  [[nodiscard]] std::int64_t waiting_since(int rank) const noexcept;
  void set_call_address(int rank, std::uint64_t address) const noexcept;
  [[nodiscard]] std::uint64_t call_address(int rank) const noexcept;

 private:
  struct Header;
  struct Slot;
  struct Answer;
  [[nodiscard]] Header& header() const noexcept;
  [[nodiscard]] Slot& slot(int rank) const noexcept;
  [[nodiscard]] Answer& answer_of(int rank) const noexcept;

  std::byte* memory_ = nullptr;
  int size_ = 0;
};

}  // namespace tern::boot

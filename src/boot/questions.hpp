// SPDX-License-Identifier: Apache-2.0
// mpirun asks its ranks for reports on waiting; waiting ranks answer.
// Lifetime: a part of the memory of a SharedJob. Threads: every function
// may be called by many processes at once. Texts and lengths of other ranks are checked. See:
// base/wait_report.hpp, src/tools/mpirun/hang.hpp, tests/mpi/hang.sh.
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
  // `memory`: bytes_for(size) bytes, zero at first, aligned to 64 bytes.
  Questions(std::byte* memory, int size) noexcept : memory_(memory), size_(size) {}
  static std::size_t bytes_for(int size) noexcept;

  void ask() const noexcept;
  // The word of questions, and the number of the last question.
  [[nodiscard]] FutexWord question() const noexcept;
  void answer(int rank, std::uint32_t question, std::string_view text) const noexcept;
  // False where the rank has not answered the last question.
  [[nodiscard]] bool answered(int rank, std::string* text) const;
  // Since when the rank waits without progress (now_ns()); 0: the rank does not wait, or the time
  // of its last report is over.
  void set_waiting(int rank, std::int64_t since_ns, std::int64_t until_ns) const noexcept;
  [[nodiscard]] std::int64_t waiting_since(int rank) const noexcept;
  // Where in its own memory the rank keeps the name of its main thread's last MPI call.
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

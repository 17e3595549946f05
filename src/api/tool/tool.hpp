// SPDX-License-Identifier: Apache-2.0
// What the files of the chapter "tool" (MPI_T) share: who uses the interface, how it gives strings
// and values, its variables by category.
// See: MPI-5.0 chapter 15; base/params.hpp (control variables), pml::Statistics (figures).
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "api/process.hpp"
#include "base/params.hpp"
#include "core/communicator.hpp"
#include "pml/pml.hpp"

namespace tern::api {

[[nodiscard]] inline bool tool_ready() noexcept { return instance().tool.users.load() > 0; }

/// The interface's way to give strings: *length is the room, then the length with the end; null
/// asks only.
void give(const char* text, char* out, int* length) noexcept;

template <class Value, class Given>
void give_value(Value* out, Given value) noexcept {
  if (out != nullptr) *out = static_cast<Value>(value);
}

/// Whether `index` is one of `size`, or why it is wrong.
[[nodiscard]] inline int check_index(int index, size_t size) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  return index >= 0 && static_cast<size_t>(index) < size ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX;
}
/// A call that gives something at `out`.
[[nodiscard]] inline int check_out(const void* out) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  return out == nullptr ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

/// The parameters, which are the control variables.
[[nodiscard]] const std::vector<ParamRow>& control_variables();
/// The words of a parameter that has a fixed set of them; empty for any other.
[[nodiscard]] std::vector<std::string> words_of(const ParamRow& row);
/// The enumeration of these words; MPI_T_ENUM_NULL where there are none.
[[nodiscard]] MPI_T_enum enum_of(const ParamRow& row);

/// What a performance variable reads.
struct Figures {
  pml::Statistics messages;
  uint64_t poll_rounds = 0, idle_ns = 0;
  struct {
    uint64_t mapped = 0, copied = 0, by_target = 0, by_messages = 0;
  } windows;
};
struct PerformanceVariable {
  const char* name;
  const char* category;
  int var_class;
  int bind;
  const char* meaning;
  uint64_t (*read)(const Figures& figures);
  /// A level is what it is: it runs always and cannot be set.
  [[nodiscard]] bool continuous() const noexcept {
    return var_class == MPI_T_PVAR_CLASS_LEVEL || var_class == MPI_T_PVAR_CLASS_HIGHWATERMARK;
  }
};
[[nodiscard]] const std::vector<PerformanceVariable>& performance_variables();

/// The process enters its job: events that have a registration are raised from now on.
void watch_events() noexcept;
/// The last user of the interface leaves: registrations end with it.
void forget_events() noexcept;

}  // namespace tern::api

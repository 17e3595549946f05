// SPDX-License-Identifier: Apache-2.0
// Functions shared by the chapter "tool" (MPI_T, MPI-5.0 chapter 15). See: base/params.hpp (control
// variables), pml::Statistics (performance variables).
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

/// On entry *length is the size of `out`, on return the text's length with terminator. A null `out`
/// only queries.
void give(const char* text, char* out, int* length) noexcept;

template <class Value, class Given>
void give_value(Value* out, Given value) noexcept {
  if (out != nullptr) *out = static_cast<Value>(value);
}

[[nodiscard]] inline int check_index(int index, size_t size) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  return index >= 0 && static_cast<size_t>(index) < size ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX;
}
[[nodiscard]] inline int check_out(const void* out) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  return out == nullptr ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

[[nodiscard]] const std::vector<ParamRow>& control_variables();
[[nodiscard]] std::vector<std::string> words_of(const ParamRow& row);
[[nodiscard]] MPI_T_enum enum_of(const ParamRow& row);

struct Figures {
  pml::Statistics messages;
  uint64_t poll_rounds = 0, idle_ns = 0;
  struct {
    uint64_t mapped = 0, copied = 0, by_target = 0, network = 0, by_messages = 0;
  } windows;
  struct {
    uint64_t asked = 0, refused = 0, bytes = 0;
  } registrations;
  struct {
    uint64_t made = 0, hits = 0, evicted = 0, refused = 0, bytes = 0;
  } device_registrations;
  struct {
    uint64_t block = 0, blocks = 0, mapped = 0, sieved = 0, exchanged = 0, bytes_read = 0,
             bytes_written = 0, rounds = 0, gpudirect = 0;
  } files;
};
struct PerformanceVariable {
  const char* name;
  const char* category;
  int var_class;
  int bind;
  const char* meaning;
  uint64_t (*read)(const Figures& figures);
  /// Levels and high-water marks always run.
  [[nodiscard]] bool continuous() const noexcept {
    return var_class == MPI_T_PVAR_CLASS_LEVEL || var_class == MPI_T_PVAR_CLASS_HIGHWATERMARK;
  }
};
[[nodiscard]] const std::vector<PerformanceVariable>& performance_variables();

void watch_events() noexcept;
void forget_events() noexcept;

}  // namespace tern::api

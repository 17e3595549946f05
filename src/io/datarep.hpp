// SPDX-License-Identifier: Apache-2.0
// Representation: the form of data in a file (MPI-5.0 section 14.5): native, internal, external32,
// or registered by MPI_Register_datarep.
// internal is external32, but longs have 8 bytes and wide characters 4: no value is cut.
// Threads: any; a Representation is immutable, and the registry has a lock.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/datatype.hpp"
#include "core/handle.hpp"
#include "mpi.h"

namespace tern::io {

class Representation {
 public:
  virtual ~Representation() = default;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Memory and file have equal bytes: no conversion.
  [[nodiscard]] virtual bool native() const noexcept { return false; }
  /// The bytes of an element's data in the file. Throws Error (a callback's error).
  [[nodiscard]] virtual MPI_Count bytes_of(const core::Datatype& type) const = 0;
  /// The type whose sizes are those of the file: constructors in units of types scale,
  /// displacements in bytes do not. Throws Error.
  [[nodiscard]] virtual core::Ref<core::Datatype> in_file(core::Datatype& type) const = 0;
  /// Converts elements [first, first + count) of the buffer; `file` holds these elements alone.
  /// Runs in the user's thread. Returns an error class, with fail() text.
  [[nodiscard]] virtual int to_file(const void* buffer, MPI_Count first, MPI_Count count,
                                    core::Datatype& type, std::byte* file) const noexcept = 0;
  [[nodiscard]] virtual int from_file(void* buffer, MPI_Count first, MPI_Count count,
                                      core::Datatype& type,
                                      const std::byte* file) const noexcept = 0;

 protected:
  explicit Representation(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

/// Returns null for an unknown name.
[[nodiscard]] std::shared_ptr<const Representation> find_representation(const std::string& name);

/// The functions of MPI_Register_datarep, or of its _c form: `read` and `write`, or `read_large`
/// and `write_large`. A null function: data is as in memory.
struct Conversions {
  MPI_Datarep_conversion_function *read = nullptr, *write = nullptr;
  MPI_Datarep_conversion_function_c *read_large = nullptr, *write_large = nullptr;
  MPI_Datarep_extent_function* extent = nullptr;
  void* extra = nullptr;
  /// For datatypes that the user has freed.
  core::HandleTable* handles = nullptr;
  /// Tells whether a function may return the error code.
  bool (*known_code)(int code) noexcept = nullptr;
};

/// The representation stays until the program ends.
/// Throws Error: MPI_ERR_DUP_DATAREP, MPI_ERR_ARG.
void register_representation(const std::string& name, const Conversions& conversions);

}  // namespace tern::io

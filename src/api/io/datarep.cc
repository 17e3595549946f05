// SPDX-License-Identifier: Apache-2.0
// Data representations of the program: MPI-5.0 section 14.5.3.
#include "io/datarep.hpp"

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/errors.hpp"
#include "api/process.hpp"

namespace tern::api {
namespace {

bool known_code(int code) noexcept {
  return standard_class(code) || instance().error_codes.added(code);
}

int add(const char* name, io::Conversions conversions) noexcept {
  conversions.handles = &any_process().handles;
  conversions.known_code = known_code;
  return guarded([&] { io::register_representation(name, conversions); });
}

}  // namespace

int register_datarep(const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                     MPI_Datarep_conversion_function* write_conversion_fn,
                     MPI_Datarep_extent_function* dtype_file_extent_fn,
                     void* extra_state) noexcept {
  return add(datarep, {.read = read_conversion_fn,
                       .write = write_conversion_fn,
                       .extent = dtype_file_extent_fn,
                       .extra = extra_state});
}

int register_datarep_c(const char* datarep, MPI_Datarep_conversion_function_c* read_conversion_fn,
                       MPI_Datarep_conversion_function_c* write_conversion_fn,
                       MPI_Datarep_extent_function* dtype_file_extent_fn,
                       void* extra_state) noexcept {
  return add(datarep, {.read_large = read_conversion_fn,
                       .write_large = write_conversion_fn,
                       .extent = dtype_file_extent_fn,
                       .extra = extra_state});
}

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// ErrorCodes: error classes and codes of the program (MPI-5.0 section 9.5). Threads: any.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "mpi.h"

namespace tern::api {

class ErrorCodes {
 public:
  int add_class();
  int add_code(int mpi_class);
  bool set_text(int code, std::string text);
  bool remove(int code);
  bool remove_text(int code);
  [[nodiscard]] bool added(int code) const;
  [[nodiscard]] bool has_codes(int mpi_class) const;
  [[nodiscard]] int class_of(int code) const;
  [[nodiscard]] std::string text(int code) const;
  [[nodiscard]] int last() const;

 private:
  struct ErrorCode {
    int mpi_class;
    std::string text;
  };
  int add(int mpi_class);
  mutable std::mutex mutex_;
  std::map<int, ErrorCode> entries_;
  int last_ = MPI_ERR_LASTCODE;
};

}  // namespace tern::api

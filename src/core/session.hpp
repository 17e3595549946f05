// SPDX-License-Identifier: Apache-2.0
// Session: a user's instance of MPI (MPI-5.0 section 11.3). Threads: immutable except for the error
// handler.
#pragma once

#include <string>

#include "core/error_handler.hpp"
#include "core/info.hpp"
#include "core/object.hpp"

namespace tern::core {

class Session final : public Object {
 public:
  static constexpr Kind kKind = Kind::kSession;
  Session() noexcept : Object(Kind::kSession) {}

  Ref<ErrorHandler> error_handler;
  Ref<Info> info;
  std::string memory_kinds;
};

}  // namespace tern::core

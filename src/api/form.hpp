// SPDX-License-Identifier: Apache-2.0
// Form: the form of a collective call; one body serves all. See: src/abi/functions.txt, tag @forms.
#pragma once

#include <cstdint>

#include "api/refused_call.hpp"
#include "mpi.h"

namespace tern::api {

struct Form {
  enum class Kind : uint8_t { kBlocking, kNonblocking, kPersistent, kEnqueued };
  Kind kind = Kind::kBlocking;
  MPI_Request* request = nullptr;  // receives a handle

  /// Selects the protocol for a refused call.
  [[nodiscard]] CallContext part() const noexcept {
    return kind == Kind::kEnqueued     ? CallContext::kEnqueued
           : kind == Kind::kPersistent ? CallContext::kPersistent
                                       : CallContext::kCollective;
  }
};

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// Excuse: reports refused arguments of a collective to the other ranks, and keeps the collective's
// numbers equal. See: coll/engine/refusal.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "api/attempt.hpp"
#include "coll/schedule/collective.hpp"
#include "core/communicator.hpp"

namespace tern::io {
class File;
}

namespace tern::api {

enum class CallContext : uint8_t {
  kNone,
  kCollective,
  kPersistent,
  kSplit,
  kSplitType,
  kCreate,
  kDerivation,
  kEnqueued,
  kFile,
  kFileView,  // meets other ranks only with TERN_CHECK=collective
};

/// Sends the last fail() to the other ranks. `aliased` names the collective if overlapping buffers
/// are the only fault. `hearer` gets the error in place of the communicator.
void notify_refusal(core::Communicator& communicator, CallContext part, int code,
                    std::optional<coll::CallKind> aliased = std::nullopt,
                    core::Object* hearer = nullptr) noexcept;
/// src/api/io/file.cc: the refusal of a collective call of a file. `meets`: the call meets other
/// ranks also without TERN_CHECK=collective.
void notify_refusal(io::File& file, bool meets, int code) noexcept;

/// Like attempt(), for a collective; an exception means that the call was not begun.
template <class Work>
[[nodiscard]] int attempt(core::Communicator& communicator, CallContext part,
                          Work&& work) noexcept {
  int code = 0;
  const int thrown = guarded([&] { code = work(); });
  if (thrown != 0) notify_refusal(communicator, part, thrown);
  return thrown != 0 ? thrown : code;
}

void refuse_split(core::Communicator& communicator, bool by_type, int code);

/// streams.cc: reports the refusal when the peers' streams arrive.
void refuse_enqueued(core::Communicator& communicator, int code,
                     std::optional<coll::CallKind> aliased);

/// comm_create.cc: this rank acts as if its group were refused.
void refuse_create(core::Communicator& communicator, int code);

}  // namespace tern::api

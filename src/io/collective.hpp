// SPDX-License-Identifier: Apache-2.0
// Collective: a collective transfer of a file, and the state that all transfers of the file use.
#pragma once

#include <memory>

#include "base/fate.hpp"
#include "io/access.hpp"
#include "io/conversion.hpp"
#include "io/hints.hpp"
#include "io/meeting.hpp"
#include "io/pointers.hpp"
#include "io/service.hpp"
#include "io/stage.hpp"

namespace tern::io {

/// The arguments of a collective transfer on one rank.
struct Collective {
  bool writes = false;
  std::shared_ptr<const View> view;
  Span span;  // ordered: `first` is found by the transfer
  Memory memory;
  Failure failed;  // of this rank, before the transfer
  bool atomic = false;
  bool ordered = false;  // at the shared pointer, in rank order
  std::shared_ptr<Conversion> conversion;
};

/// The state of a file that its collective transfers share.
struct Shared {
  Meeting& meeting;
  const RawFile& raw;
  FileWindow& window;
  const Hints& hints;
  Pointers& pointers;
  Service& service;
  Stage stage;
  bool stage_refused = false;
  Fate fate;  // dead after a meeting without an answer
};

}  // namespace tern::io

// SPDX-License-Identifier: Apache-2.0
// Collective: a collective transfer of a file, and the state shared by all transfers of the file.
#pragma once

#include <memory>

#include "base/fate.hpp"
#include "io/access.hpp"
#include "io/call_check.hpp"
#include "io/conversion.hpp"
#include "io/hints.hpp"
#include "io/host_exchange.hpp"
#include "io/meeting.hpp"
#include "io/overlap_check.hpp"
#include "io/pointers.hpp"
#include "io/service.hpp"
#include "io/stage.hpp"

namespace tern::io {

/// The arguments of a collective transfer on one rank.
struct Collective {
  bool writes = false;
  std::shared_ptr<const View> view;
  Span span;  // ordered: the transfer finds `first`
  Memory memory;
  Failure failed;  // of this rank, before the transfer
  bool atomic = false;
  bool ordered = false;  // at the shared pointer, in rank order
  std::shared_ptr<Conversion> conversion;
  CheckedCall called;
};

/// The state shared by the collective transfers of a file.
struct Shared {
  Meeting& meeting;
  const RawFile& raw;
  FileWindow& window;
  const Hints& hints;
  Pointers& pointers;
  Service& service;
  Stage stage;
  bool stage_refused = false;
  std::unique_ptr<HostExchange> host_exchange;  // on several hosts, from the first use on
  Fate fate;                                    // dead after a meeting without an answer
  bool checks_calls = false;                    // TERN_CHECK=collective
  std::unique_ptr<OverlapCheck> overlaps;       // TERN_CHECK=files
};

}  // namespace tern::io

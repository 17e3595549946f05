// SPDX-License-Identifier: Apache-2.0
// Refusal: a rank that cannot take part in a collective tells all others, so that none waits for
// it: arguments that it alone refuses, no memory, a peer that it cannot reach, calls that do not
// match.
// Protocol. Every collective of a communicator has a number, equal on all ranks; one that is
// refused has one, too. The refusal names it. A rank that has refused the same call is content:
// where all have, the next call is again one of all ranks. A rank that takes part in that call
// answers so; for both, and for all ranks that they fail, the communicator's collectives are over:
// those in flight and those to come end with an error that names rank and reason. Messages go on,
// and so does what is made of it: MPI_Comm_dup is the cure. A rank that has refused a call uses
// shared memory no more on that communicator, whose epochs it cannot follow without the call's
// size; messages carry the number. Only buffers that share memory are told later: programs look on
// one rank whether that is found, and go on (MPICH's tests noalias to noalias3), so the next
// collective takes the number. It is told when the communicator is freed, or after a second in
// which the rank waits for something else. A rank that cannot be told is tried again for some
// seconds; then the job ends. Cost: a count of such messages that the pml keeps, read by each poll.
// Threads: under the channel's lock. See: tests/mpi/coll_refused.c.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "core/request.hpp"

namespace tern::coll {

/// Which collective of a communicator. Persistent ones are numbered as they are made.
struct CallNumber {
  uint32_t value = 0;
  bool persistent = false;
  bool operator==(const CallNumber&) const = default;
};

/// Travels as it is.
struct Notice {
  enum class Says : uint32_t { kRefuses, kTakesPart };
  Says says;
  uint32_t number, persistent;  // of the call
  int32_t rank;                 // who says it, in its group
  char why[176];                // the error, as far as it fits
};

/// One that is on its way.
struct Told {
  Notice notice;
  std::vector<core::Request*> sends;
};

/// One that could not be sent, and will be tried again.
struct Untold {
  Notice notice;
  core::Communicator* on;  // kept
  int rank;
  int64_t since, tried;  // now_ns()
};

/// What a communicator knows of refusals.
struct Trouble {
  struct Refused {
    CallNumber number;
    int others;  // who have refused it, too
  };
  struct Heard {
    Notice notice;
    bool across;  // of the other group
  };
  /// A refusal that was told to no rank yet.
  struct Deferred {
    bool persistent;
    int code;
    std::string text;
    int64_t seen, waited;  // ns: at the last poll, and in polls that followed each other
  };
  /// A notice on its way in: it may be announced before its data comes.
  struct Coming {
    core::Request* request;
    bool across;
    Notice notice;
  };
  std::list<Coming> coming;
  std::optional<Deferred> deferred;
  std::vector<Refused> refused;  // by this rank, and not by all others as far as is known
  std::vector<Heard> heard;      // of calls to which this rank has not come
  bool over = false;             // no collective works any more,
  std::string why;               // for this reason
};

}  // namespace tern::coll

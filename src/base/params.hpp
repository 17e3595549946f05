// SPDX-License-Identifier: Apache-2.0
// Every parameter of Tern: one documented table, read from the environment.
// Why: a user finds all of them in one place, and a wrong name or value never passes in silence.
// Lifetime: one Params per Process, filled once. Threads: read-only afterwards.
// See: tests/unit/base/params_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern {

// X(field, name, kind, default, least, most, meaning)
// kinds: Size (bytes; units k, m, g), Time (microseconds; units us, ms, s), Count, Switch (0 or 1),
// Text
// clang-format off
#define TERN_PARAMS(X)                                                                             \
  X(check, "TERN_CHECK", Switch, 1, 0, 1,                                                           \
    "0 turns the argument checks of every call off; 1 (default) leaves them on")                    \
  X(explain, "TERN_EXPLAIN", Switch, 0, 0, 1,                                                       \
    "print every choice of transport, protocol and fallback with its reason")                       \
  X(eager_limit, "TERN_EAGER_LIMIT", Size, 8192, 0, 65536,                                          \
    "messages up to this many bytes are sent before the receive is known")                          \
  X(unexpected_limit, "TERN_UNEXPECTED_LIMIT", Size, 4194304, 0, 1099511627776,                     \
    "payload of messages without a receive that a rank keeps of each sender; more waits there")     \
  X(sm_ring_bytes, "TERN_SM_RING", Size, 16384, 4096, 1048576,                                      \
    "shared memory: bytes of the ring of one pair of ranks that talk; a power of two")              \
  X(sm_pool_bytes, "TERN_SM_POOL", Size, 4194304, 1048576, 1073741824,                              \
    "shared memory: bytes of payload that one rank may have in flight")                             \
  X(sm_fragment, "TERN_SM_FRAGMENT", Size, 32768, 4096, 32768,                                      \
    "shared memory: bytes of one fragment of a large message that is copied twice")                 \
  X(sm_fragments, "TERN_SM_FRAGMENTS", Count, 8, 2, 128,                                            \
    "shared memory: fragments in flight; more would leave the cache")                               \
  X(sm_single_copy, "TERN_SM_SINGLE_COPY", Text, "auto", 0, 0,                                      \
    "large messages: auto, pipeline (two copies), pull (receiver reads), both (both ends copy)")    \
  X(sm_pull_limit, "TERN_SM_PULL_LIMIT", Size, 131072, 0, 1073741824,                               \
    "from this many bytes a message that travels alone is copied once, too")                        \
  X(sm_both_limit, "TERN_SM_BOTH_LIMIT", Size, 8192, 0, 1073741824,                                 \
    "from this many bytes sender and receiver share the copies of what is copied once")             \
  X(spin, "TERN_SPIN", Time, 0, 0, 1000000,                                                         \
    "how long a waiting rank polls before it sleeps; 0 chooses by ranks and cores")                 \
  X(boot, "TERN_BOOT", Text, "auto", 0, 0,                                                          \
    "how ranks find each other: auto, mpirun, pmix, singleton")                                     \
  X(boot_fd, "TERN_BOOT_FD", Count, -1, -1, 1048576,                                                \
    "set by mpirun: the descriptor of its start-up memory")
// clang-format on

/// Names that begin with TERN_ and belong to tools, not to the library (no warning about them).
inline constexpr const char* kForeignNames[] = {"TERN_CC", "TERN_CXX", "TERN_FC"};

struct ParamRow {
  const char* name;
  const char* kind;      // "Size", "Time", "Count", "Switch", "Text"
  std::string standard;  // the default, as text
  int64_t least, most;
  const char* meaning;
};

class Params {
 public:
#define TERN_FIELD_Size int64_t
#define TERN_FIELD_Time int64_t
#define TERN_FIELD_Count int64_t
#define TERN_FIELD_Switch int64_t
#define TERN_FIELD_Text std::string
#define TERN_FIELD(field, name, kind, standard, least, most, meaning) \
  TERN_FIELD_##kind field = standard;
  TERN_PARAMS(TERN_FIELD)
#undef TERN_FIELD
#undef TERN_FIELD_Size
#undef TERN_FIELD_Time
#undef TERN_FIELD_Count
#undef TERN_FIELD_Switch
#undef TERN_FIELD_Text

  /// Reads `environment` ("NAME=VALUE", null-terminated; normally ::environ). A wrong value leaves
  /// that parameter at its default; it and every unknown TERN_ name become a sentence in
  /// `complaints`.
  static Params from(const char* const* environment, std::vector<std::string>* complaints);

  /// The table, in order.
  static std::vector<ParamRow> rows();

  /// Sets one by name, as text. Throws Error(MPI_ERR_ARG) with the range, or the nearest name.
  void set(const std::string& name, const std::string& value);

  /// The present value as text.
  [[nodiscard]] std::string get(const std::string& name) const;
};

/// The candidate with the least edit distance to `name`; empty where none is near (over 1/3 of its
/// length).
[[nodiscard]] std::string nearest_name(const std::string& name,
                                       const std::vector<std::string>& candidates);

/// "64k" -> 65536. Throws Error(MPI_ERR_ARG) naming `what`.
[[nodiscard]] int64_t parse_size(const std::string& text, const std::string& what);
/// "10ms" -> 10000 (microseconds). Throws Error(MPI_ERR_ARG) naming `what`.
[[nodiscard]] int64_t parse_time_us(const std::string& text, const std::string& what);

}  // namespace tern

// SPDX-License-Identifier: Apache-2.0
// MscclppFile: an MSCCL++ execution plan, checked: numbers are in range, channels and remote
// buffers exist.
// See: github.com/microsoft/mscclpp, its executor and execution kernel.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coll/exchange/msccl_file.hpp"

namespace tern::coll {

enum class MscclppForm : uint8_t {
  kNothing,
  kEach,    // destination i = source i
  kSpread,  // all destinations = the source
  kSum,     // all destinations = the sum; the first source and destination are local
  kWait,
  kBarrier,
};

/// A packet waits for its writer. kSum: the first source and the first destination are no packets.
struct MscclppType {
  const char* name;
  MscclppForm form;
  bool reads_packets = false, writes_packets = false, signals = false;
};

struct MscclppRange {
  int32_t gpu;  // owner of the buffer
  MscclBuffer buffer;
  int32_t at, count;  // in chunks
  bool operator==(const MscclppRange&) const = default;
};

/// A semaphore at `to`, for signals of `from`.
struct MscclppSignal {
  int32_t from, to;
  std::string kind;  // memory or port
  int32_t number;    // of this kind between the two
  auto operator<=>(const MscclppSignal&) const = default;
};

struct MscclppOperation {
  const MscclppType* type;
  int32_t gpu, block, number;
  int line;
  std::vector<MscclppRange> sources, destinations;
  std::vector<MscclppSignal> signals;  // sent or awaited
  int64_t barrier = 0, meets = 0;      // kBarrier: its number; its thread blocks
};

struct MscclppFile {
  MscclFile plan;  // without thread blocks
  std::vector<MscclppOperation> operations;
};

/// Thread blocks that share an operation (tbg_info) get equal parts: a chunk of the file may become
/// several. Errors (tern::Error, MPI_ERR_ARG) name file and line. Refused by name: multicast,
/// semaphores, pipelines.
[[nodiscard]] MscclppFile parse_mscclpp(std::string_view text, const std::string& file);

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// A late rank: rank 1 of two does not launch its kernel.
#include <unistd.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "tests/gpu/kernels/round.hpp"

namespace tern::kernels_test {
namespace {

std::string outcome(Machine& machine, const Options& options, const Shape& shape,
                    uint64_t timeout) {
  Ranks ranks(machine, 2, options.scratch);
  ranks.timeout = timeout;
  Arena arena(machine, options.bytes);
  Batch batch(ranks, arena, 0);
  must(batch.add(shape));
  batch.bring(1);
  batch.put(0);
  const int64_t end = now_ns() + static_cast<int64_t>(options.timeout * 1e9);
  while (timeout == 0 && ranks.at(0).team->waits.current() == 0 && now_ns() < end) ::usleep(1000);
  return ranks.wait(timeout == 0 ? 0 : options.timeout);
}

}  // namespace

std::string check_late_ranks(Machine& machine, const Options& options) {
  constexpr uint64_t kTimeout = 5'000'000;  // ns; kernels give up after ten times as long
  for (const Column column :
       {Column::kLl, Column::kLl128, Column::kBulk, Column::kSimple, Column::kExchange}) {
    const char* const name = kColumnNames[static_cast<size_t>(column)];
    Shape shape;
    shape.column = column;
    for (size_t i = 0; i < kLines.size(); ++i)
      if (kLines[i].what == coll::Collective::kAlltoall &&
          kLines[i].irregular == (column == Column::kExchange))
        shape.line = static_cast<int>(i);
    if (column != Column::kExchange)
      shape.row = coll::find_algorithm(coll::Collective::kAlltoall, "linear");
    shape.count = 1000;
    while (Call::length(shape, 1, 0) == 0) ++shape.seed;
    const std::string ended = outcome(machine, options, shape, 0);
    if (ended.find("rank 0 waits for rank 1") == std::string::npos)
      return strf("%s: rank 1 does not come, and the host says: %s", name, ended.c_str());
    const std::string given_up = outcome(machine, options, shape, kTimeout);
    if (given_up.find("timed out waiting for rank 1") == std::string::npos)
      return strf("%s: rank 1 does not come, and the kernel says: %s", name, given_up.c_str());
  }
  return {};
}

}  // namespace tern::kernels_test

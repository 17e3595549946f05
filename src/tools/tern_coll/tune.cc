// SPDX-License-Identifier: Apache-2.0
// tern_coll tune: measures every algorithm under mpirun and writes the table of the fastest.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "base/error.hpp"
#include "tools/tern_coll/commands.hpp"
#include "tools/tern_coll/stopwatch.hpp"

namespace tern::coll_tool {
namespace {

constexpr size_t kSizes[] = {8,        32,        128,       512,     2 << 10, 8 << 10,
                             32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20};
/// Without --bytes; devices measure all sizes.
constexpr size_t kMostOnHost = 2 << 20;

size_t most_of(const Options& options) {
  const size_t all = kSizes[std::size(kSizes) - 1];
  if (options.bytes > 0) return std::min(all, static_cast<size_t>(options.bytes));
  return options.device ? all : kMostOnHost;
}
/// Of input and of output.
size_t room_of(const Options& options, int ranks) {
  const size_t most = most_of(options), blocks = options.device ? most : kMostOnHost;
  return std::max(most, std::min(most, blocks) * static_cast<size_t>(ranks));
}
/// A way within this factor of the best does not get another line.
constexpr double kClose = 1.04;

std::string size_in_words(size_t bytes) {
  if (bytes != 0 && bytes % (1 << 20) == 0) return strf("%zum", bytes >> 20);
  return bytes != 0 && bytes % 1024 == 0 ? strf("%zuk", bytes >> 10) : strf("%zu", bytes);
}

std::string wire_in_words(const Way& way) { return strf("wire %s", name_of(way.wire)); }

class Lines {
 public:
  Lines(coll::Collective collective, int ranks, const char* where)
      : head_(strf("%-15s %-6d", coll::name_of(collective), ranks)), where_(where) {}

  /// `way` serves from `least` on, until the next add() of another way.
  void add(size_t least, const Way& way) {
    if (way_.row != nullptr && way_ != way)
      flush(strf("%s..%s", from_.c_str(), size_in_words(least - 1).c_str()));
    if (way_ != way) from_ = least == 0 ? "" : size_in_words(least);
    way_ = way;
  }
  /// `end`: the end of the last size's range. Wires are limited by size; rows serve all larger
  /// sizes.
  [[nodiscard]] std::string text(size_t end) {
    const std::string to = way_.wire == Wire::kAuto ? "" : size_in_words(end);
    if (way_.row != nullptr) flush(from_.empty() && to.empty() ? "any" : from_ + ".." + to);
    return text_;
  }

 private:
  void flush(const std::string& range) {
    text_ += strf("%s %-14s %-19s %s\n", head_.c_str(), range.c_str(), way_.row->name,
                  way_.wire == Wire::kAuto ? where_ : wire_in_words(way_).c_str());
  }
  std::string head_, from_, text_;
  const char* where_;
  Way way_{nullptr};
};

/// Returns for a row on devices the library's choice of wire first, then each wire.
std::vector<Way> able(const Options& options, coll::Collective collective, int ranks,
                      const coll::Levels* levels) {
  std::vector<Way> ways;
  for (const coll::Algorithm* row : rows_of(options))
    if (row->collective == collective && !coll::neighborly(collective) &&
        (options.device             ? runs_on_devices(*row, ranks)
         : coll::has_schedule(*row) ? coll::serves(*row, ranks, levels)
                                    : levels == nullptr))
      for (int wire = 0; wire < (options.device ? kWires : 1); ++wire)
        ways.push_back({row, static_cast<Wire>(wire)});
  return ways;
}

/// Returns the fastest way, or within kClose of it the previous size's way, or else the library's
/// wire for the same row.
size_t best_of(const std::vector<Way>& ways, const std::vector<double>& times, const Way& before) {
  const auto quickest = std::min_element(times.begin(), times.end());
  const double most = kClose * *quickest;
  auto best = static_cast<size_t>(quickest - times.begin());
  for (size_t i = 0; i < ways.size(); ++i)
    if (times[i] < most && ways[i] == Way{ways[best].row}) best = i;
  for (size_t i = 0; i < ways.size(); ++i)
    if (times[i] < most && ways[i] == before) best = i;
  return best;
}

std::string measured(Stopwatch& watch, const std::vector<Way>& ways, size_t size, Way* before) {
  const std::vector<double> times = watch.times(size);
  *before = ways[best_of(ways, times, *before)];
  std::string text =
      strf("# %s %s:", coll::name_of(ways[0].row->collective), size_in_words(size).c_str());
  for (size_t i = 0; i < ways.size(); ++i) {
    if (std::isinf(times[i])) continue;
    const bool named = ways[i].wire != Wire::kAuto;
    text += strf(" %s%s %.1f us,", ways[i].row->name,
                 named ? (" " + wire_in_words(ways[i])).c_str() : "", times[i]);
  }
  text.back() = '\n';
  return text;
}

std::string tune_one(Stopwatch& watch, const std::vector<Way>& able, const char* where, size_t most,
                     size_t room) {
  const coll::Collective collective = able[0].row->collective;
  if (!coll::splits(collective)) most = std::min(most, room / static_cast<size_t>(watch.ranks()));
  const std::vector<Way>& ways = watch.prepare(able);
  Lines lines(collective, watch.ranks(), where);
  Way best{nullptr};
  std::string text;
  size_t least = 0;
  for (const size_t size : kSizes) {
    if (size > most) break;
    text += measured(watch, ways, collective == coll::Collective::kBarrier ? 0 : size, &best);
    lines.add(least, best);
    least = 2 * size + 1;
    if (collective == coll::Collective::kBarrier) break;
  }
  return text + lines.text(least - 1);
}

std::string link_in_words(const char* name, const coll::LinkCost& link, const char* where) {
  return strf("%s %.2f %.0f   # latency (us) and bandwidth (MB/s) of a message %s\n", name,
              link.latency, link.per_second, where);
}

std::string head_of(Stopwatch& watch, const coll::Levels* levels, const Gpu* gpu) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  std::string text = strf(
      "# Measured by tern_coll tune on %d ranks, %s; rank 0 on %s.\n"
      "# collective    ranks  bytes          algorithm\n",
      watch.ranks(),
      gpu != nullptr      ? gpu->name().c_str()
      : levels == nullptr ? "without levels"
                          : levels->text().c_str(),
      host);
  if (gpu != nullptr) return text + "# streams: with Tern's choice of wire; wire: with this wire\n";
  const coll::Model model = watch.figures();
  text += link_in_words("within", model.within, "in a host");
  if (levels != nullptr) text += link_in_words("between", model.between, "between hosts");
  return text + strf("reduce %.0f\ncopy %.0f\n", model.reduce, model.copy);
}

const coll::Levels* levels_here(Options options, Stopwatch& watch, coll::Levels* made) {
  const char* told = std::getenv("TERN_COLL_LEVELS");
  if (options.levels.empty() && told != nullptr && *told != '\0')
    options = parse_options({std::string("--levels=") + told});
  if (!options.levels.empty()) return levels_of(options, watch.ranks(), made);
  *made = coll::Levels::from_names({watch.hosts()});
  return made->empty() ? nullptr : made;
}

std::string measured_table(const Options& options, const MpiLibrary& mpi, const Gpu* gpu,
                           bool* writes) {
  int ranks = 0;
  mpi.Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t room = room_of(options, ranks);
  Stopwatch watch(mpi, gpu, room);
  if (watch.ranks() < 2)
    throw Error(MPI_ERR_ARG, "tune needs several ranks: mpirun -n 4 tern_coll tune");
  *writes = watch.rank() == 0;
  coll::Levels made;
  const coll::Levels* levels = levels_here(options, watch, &made);
  if (gpu != nullptr && levels != nullptr)
    throw Error(MPI_ERR_ARG, "tune --device needs all ranks on one host");
  std::string text = head_of(watch, levels, gpu);
  const char* const where = gpu != nullptr      ? "streams"
                            : levels != nullptr ? "many_hosts"
                                                : "one_host";
  for (int i = 0; i < coll::kCollectives; ++i) {
    const auto ways = able(options, static_cast<coll::Collective>(i), watch.ranks(), levels);
    if (!ways.empty()) text += tune_one(watch, ways, where, most_of(options), room);
  }
  (void)watch.prepare({});
  return text;
}

}  // namespace

int tune(const Options& options) {
  const MpiLibrary mpi = load_mpi();
  mpi.Init(nullptr, nullptr);
  bool writes = false;
  std::string text;
  if (options.device) {
    int ranks = 0;
    mpi.Comm_size(MPI_COMM_WORLD, &ranks);
    const Gpu gpu(mpi, room_of(options, ranks));
    text = measured_table(options, mpi, &gpu, &writes);
  } else {
    text = measured_table(options, mpi, nullptr, &writes);
  }
  if (writes) write_output(options, text);
  mpi.Finalize();
  return 0;
}

}  // namespace tern::coll_tool

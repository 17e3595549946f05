// SPDX-License-Identifier: Apache-2.0
// Rounds: random calls and launch orders.
#include "tests/gpu/kernels/round.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/gpu/multicast_run.hpp"
#include "coll/select/rules.hpp"

namespace tern::kernels_test {
namespace {

using enum coll::Collective;

constexpr size_t kMostCalls = 5;
constexpr size_t kRoomOfCall = 8192;

/// Operands go from the last rank to the first; a scan's chain begins at the first.
bool is_in_rank_order(const coll::Algorithm& row) noexcept {
  if ((row.collective == kScan || row.collective == kExscan) &&
      std::strcmp(row.name, "linear") == 0)
    return false;
  for (const char* const name : {"one_shot", "two_shot", "ordered", "linear"})
    if (std::strcmp(row.name, name) == 0) return true;
  return false;
}

std::vector<const coll::Algorithm*> rows_of(const Line& line, int ranks) {
  const auto of_two_hops = [](const coll::Algorithm& row) {
    return (row.traits & coll::kTwoHops) != 0;
  };
  const coll::Algorithm* const named =
      line.row != nullptr ? coll::find_algorithm(line.what, line.row) : nullptr;
  std::vector<const coll::Algorithm*> rows;
  for (const coll::Algorithm& row : coll::algorithms(line.what)) {
    coll::Question question{line.what, ranks, 0};
    question.streams = true;
    question.equal_blocks = !line.irregular;
    // Rows of two hops have their own lines.
    const bool is_line =
        of_two_hops(row) ? named == &row : named == nullptr || !of_two_hops(*named);
    if (coll::has_schedule(row) && coll::can(row, question) && is_line) rows.push_back(&row);
  }
  return rows;
}

int blocks_of(coll::Collective what, int ranks) noexcept {
  return coll::splits(what) || what == kBarrier ? 1 : ranks;
}

std::vector<int> shuffled(Random* random, int count) {
  std::vector<int> order(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) order[static_cast<size_t>(i)] = i;
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random->below(i)]);
  return order;
}

}  // namespace

const coll::Algorithm* row_for(const Shape& shape, int ranks, Random* random) {
  const Line& line = shape.of();
  switch (shape.column) {
    case Column::kExchange:
      return nullptr;
    case Column::kMultimem: {
      const coll::Algorithm* const row = coll::MulticastRun::row_of(line.what);
      if (row != nullptr) return row;
      [[fallthrough]];
    }
    case Column::kSimple: {
      const auto rows = rows_of(line, ranks);
      return rows.empty() ? nullptr : rows[random->below(rows.size())];
    }
    default:
      return line.row == nullptr ? coll::algorithms(line.what).data()
                                 : coll::find_algorithm(line.what, line.row);
  }
}

void Table::print() const {
  std::printf("%-28s", "calls");
  for (const char* const name : kColumnNames) std::printf(" %9s", name);
  std::vector<std::string> notes;
  for (size_t line = 0; line < kLines.size(); ++line) {
    std::printf("\n%-28s", kLines[line].name);
    for (size_t column = 0; column < kColumns; ++column) {
      if (calls[line][column] > 0 || why[line][column].empty()) {
        std::printf(" %9lld", static_cast<long long>(calls[line][column]));
        continue;
      }
      const auto found = std::find(notes.begin(), notes.end(), why[line][column]);
      std::printf("       (%c)", static_cast<char>('a' + (found - notes.begin())));
      if (found == notes.end()) notes.push_back(why[line][column]);
    }
  }
  std::printf("\n");
  for (size_t i = 0; i < notes.size(); ++i)
    std::printf("(%c) %s\n", static_cast<char>('a' + static_cast<int>(i)), notes[i].c_str());
  std::printf("%lld graphs, replayed %lld times\n", static_cast<long long>(graphs),
              static_cast<long long>(replays));
}

int Table::missed() const {
  int missed = 0;
  for (size_t line = 0; line < kLines.size(); ++line)
    for (size_t column = 0; column < kColumns; ++column)
      missed += calls[line][column] == 0 && why[line][column].empty() ? 1 : 0;
  return missed;
}

Rounds::Rounds(Machine& machine, const Options& options)
    : machine_(machine),
      options_(options),
      arena_(machine, 2 * kMostCalls * (2 * options.bytes + 2 * kRoomOfCall)) {}

Rounds::~Rounds() = default;

Ranks& Rounds::ranks(int count) {
  auto& made = ranks_[count];
  if (made == nullptr) made = std::make_unique<Ranks>(machine_, count, options_.scratch);
  return *made;
}

// On one device only one rank can use multicast memory.
int Rounds::draw_ranks(Random* random) const {
  constexpr uint64_t kNumbers = Machine::kMostRanks - 1;
  const int drawn =
      2 + static_cast<int>(std::min(random->below(kNumbers), random->below(kNumbers)));
  const bool alone = random->once_in(10);
  if (options_.ranks > 0) return options_.ranks;
  if (machine_.devices() == 1 && alone) return 1;
  return drawn;
}

int64_t Rounds::draw_count(Random* random, const Shape& shape, Ranks& ranks) const {
  const coll::ScratchLayout& layout = ranks.at(0).team->memory.layout();
  const coll::GpuTeam& team = *ranks.at(0).team;
  const int blocks = blocks_of(shape.of().what, ranks.count());
  const auto element = static_cast<size_t>(
      core::predefined_type(machine_.process(), kinds()[static_cast<size_t>(shape.kind)].type)
          .size());
  const auto most = static_cast<int64_t>(options_.bytes / element) / blocks;
  // The loop halves the bytes of a slot, then of one pass of all blocks.
  size_t room = layout.kernel_part(layout.kernel_region());
  if (const coll::PushFacts* wire = push_of(shape.column)) room = layout.push_room(wire->wire) * 16;
  const size_t parts = random->once_in(2) ? 1 : static_cast<size_t>(team.kernels.parts());
  const size_t times = random->once_in(2) ? 1 : static_cast<size_t>(ranks.count());
  const auto border = static_cast<int64_t>(room * parts * times / element);
  int64_t count = 0;
  switch (random->below(8)) {
    case 0:
      count = static_cast<int64_t>(random->below(2));
      break;
    case 1:
    case 2:
      count = static_cast<int64_t>(random->below(70));
      break;
    case 3:
      count = border + static_cast<int64_t>(random->below(3)) - 1;
      break;
    case 4:
      count = border * static_cast<int64_t>(1 + random->below(3)) +
              static_cast<int64_t>(random->below(99));
      break;
    default: {
      const auto shift = random->below(17);
      count = static_cast<int64_t>(random->below(uint64_t{2} << shift));
    }
  }
  return std::clamp<int64_t>(count, 0, most);
}

Shape Rounds::draw(Random* random, Ranks& ranks) const {
  Shape shape;
  shape.column = static_cast<Column>(random->below(kColumns));
  if (options_.column >= 0) shape.column = static_cast<Column>(options_.column);
  shape.line = static_cast<int>(random->below(kLines.size()));
  for (size_t i = 0; !options_.line.empty() && i < kLines.size(); ++i)
    if (options_.line == kLines[i].name) shape.line = static_cast<int>(i);
  shape.row = row_for(shape, ranks.count(), random);
  shape.kind = static_cast<int>(random->below(kinds().size()));
  shape.root = static_cast<int>(random->below(static_cast<uint64_t>(ranks.count())));
  shape.in_place = random->once_in(3);
  shape.pinned_in = random->once_in(12);
  shape.pinned_out = random->once_in(12);
  shape.skew = static_cast<int>(random->below(4));
  shape.seed = random->next();
  const coll::Collective what = shape.of().what;
  if (what == kBcast) shape.in_place = false;
  if (!coll::rooted(what)) shape.root = 0;
  if (what == kBarrier) {
    shape.kind = 0;
    shape.in_place = shape.pinned_in = shape.pinned_out = false;
    return shape;
  }
  const bool any_order =
      shape.column == Column::kMultimem || (shape.row != nullptr && !is_in_rank_order(*shape.row));
  if (coll::reduces(what) && any_order && !kinds()[static_cast<size_t>(shape.kind)].exact)
    shape.kind = 0;
  shape.count = draw_count(random, shape, ranks);
  return shape;
}

void Rounds::add_calls(Random* random, size_t count, Ranks& ranks, Batch* batch) {
  constexpr int kTrials = 400;
  for (int trial = 0; batch->size() < count && trial < kTrials; ++trial) {
    const Shape shape = draw(random, ranks);
    const auto line = static_cast<size_t>(shape.line), column = static_cast<size_t>(shape.column);
    std::string why = shape.row == nullptr && shape.column != Column::kExchange
                          ? "only the two ranks of a pair know the sizes: the exchange serves it"
                          : batch->add(shape);
    if (why.empty())
      ++table_.calls[line][column];
    else
      table_.why[line][column] = std::move(why);
  }
}

void Rounds::pause(Random* random) const {
  if (random->once_in(3)) ::usleep(static_cast<useconds_t>(random->below(300)));
}

std::string Rounds::run_in_a_row(Random* random, Ranks& ranks, Batch* batch) {
  batch->bring(random->next());
  const bool by_rank = random->once_in(2);
  if (by_rank) {
    for (const int rank : shuffled(random, ranks.count())) {
      batch->put(rank);
      pause(random);
    }
  } else {
    for (size_t call = 0; call < batch->size(); ++call)
      for (const int rank : shuffled(random, ranks.count())) batch->call(call).put(rank);
  }
  if (std::string why = ranks.wait(options_.timeout); !why.empty()) return why;
  return batch->check();
}

class Graph {
 public:
  Graph(Ranks& ranks, Batch* batch) : ranks_(ranks) {
    for (int rank = 0; rank < ranks.count(); ++rank) record(rank, batch);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    for (CUgraphExec one : all_) (void)ranks_.machine().driver().cuGraphExecDestroy(one);
  }
  void launch(int rank) {
    const cuda::Current current(*ranks_.at(rank).device);
    must("cuGraphLaunch", ranks_.machine().driver().cuGraphLaunch(all_[static_cast<size_t>(rank)],
                                                                  ranks_.at(rank).stream.handle));
  }

 private:
  void record(int rank, Batch* batch) {
    const cuda::Driver& driver = ranks_.machine().driver();
    const CUstream stream = ranks_.at(rank).stream.handle;
    const cuda::Current current(*ranks_.at(rank).device);
    CUgraph graph = nullptr;
    must("cuStreamBeginCapture",
         driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    batch->restore(rank);
    batch->put(rank);
    must("cuStreamEndCapture", driver.cuStreamEndCapture(stream, &graph));
    must("cuGraphInstantiateWithFlags",
         driver.cuGraphInstantiateWithFlags(&all_.emplace_back(nullptr), graph, 0));
    must("cuGraphDestroy", driver.cuGraphDestroy(graph));
  }
  Ranks& ranks_;
  std::vector<CUgraphExec> all_;
};

std::string Rounds::run_graph(Random* random, Ranks& ranks, Batch* batch, Batch* other) {
  constexpr int kTimes = 2;
  batch->bring(random->next());
  other->bring(random->next());
  Graph graph(ranks, batch);
  ++table_.graphs;
  for (int i = 0; i < kTimes; ++i) {
    batch->bring(random->next());
    other->bring(random->next());
    const auto replays = 1 + random->below(3);
    for (uint64_t replay = 0; replay < replays; ++replay, ++table_.replays) {
      for (const int rank : shuffled(random, ranks.count())) graph.launch(rank);
      if (replay == 0)
        for (const int rank : shuffled(random, ranks.count())) other->put(rank);
    }
    std::string why = ranks.wait(options_.timeout);
    if (why.empty()) why = batch->check();
    if (why.empty()) why = other->check();
    if (!why.empty()) return strf("%s (after %d times of a graph)", why.c_str(), i);
  }
  return {};
}

std::string Rounds::run(int64_t round) {
  Random random(mixed(options_.seed) ^ mixed(static_cast<uint64_t>(round) * 31 + 7));
  const int count = draw_ranks(&random);
  Ranks& ranks = this->ranks(count);
  ranks.use_blocks(1 << random.below(6));
  const bool records = random.once_in(5);
  Batch batch(ranks, arena_, 0);
  add_calls(&random, 1 + random.below(kMostCalls), ranks, &batch);
  Batch other(ranks, arena_, batch.end());
  if (records) add_calls(&random, random.below(3), ranks, &other);
  words_ = strf("%d ranks of %d blocks of threads%s:", count, ranks.at(0).team->kernels.parts(),
                records ? ", in a graph" : "") +
           batch.in_words();
  if (!other.empty()) words_ += "\n between replays:" + other.in_words();
  return records ? run_graph(&random, ranks, &batch, &other) : run_in_a_row(&random, ranks, &batch);
}

}  // namespace tern::kernels_test

// SPDX-License-Identifier: Apache-2.0
// The host engine: correct data of every algorithm in every delivery order. After a lost message
// every rank returns, and no rank reports success with wrong data.
#include "coll/engine/engine_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.hpp"
#include "fake_pml.hpp"
#include "tests/unit/coll/cut_rows.hpp"
#include "tests/unit/coll/rows.hpp"

namespace tern::coll {
namespace {

using core::Datatype;
using core::Op;

// An element is a function x -> a x + b modulo a prime. Composition does not commute.
constexpr int kPrime = 10007;
struct Element {
  int a, b;
  bool operator==(const Element&) const = default;
};
Element element(int rank, int64_t i) {
  return {static_cast<int>((rank * 31 + i * 7 + 2) % kPrime),
          static_cast<int>((rank + i * 5) % kPrime)};
}
Element compose(Element f, Element g) {
  return {static_cast<int>(int64_t{f.a} * g.a % kPrime),
          static_cast<int>((int64_t{f.a} * g.b + f.b) % kPrime)};
}
Element add(Element f, Element g) { return {(f.a + g.a) % kPrime, (f.b + g.b) % kPrime}; }

template <Element combine(Element, Element)>
void user_function(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    auto& right = static_cast<Element*>(inout)[i];
    right = combine(static_cast<const Element*>(in)[i], right);
  }
}

struct Case {
  const Algorithm* algorithm;
  int ranks, root;
  int64_t count;
  bool in_place;
  bool irregular;
};

class Job {
 public:
  Job(const Case& what, FakeWorld& world)
      : case_(what),
        world_(world),
        ordered_(&user_function<compose>, false),
        commutative_(&user_function<add>, true) {
    world_.renew(static_cast<unsigned>(what.ranks * 100 + what.root));
    for (auto& rank : world_.ranks) rank->coll->force(*what.algorithm);
    for (int r = 0; r < what.ranks; ++r) fill(r);
  }

  void run() {
    EXPECT_EQ(failures(), 0);
    check_algorithm();
  }
  void run_losing(int64_t before) {
    world_.wire.lost = before;
    EXPECT_GT(failures(), 0) << "no rank reported the loss";
  }
  [[nodiscard]] int64_t messages() const { return world_.wire.messages; }

 private:
  int failures() {
    std::vector<core::Request*> requests;
    for (int r = 0; r < case_.ranks; ++r) {
      const Operation operation = operation_of(r);
      core::Request* request = nullptr;
      EXPECT_EQ(coll(r).start(operation, &request), MPI_SUCCESS) << take_last_error().text;
      requests.push_back(request);
    }
    EXPECT_TRUE(world_.finish(requests)) << "deadlock";
    int failed = 0;
    for (int r = 0; r < case_.ranks; ++r) {
      core::Request* const request = requests[static_cast<size_t>(r)];
      if (request->outcome.error != MPI_SUCCESS)
        ++failed;
      else
        check(r);
      request->release();
    }
    return failed;
  }

  void check_algorithm() {
    const Levels levels = Levels::from_sizes(case_.ranks, {4, 2});
    Question question{what(), case_.ranks,      1,
                      true,   !case_.irregular, levels.empty() ? nullptr : &levels};
    if (!can(*case_.algorithm, question)) return;
    const auto found = coll(0).cache().algorithms();
    EXPECT_EQ(std::count(found.begin(), found.end(), case_.algorithm), 1)
        << name_of(what()) << " " << case_.algorithm->name << " did not run";
  }
  struct Buffers {
    std::vector<Element> input, output;
    std::vector<MPI_Count> input_counts, output_counts;
    std::vector<MPI_Aint> input_displs, output_displs;
  };
  [[nodiscard]] Collective what() const { return case_.algorithm->collective; }
  [[nodiscard]] Coll& coll(int r) { return *world_.ranks[static_cast<size_t>(r)]->coll; }
  [[nodiscard]] Datatype& type(int r) {
    return core::predefined_type(world_.ranks[static_cast<size_t>(r)]->process, MPI_2INT);
  }
  [[nodiscard]] int64_t block(int from, int to) const {
    if (!case_.irregular) return case_.count;
    if (what() != Collective::kAlltoall) from = 0;
    const bool symmetric = case_.in_place && what() == Collective::kAlltoall;
    return (from * (symmetric ? 3 : 5) + to * 3 + case_.count) % 7;
  }
  [[nodiscard]] bool has_output(int r) const {
    return r == case_.root || (what() != Collective::kReduce && what() != Collective::kGather);
  }
  [[nodiscard]] bool has_input(int r) const {
    return what() != Collective::kBcast && (r == case_.root || what() != Collective::kScatter);
  }
  [[nodiscard]] int input_blocks() const {
    const bool many = what() == Collective::kScatter || what() == Collective::kAlltoall ||
                      what() == Collective::kReduceScatter;
    return many ? case_.ranks : 1;
  }
  [[nodiscard]] int output_blocks() const {
    const bool many = what() == Collective::kGather || what() == Collective::kAllgather ||
                      what() == Collective::kAlltoall;
    return many ? case_.ranks : 1;
  }
  static int64_t lay_out(int blocks, bool gaps, const std::function<int64_t(int)>& size,
                         std::vector<MPI_Count>& counts, std::vector<MPI_Aint>& displs) {
    int64_t at = 0;
    for (int b = 0; b < blocks; ++b) {
      counts.push_back(size(b));
      displs.push_back(at);
      at += size(b) + (gaps ? 2 : 0);
    }
    return at;
  }

  void fill(int r) {
    Buffers buffers;
    const bool gaps = case_.irregular && what() != Collective::kReduceScatter;
    const auto own = [&](int) { return splits(what()) ? case_.count : block(0, r); };
    const int64_t in = lay_out(
        input_blocks(), gaps, [&](int b) { return input_blocks() == 1 ? own(b) : block(r, b); },
        buffers.input_counts, buffers.input_displs);
    const int64_t out = lay_out(
        output_blocks(), gaps,
        [&](int b) {
          if (output_blocks() == 1) return own(b);
          return what() == Collective::kAlltoall ? block(b, r) : block(0, b);
        },
        buffers.output_counts, buffers.output_displs);
    buffers.input.resize(static_cast<size_t>(in));
    buffers.output.assign(static_cast<size_t>(out), Element{-1, -1});
    if (has_input(r))
      for (int b = 0; b < input_blocks(); ++b) fill_block(buffers, r, b);
    if (what() == Collective::kBcast && r == case_.root)
      for (int64_t i = 0; i < out; ++i) buffers.output[static_cast<size_t>(i)] = element(r, i);
    buffers_.push_back(std::move(buffers));
    if (case_.in_place) put_in_place(r);
  }
  void fill_block(Buffers& buffers, int r, int b) const {
    const auto place = static_cast<size_t>(b);
    for (int64_t i = 0; i < buffers.input_counts[place]; ++i)
      buffers.input[static_cast<size_t>(buffers.input_displs[place] + i)] = element(r, tag(b, i));
  }
  static int64_t tag(int b, int64_t i) { return b * 1000003 + i; }

  void put_in_place(int r) {
    Buffers& mine = buffers_.back();
    const bool here = r == case_.root || !rooted(what());
    if (!here || what() == Collective::kBcast || what() == Collective::kScatter) return;
    if (what() == Collective::kReduceScatter) mine.output.resize(mine.input.size());
    const int32_t to = what() == Collective::kAllgather || what() == Collective::kGather ? r : 0;
    const int64_t at = to > 0 ? mine.output_displs[static_cast<size_t>(to)] : 0;
    const int64_t count =
        what() == Collective::kReduceScatter ? std::ssize(mine.input) : mine.input_counts[0];
    if (what() != Collective::kAlltoall)
      std::copy_n(mine.input.begin(), count, mine.output.begin() + at);
    if (what() == Collective::kAlltoall) refill_alltoall(mine, r);
  }
  void refill_alltoall(Buffers& mine, int r) const {
    mine.output.assign(mine.output.size(), Element{-1, -1});
    for (int b = 0; b < case_.ranks; ++b)
      for (int64_t i = 0; i < mine.output_counts[static_cast<size_t>(b)]; ++i)
        mine.output[static_cast<size_t>(mine.output_displs[static_cast<size_t>(b)] + i)] =
            element(r, tag(b, i));
  }

  [[nodiscard]] Side side(std::vector<Element>& data, std::vector<MPI_Count>& counts,
                          std::vector<MPI_Aint>& displs, int r) {
    Side side{data.data(), counts[0], &type(r), nullptr, nullptr};
    if (!case_.irregular || counts.size() == 1) return side;
    side.count = 0;
    side.counts = counts.data();
    if (what() != Collective::kReduceScatter) side.displs = displs.data();
    return side;
  }

  Operation operation_of(int r) {
    Buffers& mine = buffers_[static_cast<size_t>(r)];
    Operation operation{};
    operation.collective = what();
    operation.communicator = world_.ranks[static_cast<size_t>(r)]->process.world;
    operation.root = case_.root;
    operation.irregular = case_.irregular;
    if (reduces(what()))
      operation.op = (case_.algorithm->limits & kCommutative) != 0 ? &commutative_ : &ordered_;
    if (what() == Collective::kBarrier) return operation;
    if (has_input(r)) operation.input = side(mine.input, mine.input_counts, mine.input_displs, r);
    if (has_output(r))
      operation.output = side(mine.output, mine.output_counts, mine.output_displs, r);
    operation.in_place =
        case_.in_place && what() != Collective::kBcast && (r == case_.root || !rooted(what()));
    if (!operation.in_place) return operation;
    if (what() == Collective::kScatter)
      operation.output = {};
    else if (reduces(what()))
      operation.input.address = operation.output.address;
    else
      operation.input = {};
    return operation;
  }

  [[nodiscard]] Element reduced(int first, int end, int64_t name) const {
    Element sum = element(first, name);
    for (int r = first + 1; r < end; ++r)
      sum = (case_.algorithm->limits & kCommutative) != 0 ? add(sum, element(r, name))
                                                          : compose(sum, element(r, name));
    return sum;
  }
  [[nodiscard]] Element expected(int r, int b, int64_t i) const {
    switch (what()) {
      case Collective::kBcast:
        return element(case_.root, i);
      case Collective::kGather:
      case Collective::kAllgather:
        return element(b, tag(0, i));
      case Collective::kScatter:
        return element(case_.root, tag(r, i));
      case Collective::kAlltoall:
        return element(b, tag(r, i));
      case Collective::kReduceScatter:
        return reduced(0, case_.ranks, tag(r, i));
      case Collective::kScan:
        return reduced(0, r + 1, tag(0, i));
      case Collective::kExscan:
        return reduced(0, r, tag(0, i));
      default:
        return reduced(0, case_.ranks, tag(0, i));
    }
  }
  void check(int r) {
    const Buffers& mine = buffers_[static_cast<size_t>(r)];
    const bool nothing = what() == Collective::kBarrier || !has_output(r) ||
                         (what() == Collective::kExscan && r == 0) ||
                         (case_.in_place && what() == Collective::kScatter && r == case_.root);
    if (nothing) return;
    std::vector<char> covered(mine.output.size(), 0);
    for (int b = 0; b < output_blocks(); ++b)
      for (int64_t i = 0; i < mine.output_counts[static_cast<size_t>(b)]; ++i) {
        const auto at = static_cast<size_t>(mine.output_displs[static_cast<size_t>(b)] + i);
        covered[at] = 1;
        const Element wanted = expected(r, b, i);
        ASSERT_TRUE(mine.output[at] == wanted)
            << name_of(what()) << " " << case_.algorithm->name << ", " << case_.ranks
            << " ranks, root " << case_.root << ", count " << case_.count << ", in place "
            << case_.in_place << ": rank " << r << " block " << b << " element " << i << " is ("
            << mine.output[at].a << ", " << mine.output[at].b << "), expected (" << wanted.a << ", "
            << wanted.b << ")";
      }
    if (!case_.irregular || what() == Collective::kReduceScatter) return;
    for (size_t at = 0; at < covered.size(); ++at) {
      EXPECT_TRUE(covered[at] != 0 || mine.output[at] == (Element{-1, -1})) << "gap overwritten";
    }
  }

  const Case case_;
  FakeWorld& world_;
  Op ordered_, commutative_;
  std::vector<Buffers> buffers_;
};

class EngineRuns : public testing::TestWithParam<Algorithm> {
 protected:
  static FakeWorld world_of(int ranks) {
    return FakeWorld(ranks, 1, (GetParam().limits & kLevels) != 0 ? "4,2" : "");
  }
  static std::vector<int> roots(int ranks) {
    std::vector<int> found{0};
    for (int root = 1; root < ranks && rooted(GetParam().collective); ++root)
      if (long_tests() || root == 1 || root == ranks - 1) found.push_back(root);
    return found;
  }
  void all(const std::vector<int>& rank_counts, const std::vector<int64_t>& counts,
           bool irregular) {
    for (const int ranks : rank_counts) {
      FakeWorld world = world_of(ranks);
      for (const int64_t count : counts)
        for (const bool in_place : {false, true})
          for (const int root : roots(ranks)) {
            Job(Case{&GetParam(), ranks, root, count, in_place, irregular}, world).run();
            if (HasFatalFailure()) return;
          }
    }
  }
};
std::string run_name(const testing::TestParamInfo<Algorithm>& row) {
  return std::string(name_of(row.param.collective)) + "_" + row.param.name;
}
INSTANTIATE_TEST_SUITE_P(Table, EngineRuns, testing::ValuesIn(with_cut_rows(rows(true))), run_name);

TEST_P(EngineRuns, MovesAndReducesEqualBlocks) {
  if (long_tests())
    all({1, 2, 3, 4, 5, 6, 7, 8, 13, 16}, {0, 1, 3, 37}, false);
  else
    all({1, 2, 3, 5, 8, 13}, {0, 1, 37}, false);
}

TEST_P(EngineRuns, PipelinesLargeVectors) {
  const int64_t chunk =
      std::max<int64_t>(4096, static_cast<int64_t>(GetParam().chunk / sizeof(Element)));
  if (long_tests())
    all({2, 3, 6, 8}, {chunk - 1, chunk + 1, 4 * chunk + 3}, false);
  else
    all({2, 3, 6}, {chunk + 1, 4 * chunk + 3}, false);
}

TEST_P(EngineRuns, FailsWithWhoeverMissesALostMessage) {
  const Algorithm& row = GetParam();
  for (const int ranks : long_tests() ? std::vector<int>{2, 3, 5, 8} : std::vector<int>{2, 3, 5})
    for (const int root : {0, rooted(row.collective) ? ranks - 1 : 0}) {
      const Case what{&row, ranks, root, 37, false, false};
      FakeWorld world = world_of(ranks);
      Job whole(what, world);
      whole.run();
      for (int64_t before = 0; before < whole.messages(); ++before) {
        SCOPED_TRACE(testing::Message() << ranks << " ranks, after " << before << " messages");
        FakeWorld losing = world_of(ranks);
        Job(what, losing).run_losing(before);
        if (HasFailure()) return;
      }
    }
}

std::vector<Algorithm> irregular_ones() {
  std::vector<Algorithm> found;
  for (const Algorithm& row : with_cut_rows(rows(true)))
    if ((row.limits & kEqualBlocks) == 0 && !splits(row.collective) &&
        row.collective != Collective::kBarrier)
      found.push_back(row);
  return found;
}
class EngineRunsIrregular : public EngineRuns {};
INSTANTIATE_TEST_SUITE_P(Table, EngineRunsIrregular, testing::ValuesIn(irregular_ones()), run_name);

TEST_P(EngineRunsIrregular, MovesAndReducesBlocksOfDifferentSizes) {
  all({1, 2, 3, 4, 5, 8}, {0, 1, 2, 6}, true);
}

}  // namespace
}  // namespace tern::coll

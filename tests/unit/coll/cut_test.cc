// SPDX-License-Identifier: Apache-2.0
// Cut blocks and rows with plans: proofs, mutations, element ranges, data with holes.
#include "tests/unit/coll/cut_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "coll/comm_state.hpp"
#include "coll/engine/cache.hpp"
#include "coll/engine/geometry.hpp"
#include "coll/laboratory/verify/verify.hpp"
#include "core/datatype_build.hpp"
#include "tests/unit/coll/fake_pml.hpp"
#include "tests/unit/coll/mutations.hpp"

namespace tern::coll {
namespace {

using enum Collective;

class CutRows : public testing::TestWithParam<Algorithm> {};
std::string cut_name(const testing::TestParamInfo<Algorithm>& row) {
  return std::string(name_of(row.param.collective)) + "_" + row.param.name;
}
INSTANTIATE_TEST_SUITE_P(Table, CutRows, testing::ValuesIn(cut_rows()), cut_name);

TEST_P(CutRows, AreProved) {
  for (int32_t ranks = 1; ranks <= 17; ++ranks)
    for (int32_t root = 0; root < (rooted(GetParam().collective) ? ranks : 1); ++root) {
      const Proof proof = verify(GetParam(), ranks, root);
      ASSERT_TRUE(proof.holds()) << ranks << " ranks: " << proof.fault;
    }
}

TEST_P(CutRows, AreProvedLowered) {
  for (int32_t ranks = 1; ranks <= 9; ++ranks)
    for (const int32_t island : {1, 4, 64}) {
      const Proof proof =
          verify_lowered(GetParam(), ranks, ranks / 2, nullptr,
                         [&](int32_t from, int32_t to) { return from / island == to / island; });
      ASSERT_TRUE(proof.holds()) << ranks << " ranks, islands of " << island << ": " << proof.fault;
    }
}

TEST_P(CutRows, ADroppedStepIsCaught) {
  std::vector<Schedule> whole;
  for (int32_t r = 0; r < 5; ++r) whole.push_back(build(GetParam(), 5, r, 0));
  const bool commutative = (GetParam().limits & kCommutative) != 0;
  each_dropped_step(whole, [&](const std::vector<Schedule>& schedules, size_t rank, size_t i) {
    EXPECT_FALSE(verify(schedules, false, commutative).holds() &&
                 verify(schedules, true, commutative).holds())
        << "rank " << rank << " step " << i;
  });
}

TEST(CutBlocks, AnotherPartIsAWrongResult) {
  std::vector<Schedule> schedules;
  for (int32_t r = 0; r < 4; ++r) schedules.push_back(build(cut_rows()[0], 4, r, 0));
  for (Slice& slice : schedules[2].slices)
    if (slice.space == Space::kInput && slice.first == 1) slice.first = slice.place = 0;
  EXPECT_NE(verify(schedules, false, false).fault.find("sizes differ"), std::string::npos)
      << verify(schedules, false, false).fault;
}

TEST(CutBlocks, AChunkAcrossBlocksIsRefused) {
  Algorithm row = *find_algorithm(kAllgather, "recursive_doubling");
  row.chunk = 100;
  EXPECT_NE(verify(row, 8, 0).fault.find("slice across blocks"), std::string::npos);
}

TEST(CutBlocks, SlotsOfTheStageAreNotAdjacent) {
  std::vector<Schedule> schedules;
  for (int32_t r = 0; r < 2; ++r) {
    Builder b(kAllgather, "two slots", 2, r, 0);
    b.split(2);
    b.stage(2);
    b.send(1 - r, Builder::input(0, 2));
    b.recv(1 - r, Builder::staged(0, (1 - r) * 2, 2));
    b.copy(Builder::staged(0, (1 - r) * 2, 2), Builder::output((1 - r) * 2, 2));
    b.copy(Builder::input(0, 2), Builder::output(r * 2, 2));
    schedules.push_back(b.finish());
  }
  EXPECT_NE(verify(schedules, false, false).fault.find("not adjacent"), std::string::npos);
}

class CutGeometry : public testing::Test {
 protected:
  CutGeometry() { core::make_predefined_types(process_); }
  ~CutGeometry() override { core::free_predefined_types(process_); }
  static constexpr uintptr_t kBase = uintptr_t{1} << 40;

  Area bytes() {
    Area area;
    area.base = reinterpret_cast<std::byte*>(kBase);
    area.type = &core::predefined_type(process_, MPI_BYTE);
    return area;
  }
  // Returns the first byte and the end of a slice, from kBase.
  static std::pair<MPI_Count, MPI_Count> range(const pml::Buffer& buffer) {
    const auto first = static_cast<MPI_Count>(reinterpret_cast<uintptr_t>(buffer.address) - kBase);
    return {first, first + static_cast<MPI_Count>(buffer.bytes())};
  }
  core::Process process_;
};

// All passes and parts of a block follow each other, with every length.
TEST_F(CutGeometry, PassesAndPartsCoverEachBlockOnce) {
  for (const size_t chunk : {0, 1, 7, 64, 100000}) {
    const MPI_Count counts[] = {5, 0, 1, 1000, 37};
    const MPI_Aint displs[] = {4000, 0, 4100, 100, 2000};
    const Schedule schedule = build(cut_rows()[0], 5, 3, 0);
    Area output = bytes();  // elements of 12 bytes, moved as bytes
    output.extent = output.scale = 12;
    output.counts = counts;
    output.displs = displs;
    MPI_Count in_bytes[5];
    for (int i = 0; i < 5; ++i) in_bytes[i] = counts[i] * 12;
    Area like = bytes();
    like.counts = in_bytes;
    Area input = output;
    input.counts = nullptr;
    input.block = counts[3];
    Geometry geometry;
    geometry.bind(schedule, input, output, like, chunk);
    EXPECT_EQ(geometry.passes() > 1, chunk > 0 && chunk < 4000) << chunk;
    for (int32_t block = 0; block < 5; ++block) {
      MPI_Count next = displs[block] * 12;
      for (MPI_Count pass = 0; pass < geometry.passes(); ++pass)
        for (int32_t part = 0; part < kCutParts; ++part) {
          const pml::Buffer slice =
              geometry.at(Builder::output(block * kCutParts + part), pass, nullptr);
          if (slice.count == 0) continue;
          EXPECT_EQ(range(slice).first, next);
          EXPECT_LE(slice.bytes(), std::max<size_t>(chunk == 0 ? 12000 : chunk, 1));
          next = range(slice).second;
          if (block != 3) continue;
          const pml::Buffer own = geometry.at(Builder::input(part), pass, nullptr);
          EXPECT_EQ(own.bytes(), slice.bytes());
          EXPECT_EQ(range(own).first, range(slice).first - displs[3] * 12);
        }
      EXPECT_EQ(next, (displs[block] + counts[block]) * 12) << "block " << block;
    }
  }
}

TEST_F(CutGeometry, PartsOfAReductionAreWholeElements) {
  const Schedule schedule = build(cut_rows()[3], 4, 1, 0);
  Area area = bytes();
  area.type = &core::predefined_type(process_, MPI_DOUBLE_INT);
  area.extent = area.type->extent();
  area.block = 7;
  Geometry geometry;
  geometry.bind(schedule, area, area, area, 0);
  MPI_Count sum = 0;
  for (int32_t part = 0; part < kCutParts; ++part) {
    const pml::Buffer slice = geometry.at(Builder::input(2 * kCutParts + part), 0, nullptr);
    EXPECT_EQ(range(slice).first, (2 * 7 + sum) * area.extent);
    sum += slice.count;
  }
  EXPECT_EQ(sum, 7);
  EXPECT_EQ(geometry.at(Builder::input(2 * kCutParts, 2), 0, nullptr).count, 5);
}

// Scratch of every pass holds slots and mirror apart.
TEST_F(CutGeometry, ScratchHoldsPartsApart) {
  const Schedule schedule = build(cut_rows()[4], 4, 1, 0);
  Area area = bytes();
  area.block = 1001;
  Geometry geometry;
  geometry.bind(schedule, area, area, area, 40);
  EXPECT_EQ(geometry.passes(), 9);
  const size_t size = geometry.scratch().bytes(schedule);
  auto* const base = reinterpret_cast<std::byte*>(kBase);
  for (MPI_Count pass = 0; pass < geometry.passes(); ++pass) {
    MPI_Count next = range(geometry.at(Builder::staged(0, 5), pass, base)).second;
    for (int32_t number = 0; number < 4 * kCutParts; ++number) {
      const pml::Buffer part = geometry.at({Space::kMirror, number, 1, number}, pass, base);
      EXPECT_GE(range(part).first, next);
      next = range(part).second;
      EXPECT_EQ(part.bytes(), geometry.at(Builder::input(number), pass, base).bytes());
    }
    EXPECT_LE(next, static_cast<MPI_Count>(size));
  }
}

// Even ranks have elements of two ints with a hole, odd ranks the same data without.
class Holes {
 public:
  Holes(FakeWorld& world, const Algorithm& row, bool in_place)
      : world_(world), row_(row), in_place_(in_place) {
    for (size_t r = 0; r < world.ranks.size(); ++r) {
      core::Process& process = world.ranks[r]->process;
      core::Datatype& number = core::predefined_type(process, MPI_INT);
      types_.push_back(r % 2 == 0 ? core::TypeBuilder().vector(2, 1, 2, number)
                                  : core::TypeBuilder().contiguous(2, number));
      types_.back()->commit();
      world.ranks[r]->coll->force(row);
    }
  }

  void run(int64_t count) {
    count_ = count;
    std::vector<core::Request*> requests;
    data_.assign(world_.ranks.size(), {});
    for (int r = 0; r < size(); ++r) {
      const Operation operation = operation_of(r);
      core::Request* request = nullptr;
      ASSERT_EQ(world_.ranks[static_cast<size_t>(r)]->coll->start(operation, &request), MPI_SUCCESS)
          << take_last_error().text;
      requests.push_back(request);
    }
    ASSERT_TRUE(world_.finish(requests));
    for (int r = 0; r < size(); ++r) {
      core::Request* const request = requests[static_cast<size_t>(r)];
      EXPECT_EQ(request->outcome.error, MPI_SUCCESS);
      check(r);
      request->release();
    }
  }

 private:
  struct Data {
    std::vector<int> input, output;
  };
  [[nodiscard]] int size() const { return static_cast<int>(world_.ranks.size()); }
  [[nodiscard]] bool many(bool output) const {
    return row_.collective == kAlltoall || row_.collective == (output ? kGather : kScatter) ||
           (output && row_.collective == kAllgather);
  }
  // An element has 3 ints with a hole, 2 without.
  [[nodiscard]] int64_t ints(int r) const { return r % 2 == 0 ? 3 : 2; }
  [[nodiscard]] int64_t place(int r, int64_t element, int half) const {
    return element * ints(r) + half * (ints(r) - 1);
  }
  static int value(int from, int to, int64_t i, int half) {
    return from * 1000003 + to * 10007 + static_cast<int>(i) * 2 + half;
  }
  void put(std::vector<int>& side, int r, int block, int from, int to) const {
    for (int64_t i = 0; i < count_; ++i)
      for (int half = 0; half < 2; ++half)
        side[static_cast<size_t>(place(r, block * count_ + i, half))] = value(from, to, i, half);
  }

  Operation operation_of(int r) {
    Data& mine = data_[static_cast<size_t>(r)];
    core::Datatype& type = *types_[static_cast<size_t>(r)];
    const int64_t length = count_ * ints(r);
    mine.input.assign(static_cast<size_t>(length * (many(false) ? size() : 1)), -7);
    mine.output.assign(static_cast<size_t>(length * (many(true) ? size() : 1)), -7);
    for (int to = 0; to < (many(false) ? size() : 1); ++to) put(mine.input, r, to, r, to);
    Operation made{};
    core::Process& process = world_.ranks[static_cast<size_t>(r)]->process;
    made.collective = row_.collective;
    made.communicator = process.world;
    const bool root = r == 0 || !rooted(row_.collective);
    made.in_place = in_place_ && root;
    if (made.in_place && row_.collective == kAlltoall)
      for (int to = 0; to < size(); ++to) put(mine.output, r, to, r, to);
    if (made.in_place && (row_.collective == kGather || row_.collective == kAllgather))
      put(mine.output, r, r, r, 0);
    if (row_.collective != kScatter || root) made.input = {mine.input.data(), count_, &type};
    if (row_.collective != kGather || root) made.output = {mine.output.data(), count_, &type};
    return made;
  }

  void check(int r) const {
    const bool root = r == 0;
    if (row_.collective == kGather && !root) return;
    if (row_.collective == kScatter && root && in_place_) return;
    const std::vector<int>& output = data_[static_cast<size_t>(r)].output;
    std::vector<int> wanted(output.size(), -7);
    Holes copy = *this;
    for (int from = 0; from < (many(true) ? size() : 1); ++from)
      copy.put(wanted, r, from, row_.collective == kScatter ? 0 : from,
               row_.collective == kAlltoall || row_.collective == kScatter ? r : 0);
    EXPECT_EQ(output, wanted) << row_.name << " of " << name_of(row_.collective) << ", rank " << r
                              << ", count " << count_;
  }

  FakeWorld& world_;
  const Algorithm& row_;
  const bool in_place_;
  int64_t count_ = 0;
  std::vector<core::Ref<core::Datatype>> types_;
  std::vector<Data> data_;
};

// Reductions cut at elements.
class MovedCutRows : public CutRows {};
std::vector<Algorithm> moved_rows() {
  std::vector<Algorithm> rows = cut_rows();
  std::erase_if(rows, [](const Algorithm& row) { return reduces(row.collective); });
  return rows;
}
INSTANTIATE_TEST_SUITE_P(Table, MovedCutRows, testing::ValuesIn(moved_rows()), cut_name);

TEST_P(MovedCutRows, CutDataWithHolesAtBytes) {
  for (const int ranks : {1, 2, 5}) {
    FakeWorld world(ranks);
    for (const bool in_place : {false, true})
      for (const int64_t count : {0, 1, 2, 50}) {
        world.renew(static_cast<unsigned>(ranks));
        Holes(world, GetParam(), in_place).run(count);
        if (HasFailure()) return;
      }
  }
}

// A plan of a ring in any order of the ranks.
class RingPlan final : public Plan {
 public:
  RingPlan(std::vector<int32_t> order)
      : Plan("planned", static_cast<int32_t>(order.size())), order_(std::move(order)) {}
  [[nodiscard]] bool serves(Collective collective) const noexcept override {
    return collective == kAllgather;
  }
  [[nodiscard]] std::string text() const override { return "a ring"; }
  [[nodiscard]] int32_t after(int32_t rank, int32_t distance) const {
    const auto at = std::find(order_.begin(), order_.end(), rank) - order_.begin();
    const auto size = std::ssize(order_);
    return order_[static_cast<size_t>(((at + distance) % size + size) % size)];
  }

 private:
  const std::vector<int32_t> order_;
};

void planned_allgather(Builder& b) {
  const auto& plan = static_cast<const RingPlan&>(*b.plan());
  for (int32_t round = 1; round < b.ranks(); ++round) {
    b.send(plan.after(b.rank(), 1),
           round == 1 ? Builder::input() : Builder::output(plan.after(b.rank(), 1 - round)));
    b.recv(plan.after(b.rank(), -1), Builder::output(plan.after(b.rank(), -round)));
  }
  b.copy(Builder::input(), Builder::output(b.rank()));
}

const Algorithm& planned_row() {
  static const Algorithm row{
      kAllgather, "planned", planned_allgather, kPlan, 0, "", [](Shape) { return Cost{}; }, ""};
  return row;
}

TEST(Plans, ServeTheirRowRanksAndCollective) {
  const RingPlan plan({2, 0, 1});
  Algorithm other = planned_row(), named = planned_row();
  other.collective = kAlltoall;
  named.name = "forest";
  EXPECT_TRUE(serves(planned_row(), 3, nullptr, &plan));
  EXPECT_FALSE(serves(planned_row(), 3, nullptr, nullptr));
  EXPECT_FALSE(serves(planned_row(), 4, nullptr, &plan));
  EXPECT_FALSE(serves(other, 3, nullptr, &plan));
  EXPECT_FALSE(serves(named, 3, nullptr, &plan));
}

TEST(Plans, AreProvedLikeAnyRow) {
  std::vector<int32_t> order{0, 1, 2, 3, 4};
  do {
    const auto plan = std::make_shared<RingPlan>(order);
    EXPECT_EQ(verify(planned_row(), 5, 0, nullptr, plan.get()).fault, "");
    EXPECT_EQ(verify_lowered(
                  planned_row(), 5, 0, nullptr, [](int32_t, int32_t) { return true; }, plan.get())
                  .fault,
              "");
  } while (std::next_permutation(order.begin() + 1, order.end()));
}

TEST(Plans, ArePartOfTheCachesKey) {
  ScheduleCache cache;
  auto one = std::make_shared<RingPlan>(std::vector<int32_t>{0, 1, 2});
  auto two = std::make_shared<RingPlan>(std::vector<int32_t>{0, 2, 1});
  const auto first_peer = [&](const Plan& plan) {
    return cache.get(planned_row(), 3, 0, 0, nullptr, &plan).schedule.steps[0].peer;
  };
  EXPECT_EQ(first_peer(*one), 1);
  EXPECT_EQ(first_peer(*two), 2);
  EXPECT_EQ(first_peer(*one), 1);
  EXPECT_EQ(cache.size(), 2U);
  const std::weak_ptr<RingPlan> kept = one;
  one.reset();
  EXPECT_FALSE(kept.expired()) << "another plan could get the address of the key";
  // Other rows share a schedule whatever the plan.
  (void)cache.get(*find_algorithm(kAllgather, "ring"), 3, 0, 0, nullptr, two.get());
  (void)cache.get(*find_algorithm(kAllgather, "ring"), 3, 0, 0);
  EXPECT_EQ(cache.size(), 3U);
}

// Without a plan another row serves the call.
TEST(Plans, AreTakenFromTheCommunicator) {
  constexpr int kRanks = 4;
  FakeWorld world(kRanks);
  for (auto& rank : world.ranks) rank->coll->force(planned_row());
  std::vector<int> inputs{10, 11, 12, 13};
  for (const bool planned : {false, true}) {
    std::vector<core::Request*> requests;
    std::vector<std::vector<int>> outputs(kRanks, std::vector<int>(kRanks, -1));
    for (int r = 0; r < kRanks; ++r) {
      FakeRank& rank = *world.ranks[static_cast<size_t>(r)];
      if (planned)
        static_cast<CommState&>(*rank.process.world->coll).plan =
            std::make_shared<RingPlan>(std::vector<int32_t>{3, 1, 0, 2});
      core::Datatype& type = core::predefined_type(rank.process, MPI_INT);
      Operation made{};
      made.collective = kAllgather;
      made.communicator = rank.process.world;
      made.input = {&inputs[static_cast<size_t>(r)], 1, &type};
      made.output = {outputs[static_cast<size_t>(r)].data(), 1, &type};
      core::Request* request = nullptr;
      ASSERT_EQ(rank.coll->start(made, &request), MPI_SUCCESS);
      requests.push_back(request);
    }
    ASSERT_TRUE(world.finish(requests));
    for (int r = 0; r < kRanks; ++r) {
      EXPECT_EQ(outputs[static_cast<size_t>(r)], inputs);
      const auto rows = world.ranks[static_cast<size_t>(r)]->coll->cache().algorithms();
      EXPECT_EQ(std::count(rows.begin(), rows.end(), &planned_row()), planned ? 1 : 0);
      requests[static_cast<size_t>(r)]->release();
    }
  }
}

}  // namespace
}  // namespace tern::coll

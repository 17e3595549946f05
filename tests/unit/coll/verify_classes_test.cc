// SPDX-License-Identifier: Apache-2.0
// Proofs by classes: every row with a symmetry, against proofs of all ranks; wrong rows; sizes that
// all ranks together exceed.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "coll/algorithms/algorithms.hpp"
#include "coll/laboratory/verify/images.hpp"
#include "coll/laboratory/verify/verify.hpp"
#include "tests/unit/coll/rows.hpp"

namespace tern::coll {
namespace {

bool is_symmetric(const Algorithm& row) {
  return (row.traits & kSymmetries) != 0 && !rooted(row.collective);
}

// Rows are proved as a whole alone if their blocks or sums are not renamed like ranks.
TEST(VerifyClasses, RowsWithASymmetryAreProved) {
  std::set<std::string> proved;
  for (const Algorithm& row : rows(true)) {
    if (!is_symmetric(row)) continue;
    for (int32_t ranks = 2; ranks <= 64; ++ranks)
      for (const int32_t host : {0, 2, 3, 4, 8}) {
        if (!long_tests() && ranks > 20 && ranks % 16 != 0 && ranks != 37) continue;
        const Levels levels = host == 0 ? Levels{} : Levels::from_sizes(ranks, {host});
        const Levels* const given = levels.empty() ? nullptr : &levels;
        if ((given != nullptr) != ((row.traits & kSlices) != 0)) continue;
        if (!serves(row, ranks, given)) continue;
        const ClassProof found = verify_by_classes(row, ranks, 0, given);
        if (found.ran == 0) continue;
        if (ranks > 8) proved.insert(std::string(name_of(row.collective)) + " " + row.name);
        EXPECT_LE(found.ran, 2);
        EXPECT_EQ(found.checked, ranks);
        EXPECT_TRUE(found.proof.holds())
            << name_of(row.collective) << " " << row.name << ", " << ranks << " ranks, hosts of "
            << host << ": " << found.proof.fault;
      }
  }
  for (const char* name : {"barrier dissemination", "allgather ring", "allgather bine",
                           "allgather recursive_doubling", "allreduce ring", "alltoall pairwise"})
    EXPECT_EQ(proved.count(name), 1U) << name;
}

void one_round_too_few(Builder& b) {
  b.copy(Builder::input(0), Builder::output(b.rank()));
  for (int32_t i = 0; i + 2 < b.ranks(); ++i) {
    b.send(b.ring(1), Builder::output(b.ring(-i)));
    b.recv(b.ring(-1), Builder::output(b.ring(-i - 1)));
  }
}
void wrong_block(Builder& b) {
  b.copy(Builder::input(0), Builder::output(b.rank()));
  for (int32_t i = 0; i + 1 < b.ranks(); ++i) {
    b.send(b.ring(1), Builder::output(b.ring(-i)));
    b.recv(b.ring(-1), Builder::output(b.ring(-i - 2)));
  }
}
void another_rank(Builder& b) {
  b.copy(Builder::input(0), Builder::output(b.rank()));
  if (b.rank() == 5) b.copy(Builder::input(0), Builder::output(b.rank()));
  for (int32_t i = 0; i + 1 < b.ranks(); ++i) {
    b.send(b.ring(1), Builder::output(b.ring(-i)));
    b.recv(b.ring(-1), Builder::output(b.ring(-i - 1)));
  }
}
void no_part(Builder& b) {
  b.copy(Builder::input(0), Builder::output(b.rank()));
  if (b.rank() == 5) return;
  for (int32_t i = 0; i + 1 < b.ranks(); ++i) {
    b.send(b.ring(1), Builder::output(b.ring(-i)));
    b.recv(b.ring(-1), Builder::output(b.ring(-i - 1)));
  }
}
void late_signal(Builder& b) {
  b.wait(b.ring(-1));
  b.signal(b.ring(1));
}
void a_neighbor_only(Builder& b) {
  b.signal(b.ring(1));
  b.wait(b.ring(-1));
}
void own_sum(Builder& b) {
  b.stage(1);
  b.send(b.ring(1), Builder::input(0));
  b.recv(b.ring(-1), Builder::staged(0));
  b.reduce(Builder::staged(0), Builder::input(0), Builder::output(0));
}

TEST(VerifyClasses, WrongRowsAreFound) {
  const struct {
    Collective collective;
    Emit emit;
    const char* fault;
  } kWrong[] = {{Collective::kAllgather, one_round_too_few, "is nothing instead of"},
                {Collective::kAllgather, wrong_block, "blocks of another order"},
                {Collective::kAllgather, another_rank, "no renamed step"},
                {Collective::kBarrier, late_signal, "deadlock"},
                {Collective::kBarrier, a_neighbor_only, "leaves without a signal"},
                {Collective::kAllreduce, own_sum, "instead of"}};
  for (const auto& wrong : kWrong) {
    const Algorithm row{.collective = wrong.collective,
                        .name = "wrong",
                        .emit = wrong.emit,
                        .limits = kCommutative,
                        .chunk = 0,
                        .formula = "",
                        .cost = nullptr,
                        .see = "",
                        .traits = kRotates};
    for (const int32_t ranks : {9, 12}) {
      const ClassProof found = verify_by_classes(row, ranks, 0, nullptr);
      const std::string& fault = found.ran == 0 ? found.reason : found.proof.fault;
      EXPECT_FALSE(found.ran > 0 && found.proof.holds()) << wrong.fault;
      EXPECT_NE(fault.find(wrong.fault), std::string::npos) << wrong.fault << ": " << fault;
    }
  }
}

Algorithm gathering(Emit emit) {
  return {.collective = Collective::kAllgather,
          .name = "wrong",
          .emit = emit,
          .limits = kCommutative,
          .chunk = 0,
          .formula = "",
          .cost = nullptr,
          .see = "",
          .traits = kRotates};
}

TEST(VerifyClasses, OneWrongRankOfMany) {
  const ClassProof found = verify_by_classes(gathering(no_part), 8192, 0, nullptr);
  EXPECT_EQ(found.ran, 0);
  EXPECT_NE(found.reason.find("rank 5"), std::string::npos) << found.reason;
  EXPECT_NE(found.reason.find("not alike"), std::string::npos) << found.reason;
}

// More than all ranks together can compare: a sample, which says so.
TEST(VerifyClasses, ASampleIsNoProof) {
  const ClassProof found = verify_by_classes(gathering(no_part), 9216, 0, nullptr);
  EXPECT_LT(found.checked, 9216);
}

void too_much_scratch(Builder& b) {
  b.stage(5 * b.ranks());
  b.copy(Builder::input(0), Builder::output(b.rank()));
  for (int32_t i = 0; i + 1 < b.ranks(); ++i) {
    b.send(b.ring(1), Builder::output(b.ring(-i)));
    b.recv(b.ring(-1), Builder::output(b.ring(-i - 1)));
  }
}

TEST(VerifyClasses, ScratchIsBounded) {
  const ClassProof found = verify_by_classes(gathering(too_much_scratch), 12, 0, nullptr);
  EXPECT_NE(found.proof.fault.find("exceed the scratch limit"), std::string::npos)
      << found.proof.fault;
}

TEST(VerifyClasses, RowsWithoutASymmetryAreNotProved) {
  EXPECT_EQ(verify_by_classes(*find_algorithm(Collective::kAllreduce, "tree"), 64, 0, nullptr).ran,
            0);
  // Flips need a power of two.
  const Algorithm& doubling = *find_algorithm(Collective::kAllgather, "recursive_doubling");
  EXPECT_EQ(verify_by_classes(doubling, 48, 0, nullptr).ran, 0);
  EXPECT_GT(verify_by_classes(doubling, 64, 0, nullptr).ran, 0);
}

TEST(VerifyClasses, ManyRanks) {
  const int32_t many = long_tests() ? 8192 : 1024;
  const struct {
    Collective collective;
    const char* name;
    int32_t ranks;
  } kRows[] = {{Collective::kAllreduce, "ring", long_tests() ? 8191 : 1021},  // primes
               {Collective::kBarrier, "dissemination", long_tests() ? 131071 : 8191},
               {Collective::kAllgather, "recursive_doubling", many}};
  for (const auto& one : kRows) {
    const Algorithm& row = *find_algorithm(one.collective, one.name);
    const ClassProof found = verify_by_classes(row, one.ranks, 0, nullptr);
    EXPECT_GT(found.ran, 0) << one.name;
    EXPECT_EQ(found.checked, one.ranks) << one.name;
    EXPECT_TRUE(found.proof.holds()) << one.name << ": " << found.proof.fault;
  }
}

TEST(VerifyClasses, ASizeEndsEarly) {
  const Algorithm& ring = *find_algorithm(Collective::kAllreduce, "ring");
  EXPECT_EQ(proof_size(ring, 131072, 0, nullptr, 1'000'000), 1'000'000);
  EXPECT_LT(proof_size(ring, 8, 0, nullptr, 1'000'000), 2000);
}

}  // namespace
}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// Signatures: only the sequence of basic types matters.
#include "core/signature.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/datatype_build.hpp"
#include "core/process.hpp"

namespace tern::core::test {
namespace {

class SignatureTest : public ::testing::Test {
 protected:
  SignatureTest() { make_predefined_types(process_); }
  ~SignatureTest() override { free_predefined_types(process_); }
  Datatype& of(MPI_Datatype constant) { return predefined_type(process_, constant); }
  Signature many(MPI_Datatype constant, uint64_t count) {
    return repeated(signature_of(of(constant)), count);
  }
  Process process_;
  TypeBuilder build_;
};

TEST_F(SignatureTest, BasicTypesDifferByKindNotBySize) {
  EXPECT_NE(signature_of(of(MPI_INT)), signature_of(of(MPI_FLOAT)));
  EXPECT_NE(signature_of(of(MPI_BYTE)), signature_of(of(MPI_CHAR)));
  EXPECT_EQ(signature_of(of(MPI_INT)), signature_of(of(MPI_INT)));
}

TEST_F(SignatureTest, ConcatenationIsAssociativeAndOrdered) {
  const Signature a = many(MPI_INT, 3), b = many(MPI_DOUBLE, 2), c = many(MPI_CHAR, 5);
  EXPECT_EQ(concatenated(concatenated(a, b), c), concatenated(a, concatenated(b, c)));
  EXPECT_NE(concatenated(a, b), concatenated(b, a));
  EXPECT_EQ(concatenated(a, {}), a);
  EXPECT_EQ(repeated(a, 0), Signature{});
  EXPECT_EQ(repeated(a, 7), many(MPI_INT, 21));
}

TEST_F(SignatureTest, LayoutDoesNotMatter) {
  const auto vector = build_.vector(4, 2, 5, of(MPI_INT));
  EXPECT_EQ(signature_of(*vector), many(MPI_INT, 8));
  const auto nested = build_.contiguous(3, *vector);
  EXPECT_EQ(signature_of(*nested), many(MPI_INT, 24));
}

TEST_F(SignatureTest, PairsAreTwoTypes) {
  EXPECT_EQ(signature_of(of(MPI_DOUBLE_INT)),
            concatenated(signature_of(of(MPI_DOUBLE)), signature_of(of(MPI_INT))));
  EXPECT_EQ(signature_prefix(of(MPI_DOUBLE_INT), 2, 1), signature_of(of(MPI_DOUBLE)));
  EXPECT_EQ(signature_prefix(of(MPI_2INT), 1, 1), signature_of(of(MPI_INT)));
}

TEST_F(SignatureTest, PrefixesOfARecordByElements) {
  const MPI_Count lengths[] = {2, 1};
  const MPI_Count places[] = {0, 8};
  Datatype* types[] = {&of(MPI_INT), &of(MPI_DOUBLE)};
  const auto record = build_.structure(2, lengths, places, types);
  const MPI_Datatype order[] = {MPI_INT, MPI_INT, MPI_DOUBLE, MPI_INT, MPI_INT, MPI_DOUBLE};
  Signature expected;
  for (uint64_t n = 0; n < 6; ++n) {
    EXPECT_EQ(signature_prefix(*record, 2, n), expected) << n;
    expected = concatenated(expected, signature_of(of(order[n])));
  }
  EXPECT_EQ(signature_prefix(*record, 2, 6), expected);
  EXPECT_EQ(signature_prefix(*record, 2, 100), expected) << "the record ends";
}

TEST_F(SignatureTest, WordsNameTypeAndCount) {
  EXPECT_EQ(in_words(of(MPI_FLOAT), 10), "10 MPI_FLOAT");
  const auto vector = build_.vector(4, 2, 5, of(MPI_INT));
  EXPECT_EQ(in_words(*vector, 1), "1 of a derived type (8 basic elements each, all MPI_INT)");
}

}  // namespace
}  // namespace tern::core::test

// SPDX-License-Identifier: Apache-2.0
// The pack kernel on the host shim against Datatype::pack and unpack, and the index arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "core/datatype_build.hpp"
#include "core/datatype_device.hpp"
#include "core/process.hpp"
#include "tests/softcuda/shim/launch.h"

namespace tern::cuda::test {
namespace {

using core::Datatype;
using core::Ref;
using core::TypeBuilder;

class PackKernels : public ::testing::Test {
 protected:
  PackKernels() { core::make_predefined_types(process_); }
  ~PackKernels() override { core::free_predefined_types(process_); }
  Datatype& of(MPI_Datatype constant) { return core::predefined_type(process_, constant); }
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }

  Ref<Datatype> random_type(int depth) {
    static const MPI_Datatype kBasics[] = {
        MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX, MPI_DOUBLE_INT};
    Datatype& basic = of(kBasics[below(6)]);
    if (depth == 0) return TypeBuilder().contiguous(1 + below(3), basic);
    const Ref<Datatype> old = random_type(depth - 1);
    const MPI_Count count = 1 + below(5);
    switch (below(5)) {
      case 0:
        return TypeBuilder().vector(count, 1 + below(3), 3 + below(4), *old);
      case 1:
        return TypeBuilder().hvector(count, 1, old->true_extent() + below(9), *old);
      case 2:
        return random_indexed(count, *old);
      case 3:
        return random_struct(count, *old);
      default:
        return TypeBuilder().resized(*old, old->lb(), old->extent() + below(17));
    }
  }

  Ref<Datatype> random_indexed(MPI_Count count, Datatype& old) {
    std::vector<MPI_Count> lengths, places;
    MPI_Count next = 0;
    for (MPI_Count i = 0; i < count; ++i) {
      lengths.push_back(below(4));
      places.push_back(next + below(3));
      next = places.back() + lengths.back();
    }
    return TypeBuilder().indexed(count, lengths.data(), places.data(), old);
  }

  Ref<Datatype> random_struct(MPI_Count count, Datatype& old) {
    std::vector<MPI_Count> lengths, places;
    std::vector<Datatype*> types;
    MPI_Count next = 0;
    for (MPI_Count i = 0; i < count; ++i) {
      types.push_back(below(2) == 0 ? &old : &of(MPI_SHORT));
      lengths.push_back(1 + below(2));
      next += below(9) - std::min<MPI_Count>(0, types.back()->lb());
      places.push_back(next);
      next += types.back()->extent() * lengths.back() + 8;
    }
    return TypeBuilder().structure(count, lengths.data(), places.data(), types.data());
  }

  static void launch(const LayoutProgram& program, void* buffer, size_t offset, void* packed,
                     size_t bytes, bool to_memory) {
    const TernHostKernels* kernels = tern_host_kernels();
    const TernHostKernel* kernel = kernels->find("tern_pack");
    ASSERT_NE(kernel, nullptr);
    const void* image = program.inlined() ? nullptr : program.image().data();
    const PackArguments arguments =
        program.arguments(buffer, offset, packed, bytes, to_memory, image);
    ASSERT_EQ(kernel->parameter_bytes, sizeof arguments);
    const TernLaunch grid = {{2, 1, 1}, {32, 1, 1}, 0, 0};
    char why[256] = "";
    ASSERT_EQ(kernels->launch(kernel, &grid, &arguments, why, sizeof why), 0) << why;
  }

  /// MPI forbids receives into overlapping bytes.
  static bool overlaps(const Datatype& type, char* buffer, MPI_Count count, size_t offset,
                       size_t bytes, std::vector<char>& memory) {
    const std::vector<char> ones(bytes, 1), before = memory;
    std::fill(memory.begin(), memory.end(), char{0});
    type.unpack(buffer, count, offset, ones.data(), bytes);
    const auto written = std::count(memory.begin(), memory.end(), char{1});
    std::copy(before.begin(), before.end(), memory.begin());
    return static_cast<size_t>(written) != bytes;
  }

  void check(const Datatype& type, MPI_Count count, size_t offset, size_t bytes, size_t skew_memory,
             size_t skew_packed) {
    const auto program = core::device_layout(type);
    ASSERT_NE(program, nullptr);
    ASSERT_EQ(program->size(), type.size());
    const MPI_Aint first = std::min<MPI_Aint>(0, (count - 1) * type.extent()) + type.true_lb();
    const MPI_Aint last =
        std::max<MPI_Aint>(0, (count - 1) * type.extent()) + type.true_lb() + type.true_extent();
    std::vector<char> memory(static_cast<size_t>(last - first) + 64);
    for (char& byte : memory) byte = static_cast<char>(random_());
    char* const buffer = memory.data() + 16 + skew_memory - first;

    std::vector<char> wanted(bytes + 48, '\x5a'), packed = wanted;
    type.pack(buffer, count, offset, wanted.data() + skew_packed, bytes);
    launch(*program, buffer, offset, packed.data() + skew_packed, bytes, false);
    ASSERT_TRUE(packed == wanted) << "packing " << offset << " + " << bytes;

    if (overlaps(type, buffer, count, offset, bytes, memory)) return;
    for (char& byte : packed) byte = static_cast<char>(random_());
    const std::vector<char> before = memory;
    type.unpack(buffer, count, offset, packed.data() + skew_packed, bytes);
    const std::vector<char> unpacked = memory;
    std::copy(before.begin(), before.end(), memory.begin());
    launch(*program, buffer, offset, packed.data() + skew_packed, bytes, true);
    ASSERT_TRUE(memory == unpacked) << "unpacking " << offset << " + " << bytes;
  }

  std::mt19937_64 random_{17};
  core::Process process_;
};

TEST_F(PackKernels, RandomTypesAndRanges) {
  int tried = 0, inlined = 0;
  while (tried < 1500) {
    const Ref<Datatype> type = random_type(static_cast<int>(below(4)));
    const MPI_Count count = 1 + below(6);
    const auto total = static_cast<size_t>(type->size() * count);
    if (total == 0 || total > 1 << 20) continue;
    const size_t offset = below(2) == 0 ? 0 : static_cast<size_t>(random_() % total);
    const size_t bytes = below(2) == 0 ? total - offset : random_() % (total - offset + 1);
    inlined += core::device_layout(*type)->inlined() ? 1 : 0;
    ASSERT_NO_FATAL_FAILURE(check(*type, count, offset, bytes,
                                  static_cast<size_t>(below(2) * below(16)),
                                  static_cast<size_t>(below(2) * below(16))))
        << "type " << tried;
    ++tried;
  }
  EXPECT_GT(inlined, 100);
  EXPECT_LT(inlined, tried);
}

TEST_F(PackKernels, ColumnsRowsAndFaces) {
  const auto column = TypeBuilder().vector(1000, 1, 7, of(MPI_DOUBLE));
  check(*column, 3, 0, 24000, 0, 0);
  check(*column, 3, 1001, 20001, 0, 0);
  const auto rows = TypeBuilder().hvector(50, 101, 300, of(MPI_BYTE));
  check(*rows, 2, 0, 10100, 1, 0);
  check(*rows, 2, 13, 9000, 0, 3);
  const MPI_Count sizes[] = {9, 20, 30}, parts[] = {5, 7, 11}, starts[] = {1, 2, 3};
  const auto block = TypeBuilder().subarray(3, sizes, parts, starts, MPI_ORDER_C, of(MPI_FLOAT));
  check(*block, 2, 0, 2 * 4 * 385, 0, 0);
  const auto backwards = TypeBuilder().vector(64, 2, -3, of(MPI_INT));
  check(*backwards, 1, 8, 496, 0, 0);
}

TEST_F(PackKernels, ALongListLeavesTheParameter) {
  std::vector<MPI_Count> places;
  for (MPI_Count i = 0; i < 4000; ++i)
    places.push_back(places.empty() ? 0 : places.back() + 1 + below(4));
  const auto type = TypeBuilder().indexed_block(4000, 1, places.data(), of(MPI_INT));
  EXPECT_FALSE(core::device_layout(*type)->inlined());
  check(*type, 2, 0, 32000, 0, 0);
  check(*type, 2, 4321, 11111, 0, 0);
}

TEST_F(PackKernels, ARegularTypeNeedsNoLists) {
  const auto column = TypeBuilder().vector(1000000, 1, 7, of(MPI_DOUBLE));
  EXPECT_LE(core::device_layout(*column)->image().size_bytes(), 256U);
  EXPECT_EQ(core::device_layout(*column), core::device_layout(*column));
}

TEST_F(PackKernels, RowsAreFound) {
  LayoutProgram::Rows rows{};
  const auto vector = TypeBuilder().vector(10, 3, 5, of(MPI_INT));
  ASSERT_TRUE(core::device_layout(*vector)->rows(1, &rows));
  EXPECT_EQ(rows.width, 12);
  EXPECT_EQ(rows.pitch, 20);
  EXPECT_FALSE(core::device_layout(*vector)->rows(2, &rows));  // The last row has no gap behind.
  const auto padded = TypeBuilder().resized(of(MPI_INT), 0, 64);
  ASSERT_TRUE(core::device_layout(*padded)->rows(7, &rows));
  EXPECT_EQ(rows.width, 4);
  EXPECT_EQ(rows.pitch, 64);
}

TEST(Divisors, DivideAsDivisionDoes) {
  std::mt19937_64 random(3);
  const auto quotient = [](int64_t n, const Divisor& by) {
    __extension__ typedef unsigned __int128 Wide;
    if (by.magic == 0) return n;
    return static_cast<int64_t>(static_cast<uint64_t>((static_cast<Wide>(n) * by.magic) >> 64) >>
                                by.shift);
  };
  for (int i = 0; i < 200000; ++i) {
    const auto d = static_cast<int64_t>((random() >> (1 + random() % 63)) | 1) + (i % 2);
    const auto n = static_cast<int64_t>(random() >> (1 + random() % 63));
    const int64_t edge = n / d * d;
    for (const int64_t m : {n, edge, std::max<int64_t>(edge - 1, 0), INT64_MAX})
      ASSERT_EQ(quotient(m, divisor(d)), m / d) << m << " / " << d;
  }
  EXPECT_EQ(quotient(12345, divisor(1)), 12345);
}

TEST(Mail, CopiesAndRaisesItsFlag) {
  const TernHostKernels* kernels = tern_host_kernels();
  const TernHostKernel* kernel = kernels->find("tern_mail");
  ASSERT_NE(kernel, nullptr);
  EXPECT_NE(kernel->synchronises, 0);
  for (const size_t bytes : {0U, 1U, 8U, 15U, 100U, 4096U})
    for (const size_t skew : {0U, 1U, 4U}) {
      std::vector<char> from(bytes + 32), to(bytes + 32, '\x5a');
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + 1);
      uint32_t flag = 0;
      const MailArguments arguments{to.data() + 8, from.data() + skew, static_cast<int64_t>(bytes),
                                    &flag, 77};
      const TernLaunch grid = {{1, 1, 1}, {64, 1, 1}, 0, 0};
      char why[256] = "";
      ASSERT_EQ(kernels->launch(kernel, &grid, &arguments, why, sizeof why), 0) << why;
      EXPECT_EQ(flag, 77U);
      EXPECT_EQ(std::memcmp(to.data() + 8, from.data() + skew, bytes), 0) << bytes << " " << skew;
      EXPECT_EQ(to[8 + bytes], '\x5a');
    }
}

}  // namespace
}  // namespace tern::cuda::test

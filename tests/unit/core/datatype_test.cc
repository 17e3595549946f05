// SPDX-License-Identifier: Apache-2.0
// Datatypes: random types against a list of bytes, the standard's examples, extreme sizes.
#include "core/datatype.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "core/process.hpp"
#include "datatype_reference.hpp"

namespace tern::core::test {
namespace {

class DatatypeTest : public ::testing::Test {
 protected:
  DatatypeTest() { make_predefined_types(process_); }
  ~DatatypeTest() override { free_predefined_types(process_); }
  Datatype& of(MPI_Datatype constant) { return predefined_type(process_, constant); }
  Process process_;
  TypeBuilder build_;
};

/// Arena has room for types that reach far to both sides of their origin.
class Arena {
 public:
  Arena() : bytes_(noise()) {}
  [[nodiscard]] char* origin() { return bytes_.data() + kReach; }
  [[nodiscard]] bool holds(const Model& model, int64_t count) const {
    return reach(model, count) < kReach;
  }
  std::vector<char> bytes_;

 private:
  static int64_t reach(const Model& model, int64_t count) {
    int64_t most = 0;
    for (const int64_t byte : model.bytes)
      most = std::max({most, std::abs(byte), std::abs(byte + (count - 1) * model.extent())});
    return most;
  }
  static const std::vector<char>& noise() {
    static const std::vector<char> bytes = [] {
      std::mt19937 random(7);
      std::vector<char> made(kReach * 2);
      for (char& byte : made) byte = static_cast<char>(random());
      return made;
    }();
    return bytes;
  }
  static constexpr int64_t kReach = 1 << 14;
};

std::vector<char> packed_by_model(const Model& model, int64_t count, const char* origin) {
  std::vector<char> packed;
  for (int64_t i = 0; i < count; ++i)
    for (const int64_t byte : model.bytes) packed.push_back(origin[i * model.extent() + byte]);
  return packed;
}

void expect_bounds(const Datatype& type, const Model& model) {
  EXPECT_EQ(type.size(), static_cast<MPI_Count>(model.bytes.size()));
  EXPECT_EQ(type.lb(), model.lb);
  EXPECT_EQ(type.extent(), model.extent());
  EXPECT_EQ(type.elements(), static_cast<MPI_Count>(model.basics.size()));
  if (model.bytes.empty()) return;
  const auto [least, most] = std::minmax_element(model.bytes.begin(), model.bytes.end());
  EXPECT_EQ(type.true_lb(), *least);
  EXPECT_EQ(type.true_extent(), *most + 1 - *least);
}

void expect_elements(const Datatype& type, const Model& model) {
  MPI_Count bytes = 0, elements = 0;
  for (int round = 0; round < 2; ++round)
    for (const int64_t basic : model.basics) {
      EXPECT_EQ(type.elements_in(bytes), elements);
      EXPECT_EQ(type.bytes_of(elements), bytes);
      if (basic > 1) {
        EXPECT_EQ(type.elements_in(bytes + 1), -1);
      }
      bytes += basic;
      ++elements;
    }
}

void expect_pieces(const Datatype& type, int64_t count, char* origin, size_t from, size_t limit,
                   const std::vector<char>& packed) {
  size_t position = from;
  while (position < from + limit) {
    iovec pieces[7];
    size_t covered = 0;
    const size_t used =
        type.pieces(origin, count, position, from + limit - position, pieces, 7, &covered);
    ASSERT_GT(used, 0U);
    ASSERT_LE(used, 7U);
    for (size_t i = 0; i < used; ++i) {
      ASSERT_EQ(0, std::memcmp(pieces[i].iov_base, packed.data() + position, pieces[i].iov_len));
      position += pieces[i].iov_len;
      covered -= pieces[i].iov_len;
    }
    ASSERT_EQ(covered, 0U);
  }
  EXPECT_EQ(position, from + limit);
}

void expect_unpacked(const Sample& sample, int64_t count, size_t from, size_t limit,
                     const std::vector<char>& packed) {
  Arena target, expected;
  sample.type->unpack(target.origin(), count, from, packed.data() + from, limit);
  const Model& model = sample.model;
  for (size_t byte = from; byte < from + limit; ++byte) {
    const size_t element = byte / model.bytes.size(), within = byte % model.bytes.size();
    expected.origin()[static_cast<int64_t>(element) * model.extent() + model.bytes[within]] =
        packed[byte];
  }
  EXPECT_EQ(target.bytes_, expected.bytes_);
}

bool expect_like_model(const Sample& sample, RandomTypes& random) {
  expect_bounds(*sample.type, sample.model);
  expect_elements(*sample.type, sample.model);
  Arena arena;
  const int64_t count = random.pick(1, 4);
  if (!arena.holds(sample.model, count)) return false;
  const std::vector<char> packed = packed_by_model(sample.model, count, arena.origin());
  std::vector<char> got(packed.size(), 'x');
  sample.type->pack(arena.origin(), count, 0, got.data(), got.size());
  EXPECT_EQ(got, packed);
  for (int part = 0; part < 6 && !packed.empty(); ++part) {
    const size_t from =
        static_cast<size_t>(random.pick(0, static_cast<int64_t>(packed.size()) - 1));
    const size_t limit =
        static_cast<size_t>(random.pick(1, static_cast<int64_t>(packed.size() - from)));
    std::vector<char> some(limit + 1, 'x');
    sample.type->pack(arena.origin(), count, from, some.data(), limit);
    EXPECT_EQ(0, std::memcmp(some.data(), packed.data() + from, limit));
    EXPECT_EQ(some.back(), 'x') << "wrote beyond the end";
    expect_pieces(*sample.type, count, arena.origin(), from, limit, packed);
    if (part < 2) expect_unpacked(sample, count, from, limit, packed);
  }
  return !packed.empty();
}

TEST_F(DatatypeTest, RandomTypesPackLikeTheListOfTheirBytes) {
  RandomTypes random(process_, 20250605);
  int packed = 0;
  for (int i = 0; i < 1500; ++i) {
    const Sample sample = random.make(1 + i % 4);
    if (sample.model.bytes.size() > 3000) continue;
    packed += expect_like_model(sample, random);
    ASSERT_FALSE(HasFailure()) << "type number " << i;
  }
  EXPECT_GT(packed, 700);
}

TEST_F(DatatypeTest, PredefinedSizesAreTheAbis) {
  const struct {
    MPI_Datatype constant;
    MPI_Count size, extent;
  } rows[] = {{MPI_INT, 4, 4},          {MPI_AINT, 8, 8},      {MPI_PACKED, 1, 1},
              {MPI_C_BOOL, 1, 1},       {MPI_WCHAR, 4, 4},     {MPI_LOGICAL16, 16, 16},
              {MPI_REAL2, 2, 2},        {MPI_COMPLEX4, 4, 4},  {MPI_COMPLEX32, 32, 32},
              {MPI_DOUBLE_INT, 12, 16}, {MPI_SHORT_INT, 6, 8}, {MPI_FLOAT_INT, 8, 8},
              {MPI_LONG_INT, 12, 16},   {MPI_2REAL, 8, 8},     {MPI_2DOUBLE_PRECISION, 16, 16},
              {MPI_2INTEGER, 8, 8},     {MPI_2INT, 8, 8},      {MPI_DOUBLE_COMPLEX, 16, 16}};
  for (const auto& row : rows) {
    EXPECT_EQ(of(row.constant).size(), row.size) << of(row.constant).name.text();
    EXPECT_EQ(of(row.constant).extent(), row.extent) << of(row.constant).name.text();
  }
  EXPECT_EQ(of(MPI_LONG_DOUBLE_INT).extent(), static_cast<MPI_Aint>(2 * sizeof(long double)));
}

// MPI-5.0, example 5.1.
TEST_F(DatatypeTest, StructureIsRoundedToItsAlignment) {
  const MPI_Count lengths[] = {1, 1}, places[] = {0, 8};
  Datatype* types[] = {&of(MPI_DOUBLE), &of(MPI_CHAR)};
  const auto type = build_.structure(2, lengths, places, types);
  EXPECT_EQ(type->extent(), 16);
  EXPECT_EQ(type->true_extent(), 9);
  EXPECT_EQ(build_.contiguous(3, *type)->extent(), 48);
  EXPECT_EQ(type->basic(), nullptr);
}

// MPI-5.0, 5.1.6.
TEST_F(DatatypeTest, ResizedBoundsStick) {
  const auto one = build_.resized(of(MPI_INT), -3, 9);
  EXPECT_EQ(one->lb(), -3);
  EXPECT_EQ(one->extent(), 9);
  EXPECT_EQ(one->true_lb(), 0);
  const auto two = build_.contiguous(2, *one);
  EXPECT_EQ(two->lb(), -3);
  EXPECT_EQ(two->extent(), 18);
  const MPI_Count lengths[] = {1, 1}, places[] = {0, 100};
  Datatype* types[] = {two.get(), &of(MPI_INT)};
  const auto both = build_.structure(2, lengths, places, types);
  EXPECT_EQ(both->lb(), -3);
  EXPECT_EQ(both->extent(), 18);
  EXPECT_EQ(both->true_extent(), 104);
}

TEST_F(DatatypeTest, RegularTypesBecomeOneBlockOrOneStride) {
  const auto row = build_.vector(10, 4, 4, of(MPI_DOUBLE));
  EXPECT_TRUE(row->contiguous());
  const auto column = build_.vector(10, 1, 7, of(MPI_DOUBLE));
  const auto resized = build_.resized(*column, 0, 8 * 70);
  const auto columns = build_.contiguous(5, *resized);
  ASSERT_TRUE(columns->layout().node);
  EXPECT_EQ(columns->layout().node->form, Layout::LayoutForm::kStrided);
  EXPECT_EQ(columns->layout().node->count, 50);
  const MPI_Count places[] = {0, 3, 6, 9};
  const auto even = build_.indexed_block(4, 1, places, of(MPI_INT));
  EXPECT_EQ(even->layout().node->form, Layout::LayoutForm::kStrided);
  EXPECT_EQ(columns->basic(), &of(MPI_DOUBLE));
}

/// The column begins `off` bytes after a cache line.
void expect_column(const Datatype& column, int64_t block, int64_t stride, int64_t count,
                   int64_t off) {
  std::vector<char> memory(static_cast<size_t>((count + 1) * std::abs(stride) + 128));
  const size_t period = std::min<size_t>(memory.size(), 256);
  std::iota(memory.begin(), memory.begin() + static_cast<ptrdiff_t>(period),
            static_cast<char>(stride));
  for (size_t at = period; at < memory.size(); at += std::min(at, memory.size() - at))
    std::memcpy(&memory[at], memory.data(), std::min(at, memory.size() - at));
  const int64_t line = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory.data()) & 63) + 64;
  const int64_t first = line + off + (stride < 0 ? -stride * (count - 1) : 0);
  const auto place = [=](int64_t i) {
    return static_cast<size_t>(first + i / block * stride + i % block);
  };
  const int64_t from = block + 1, to = count * block - from;
  std::vector<char> packed(static_cast<size_t>(to - from)), expected(packed.size()), after = memory;
  const auto by_blocks = [&](std::vector<char>& in_place, std::vector<char>& all, bool back) {
    for (int64_t i = from, bytes = 0; i < to; i += bytes) {
      bytes = std::min(block - i % block, to - i);
      char* const there = &in_place[place(i)];
      char* const here = &all[static_cast<size_t>(i - from)];
      std::memcpy(back ? there : here, back ? here : there, static_cast<size_t>(bytes));
    }
  };
  by_blocks(memory, expected, false);
  column.pack(memory.data() + first, 1, static_cast<size_t>(from), packed.data(), packed.size());
  EXPECT_EQ(packed, expected) << "block " << block << ", stride " << stride << ", count " << count;
  for (char& byte : packed) byte = static_cast<char>(~byte);
  by_blocks(after, packed, true);
  column.unpack(memory.data() + first, 1, static_cast<size_t>(from), packed.data(), packed.size());
  EXPECT_EQ(memory, after) << "block " << block << ", stride " << stride << ", count " << count;
}

TEST_F(DatatypeTest, ColumnsPackFromAnyAddressAndNothingBetweenTheirBlocksIsWritten) {
  constexpr int kManyBytes = 1 << 18;  // beyond the second-level cache
  for (const int block : {4, 8, 12}) {
    const auto blocks = build_.contiguous(block, of(MPI_BYTE));
    for (const int stride : {8, 12, 16, 20, 24, 28, 132, 512, -512})
      for (const int count : {49, 100, kManyBytes / block}) {
        if (std::abs(stride) <= block) continue;
        const auto column = build_.hvector(count, 1, stride, *blocks);
        for (const int off : {0, 4, 20, 63}) expect_column(*column, block, stride, count, off);
      }
  }
  for (const int block : {64, 65, 127, 128, 200, 4096, 65536, 70000}) {
    const auto row = build_.hvector(5, 1, block + 24, *build_.contiguous(block, of(MPI_BYTE)));
    for (const int off : {0, 7, 63}) expect_column(*row, block, block + 24, 5, off);
  }
}

TEST_F(DatatypeTest, BlocksOfEveryLengthPackAndUnpack) {
  constexpr MPI_Count kLongest = 150;
  std::vector<MPI_Count> lengths, places;
  std::vector<char> memory, expected;
  for (MPI_Count length = 1; length <= kLongest; ++length) {
    const MPI_Count mixed = length * 37 % kLongest + 1;
    lengths.push_back(mixed);
    places.push_back(static_cast<MPI_Count>(memory.size()));
    for (MPI_Count i = 0; i < mixed; ++i) memory.push_back(static_cast<char>(length + i));
    expected.insert(expected.end(), memory.end() - mixed, memory.end());
    memory.push_back('-');
  }
  const auto type = build_.indexed(kLongest, lengths.data(), places.data(), of(MPI_BYTE));
  std::vector<char> packed(expected.size()), back(memory.size(), '-');
  type->pack(memory.data(), 1, 0, packed.data(), packed.size());
  EXPECT_EQ(packed, expected);
  type->unpack(back.data(), 1, 0, packed.data(), packed.size());
  EXPECT_EQ(back, memory);
}

TEST_F(DatatypeTest, ZeroCountsMakeEmptyTypes) {
  for (const auto& type :
       {build_.contiguous(0, of(MPI_INT)), build_.vector(0, 3, 4, of(MPI_INT)),
        build_.vector(3, 0, 4, of(MPI_INT)), build_.indexed(0, nullptr, nullptr, of(MPI_INT)),
        build_.structure(0, nullptr, nullptr, nullptr)}) {
    EXPECT_EQ(type->size(), 0);
    EXPECT_EQ(type->lb(), 0);
    EXPECT_EQ(type->extent(), 0);
    EXPECT_TRUE(type->contiguous());
    type->pack(nullptr, 5, 0, nullptr, 0);
    size_t covered = 1;
    EXPECT_EQ(type->pieces(nullptr, 5, 0, 100, nullptr, 0, &covered), 0U);
    EXPECT_EQ(covered, 0U);
  }
}

TEST_F(DatatypeTest, AbsoluteAddressesWork) {
  int a = 41, b = 42, out[2] = {};
  const MPI_Count lengths[] = {1, 1},
                  places[] = {reinterpret_cast<MPI_Count>(&b), reinterpret_cast<MPI_Count>(&a)};
  const auto type = build_.hindexed(2, lengths, places, of(MPI_INT));
  type->pack(MPI_BOTTOM, 1, 0, out, sizeof out);
  EXPECT_EQ(out[0], 42);
  EXPECT_EQ(out[1], 41);
}

TEST_F(DatatypeTest, HugeTypesCountIn64Bits) {
  const auto block = build_.contiguous(1LL << 40, of(MPI_DOUBLE));
  EXPECT_EQ(block->size(), 1LL << 43);
  const auto far = build_.hvector(2, 1, 1LL << 45, *block);
  EXPECT_EQ(far->size(), 1LL << 44);
  EXPECT_EQ(far->extent(), (1LL << 45) + (1LL << 43));
  EXPECT_EQ(far->recipe().counts.size(), 0U);
  EXPECT_EQ(block->recipe().counts.size(), 1U);
  EXPECT_THROW((void)build_.contiguous(1LL << 40, *block), Error);
  EXPECT_THROW((void)build_.hvector(1LL << 40, 1, 1LL << 40, of(MPI_INT)), Error);
}

TEST_F(DatatypeTest, PairsCountAsTwoElements) {
  EXPECT_EQ(of(MPI_DOUBLE_INT).elements_in(12), 2);
  EXPECT_EQ(of(MPI_DOUBLE_INT).elements_in(8), 1);
  EXPECT_EQ(of(MPI_DOUBLE_INT).elements_in(4), -1);
  EXPECT_EQ(of(MPI_DOUBLE_INT).bytes_of(3), 20);
}

template <class Work>
double best_time(Work work) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

TEST_F(DatatypeTest, AMillionRandomBlocksAreMadeInMilliseconds) {
  constexpr MPI_Count kBlocks = 1'000'000;
  std::vector<MPI_Count> lengths(kBlocks), places(kBlocks);
  std::mt19937 random(3);
  MPI_Count at = 0;
  for (size_t i = 0; i < kBlocks; ++i) {
    lengths[i] = 1 + random() % 3;
    places[i] = at;
    at += lengths[i] + 1 + static_cast<MPI_Count>(random() % 4);
  }
  Ref<Datatype> type;
  const double seconds = best_time([&] {
    type = build_.indexed(kBlocks, lengths.data(), places.data(), of(MPI_DOUBLE));
    type->commit();
  });
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_LT(seconds, 5);
#else
  EXPECT_LT(seconds, 0.25) << "generous, because the machine may be shared";
#endif
  RecordProperty("milliseconds", std::to_string(seconds * 1e3));
  EXPECT_EQ(type->size(), 8 * std::accumulate(lengths.begin(), lengths.end(), MPI_Count{0}));
}

TEST_F(DatatypeTest, PackingInChunksCostsLikePackingAtOnce) {
  constexpr MPI_Count kBlocks = 1 << 18;
  const auto column = build_.vector(kBlocks, 1, 4, of(MPI_DOUBLE));
  std::vector<double> data(kBlocks * 4), packed(kBlocks);
  const size_t bytes = kBlocks * sizeof(double), chunk = 4096;
  const auto in_chunks = [&](size_t step) {
    for (size_t from = 0; from < bytes; from += step)
      column->pack(data.data(), 1, from, reinterpret_cast<char*>(packed.data()) + from, step);
  };
  const double whole = best_time([&] { in_chunks(bytes); });
  const double parts = best_time([&] { in_chunks(chunk); });
  EXPECT_LT(parts, 3 * whole + 1e-4);
}

}  // namespace
}  // namespace tern::core::test

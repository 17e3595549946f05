// SPDX-License-Identifier: Apache-2.0
// Representations: rebuilt types against types of bytes, and the calls of registered functions.
#include "io/datarep.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <random>
#include <vector>

#include "base/error.hpp"
#include "core/current_call.hpp"
#include "core/datatype_build.hpp"
#include "core/external32.hpp"
#include "core/process.hpp"
#include "core/user_call.hpp"
#include "mpix.h"

namespace tern::io {
namespace {

using core::Datatype;
using core::Ref;
using core::TypeBuilder;
using Numbers = std::vector<MPI_Count>;

struct ConversionCall {
  void *buffer, *file;
  MPI_Datatype type;
  MPI_Count count;
  MPI_Offset position;
  MPI_Count type_size;
};
struct Seen {
  std::vector<ConversionCall> calls;
  MPI_Aint extent = 3;
  int answer = MPI_SUCCESS;
  bool throws = false;
  const core::HandleTable* handles = nullptr;
};
Seen seen;

class RepresentationTest : public testing::Test {
 protected:
  RepresentationTest() {
    make_predefined_types(process_);
    seen = {};
  }
  ~RepresentationTest() override { free_predefined_types(process_); }

  Datatype& of(MPI_Datatype constant) { return core::predefined_type(process_, constant); }
  static const Representation& named(const char* name) { return *find_representation(name); }
  Ref<Datatype> bytes(MPI_Count count) { return TypeBuilder().contiguous(count, of(MPI_BYTE)); }

  Conversions functions() {
    Conversions made;
    made.extent = extent;
    made.read = made.write = convert<int>;
    made.extra = &seen;
    made.handles = &process_.handles;
    made.known_code = [](int code) noexcept { return code == MPI_ERR_IO || code == 20001; };
    return made;
  }

  /// A character has 2 bytes, other types have seen.extent.
  static int extent(MPI_Datatype type, MPI_Aint* found, void* extra) {
    *found = type == MPI_CHAR ? 2 : static_cast<Seen*>(extra)->extent;
    return *found == 77 ? 20001 : MPI_SUCCESS;
  }
  template <class Count>
  static int convert(void* buffer, MPI_Datatype type, Count count, void* file, MPI_Offset position,
                     void* extra) {
    auto& to = *static_cast<Seen*>(extra);
    const Datatype* const found =
        to.handles == nullptr ? nullptr : to.handles->find<Datatype>(type);
    to.calls.push_back(
        {buffer, file, type, count, position, found == nullptr ? -1 : found->size()});
    if (to.throws) throw 42;
    return to.answer;
  }

  core::Process process_;
};

void expect_same(const Datatype& made, const Datatype& expected, const std::string& what) {
  EXPECT_EQ(made.size(), expected.size()) << what;
  EXPECT_EQ(made.lb(), expected.lb()) << what;
  EXPECT_EQ(made.extent(), expected.extent()) << what;
  EXPECT_EQ(made.true_lb(), expected.true_lb()) << what;
  EXPECT_EQ(made.true_extent(), expected.true_extent()) << what;
  if (made.size() != expected.size() || made.size() == 0) return;
  std::vector<iovec> pieces[2] = {std::vector<iovec>(20000), std::vector<iovec>(20000)};
  const Datatype* const types[] = {&made, &expected};
  for (int i = 0; i < 2; ++i) {
    size_t covered = 0;
    pieces[i].resize(types[i]->pieces(reinterpret_cast<void*>(1 << 30), 3, 0, SIZE_MAX,
                                      pieces[i].data(), pieces[i].size(), &covered));
  }
  ASSERT_EQ(pieces[0].size(), pieces[1].size()) << what;
  for (size_t i = 0; i < pieces[0].size(); ++i) {
    EXPECT_EQ(pieces[0][i].iov_base, pieces[1][i].iov_base) << what;
    EXPECT_EQ(pieces[0][i].iov_len, pieces[1][i].iov_len) << what;
  }
}

/// One constructor, with arguments from `random` alone.
Ref<Datatype> wrap(std::mt19937& random, Datatype& old, Datatype& other) {
  const auto upto = [&](unsigned most) { return static_cast<MPI_Count>(random() % (most + 1)); };
  const TypeBuilder build(upto(1) == 1);
  const MPI_Count n = 1 + upto(2);
  Numbers lengths, places, sizes, subsizes, starts;
  for (MPI_Count i = 0; i < n; ++i) {
    lengths.push_back(upto(3));
    places.push_back(upto(6) + i * 8);
    sizes.push_back(1 + upto(3));
    subsizes.push_back(1 + upto(static_cast<unsigned>(sizes.back() - 1)));
    starts.push_back(upto(static_cast<unsigned>(sizes.back() - subsizes.back())));
  }
  const int order = upto(1) == 1 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  const MPI_Count length = 1 + upto(2), stride = upto(9);
  switch (upto(11)) {
    case 0:
      return build.contiguous(upto(3), old);
    case 1:
      return build.vector(n, length, stride, old);
    case 2:
      return build.hvector(n, length, stride * 7, old);
    case 3:
      return build.indexed(n, lengths.data(), places.data(), old);
    case 4:
      return build.hindexed(n, lengths.data(), places.data(), old);
    case 5:
      return build.indexed_block(n, length, places.data(), old);
    case 6:
      return build.hindexed_block(n, length, places.data(), old);
    case 7:
      return build.subarray(static_cast<int>(n), sizes.data(), subsizes.data(), starts.data(),
                            order, old);
    case 8:
      return build.resized(old, upto(8), 5 + upto(200));
    case 9:
      return build.dup(old);
    case 10: {
      std::vector<Datatype*> types(static_cast<size_t>(n), &old);
      types[0] = &other;
      return build.structure(n, lengths.data(), places.data(), types.data());
    }
    default: {
      const std::vector<int> kinds(static_cast<size_t>(n), MPI_DISTRIBUTE_CYCLIC),
          arguments(static_cast<size_t>(n), MPI_DISTRIBUTE_DFLT_DARG),
          grid(static_cast<size_t>(n), 2);
      const int size = 1 << n, rank = static_cast<int>(upto(static_cast<unsigned>(size - 1)));
      return build.darray({size, rank, static_cast<int>(n), sizes.data(), kinds.data(),
                           arguments.data(), grid.data(), order},
                          old);
    }
  }
}

Ref<Datatype> grown(unsigned seed, Ref<Datatype> leaf, Datatype& other) {
  std::mt19937 random(seed);
  for (unsigned depth = 1 + random() % 4; depth > 0 && leaf->size() < 2000; --depth)
    leaf = wrap(random, *leaf, other);
  return leaf;
}

TEST_F(RepresentationTest, DerivedTypesHaveTheSizesOfTheFile) {
  const Ref<Datatype> four = bytes(4), sixteen = bytes(16);
  int with_data = 0;
  for (unsigned seed = 0; seed < 3000 && !HasFailure(); ++seed) {
    const Ref<Datatype> type = grown(seed, Ref<Datatype>(&of(MPI_LONG)), of(MPI_LONG_DOUBLE));
    const Ref<Datatype> expected = grown(seed, four, *sixteen);
    const std::string what = strf("seed %u", seed);
    if (type->size() >= 2000) continue;  // depths differ
    expect_same(*named("external32").in_file(*type), *expected, what);
    EXPECT_EQ(named("external32").bytes_of(*type), expected->size()) << what;
    EXPECT_EQ(named("external32").bytes_of(*type), core::external32_size(*type)) << what;
    with_data += type->size() > 0 ? 1 : 0;
  }
  EXPECT_GT(with_data, 1500);
}

TEST_F(RepresentationTest, PredefinedTypesHaveTheSizesOfTheStandard) {
  const Representation &portable = named("external32"), &internal = named("internal");
  struct Row {
    MPI_Datatype type;
    MPI_Count external32, internal;
  };
  for (const Row& row :
       {Row{MPI_INT, 4, 4}, Row{MPI_LONG, 4, 8}, Row{MPI_UNSIGNED_LONG, 4, 8}, Row{MPI_WCHAR, 2, 4},
        Row{MPI_LONG_DOUBLE, 16, 16}, Row{MPI_C_LONG_DOUBLE_COMPLEX, 32, 32},
        Row{MPI_SHORT_INT, 6, 6}, Row{MPI_LONG_INT, 8, 12}, Row{MPI_DOUBLE_INT, 12, 12},
        Row{MPI_AINT, 8, 8}, Row{MPI_BYTE, 1, 1}, Row{MPIX_BFLOAT16, 2, 2}}) {
    Datatype& type = of(row.type);
    EXPECT_EQ(portable.in_file(type)->extent(), row.external32) << type.name.text();
    EXPECT_EQ(portable.bytes_of(type), row.external32) << type.name.text();
    EXPECT_EQ(internal.in_file(type)->extent(), row.internal) << type.name.text();
    EXPECT_EQ(internal.bytes_of(type), row.internal) << type.name.text();
  }
  const auto real = TypeBuilder::parameterised(MPI_COMBINER_F90_REAL, 15, 307, of(MPI_REAL8));
  EXPECT_EQ(portable.in_file(*TypeBuilder().vector(2, 1, 3, *real))->extent(), 32);
  EXPECT_EQ(portable.in_file(*TypeBuilder::copy(of(MPI_LONG)))->extent(), 4);
}

TEST_F(RepresentationTest, InternalKeepsAllBits) {
  struct Both {
    long number;
    int index;
  };
  const long numbers[] = {1L << 40, -(1L << 41) - 7, 3};
  const Both pairs[] = {{1L << 50, -2}, {-1, 9}};
  const Representation& internal = named("internal");
  std::vector<std::byte> file(64);
  long again[3] = {};
  ASSERT_EQ(internal.to_file(numbers, 0, 3, of(MPI_LONG), file.data()), MPI_SUCCESS);
  const unsigned char big_endian[] = {0, 0, 1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xfd, 0xff};
  EXPECT_EQ(std::memcmp(file.data(), big_endian, sizeof big_endian), 0);
  ASSERT_EQ(internal.from_file(again, 0, 1, of(MPI_LONG), file.data()), MPI_SUCCESS);
  ASSERT_EQ(internal.from_file(again, 1, 2, of(MPI_LONG), file.data() + 8), MPI_SUCCESS);
  EXPECT_EQ(std::memcmp(again, numbers, sizeof numbers), 0);

  Both back[2] = {};
  const auto two = TypeBuilder().vector(2, 1, 1, of(MPI_LONG_INT));
  ASSERT_EQ(internal.bytes_of(*two), 24);
  ASSERT_EQ(internal.to_file(pairs, 0, 1, *two, file.data()), MPI_SUCCESS);
  ASSERT_EQ(internal.from_file(back, 0, 1, *two, file.data()), MPI_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(back[i].number, pairs[i].number);
    EXPECT_EQ(back[i].index, pairs[i].index);
  }
}

TEST_F(RepresentationTest, RegisteredExtentsCount) {
  register_representation("extents", functions());
  const Representation& made = named("extents");
  EXPECT_FALSE(made.native());
  EXPECT_EQ(made.in_file(of(MPI_INT))->extent(), 3);
  const MPI_Count lengths[] = {2, 1}, places[] = {0, 40};
  Datatype* const types[] = {&of(MPI_CHAR), &of(MPI_DOUBLE)};
  const auto both = TypeBuilder().structure(2, lengths, places, types);
  EXPECT_EQ(made.bytes_of(*both), 2 * 2 + 3);
  EXPECT_EQ(made.in_file(*both)->extent(), 43);
  EXPECT_EQ(made.in_file(*TypeBuilder().vector(2, 1, 10, of(MPI_INT)))->extent(), 33);
}

TEST_F(RepresentationTest, IntFunctionsGetSeveralCalls) {
  register_representation("int calls", functions());
  const Representation& made = named("int calls");
  const MPI_Count lengths[] = {1, 2}, places[] = {0, 4};
  Datatype* const types[] = {&of(MPI_CHAR), &of(MPI_INT)};
  const auto three = TypeBuilder().structure(2, lengths, places, types);
  const MPI_Count elements = 800'000'000;
  static std::byte file[8];
  int buffer = 0;
  ASSERT_EQ(made.to_file(&buffer, 5, elements, *three, file), MPI_SUCCESS);
  ASSERT_EQ(seen.calls.size(), 2U);
  EXPECT_EQ(seen.calls[0].buffer, &buffer);
  EXPECT_EQ(seen.calls[0].count, INT_MAX);
  EXPECT_EQ(seen.calls[0].position, 15);
  EXPECT_EQ(seen.calls[0].file, file);
  EXPECT_EQ(seen.calls[1].buffer, &buffer);
  EXPECT_EQ(seen.calls[1].count, 3 * elements - INT_MAX);
  EXPECT_EQ(seen.calls[1].position, 15LL + INT_MAX);
  const MPI_Count whole = INT_MAX / 3;  // elements in the first call, and one item more
  EXPECT_EQ(INT_MAX % 3, 1);
  EXPECT_EQ(static_cast<std::byte*>(seen.calls[1].file) - file, whole * 8 + 2);

  seen.calls.clear();
  const auto huge = TypeBuilder().contiguous(3 * elements, of(MPI_INT));
  ASSERT_EQ(made.from_file(&buffer, 0, 1, *huge, file), MPI_SUCCESS);
  ASSERT_EQ(seen.calls.size(), 2U);
  EXPECT_EQ(static_cast<std::byte*>(seen.calls[1].file) - file, 3LL * INT_MAX);

  seen.calls.clear();
  Conversions large = functions();
  large.read = large.write = nullptr;
  large.read_large = large.write_large = convert<MPI_Count>;
  register_representation("large calls", large);
  ASSERT_EQ(named("large calls").to_file(&buffer, 5, elements, *three, file), MPI_SUCCESS);
  ASSERT_EQ(seen.calls.size(), 1U);
  EXPECT_EQ(seen.calls[0].count, 3 * elements);
  ASSERT_EQ(named("large calls").to_file(&buffer, 0, 0, *three, file), MPI_SUCCESS);
  EXPECT_EQ(seen.calls.size(), 1U);
}

TEST_F(RepresentationTest, FreedTypesHaveAHandleDuringTheCall) {
  seen.handles = &process_.handles;
  register_representation("handles", functions());
  std::byte file[32];
  int buffer[4] = {};
  const auto type = TypeBuilder().contiguous(2, of(MPI_INT));
  ASSERT_EQ(named("handles").to_file(buffer, 0, 1, *type, file), MPI_SUCCESS);
  EXPECT_EQ(seen.calls.at(0).type_size, 8);
  EXPECT_EQ(process_.handles.find<Datatype>(seen.calls[0].type), nullptr);
  process_.handles.insert(*type);
  ASSERT_EQ(named("handles").to_file(buffer, 0, 1, *type, file), MPI_SUCCESS);
  EXPECT_EQ(seen.calls.at(1).type, reinterpret_cast<MPI_Datatype>(type->handle()));
  process_.handles.erase(*type);
}

TEST_F(RepresentationTest, WithoutAFunctionDataIsAsInMemory) {
  Conversions one = functions();
  one.write = nullptr;
  register_representation("reads", one);
  const Representation& reads = named("reads");
  const auto every_second = TypeBuilder().vector(2, 1, 2, of(MPI_INT));
  const int numbers[] = {1, 2, 3, 4, 5, 6};
  int file[2] = {};
  seen.extent = 4;
  ASSERT_EQ(reads.to_file(numbers, 1, 1, *every_second, reinterpret_cast<std::byte*>(file)),
            MPI_SUCCESS);
  EXPECT_EQ(file[0], 4);
  EXPECT_EQ(file[1], 6);
  EXPECT_TRUE(seen.calls.empty());
  seen.extent = 5;
  EXPECT_EQ(reads.to_file(numbers, 0, 1, *every_second, reinterpret_cast<std::byte*>(file)),
            MPI_ERR_CONVERSION);
  EXPECT_NE(take_last_error().text.find("no function for writing"), std::string::npos);

  one.read = nullptr;
  register_representation("as in memory", one);
  EXPECT_TRUE(named("as in memory").native());
  EXPECT_EQ(named("as in memory").bytes_of(of(MPI_INT)), 4);
  EXPECT_EQ(named("as in memory").in_file(of(MPI_INT)).get(), &of(MPI_INT));
}

TEST_F(RepresentationTest, ErrorsOfFunctionsArrive) {
  register_representation("faults", functions());
  const Representation& made = named("faults");
  std::byte file[8];
  int buffer = 0;
  for (const auto& [answer, code] : {std::pair{MPI_ERR_IO, MPI_ERR_IO}, std::pair{20001, 20001},
                                     std::pair{-5, MPI_ERR_CONVERSION}}) {
    seen.answer = answer;
    EXPECT_EQ(made.to_file(&buffer, 0, 1, of(MPI_INT), file), code);
    EXPECT_EQ(take_last_error().text,
              strf("the write function of the data representation \"faults\" returned %d for "
                   "1 items from item 0 on",
                   answer));
    EXPECT_EQ(made.from_file(&buffer, 0, 1, of(MPI_INT), file), code);
  }
  const auto class_of_extent = [&](MPI_Aint extent) {
    seen.extent = extent;
    try {
      return static_cast<int>(made.bytes_of(of(MPI_INT)));
    } catch (const Error& error) {
      return error.mpi_class();
    }
  };
  EXPECT_EQ(class_of_extent(77), 20001);
  EXPECT_EQ(class_of_extent(0), MPI_ERR_CONVERSION);
  EXPECT_EQ(class_of_extent(-1), MPI_ERR_CONVERSION);
  EXPECT_EQ(class_of_extent(9), 9);
}

TEST_F(RepresentationTest, AnExceptionIsKept) {
  register_representation("throws", functions());
  std::byte file[8];
  int buffer = 0;
  seen.throws = true;
  core::current_call = {"MPI_File_write", nullptr};
  EXPECT_EQ(named("throws").to_file(&buffer, 0, 1, of(MPI_INT), file), MPI_ERR_OTHER);
  EXPECT_TRUE(core::keeps_exception_of(take_last_error().text));
  EXPECT_THROW(core::throw_kept_exception(), int);
  core::current_call = {};
}

TEST_F(RepresentationTest, NamesAreChecked) {
  const auto class_of = [&](const std::string& name, const Conversions& conversions) {
    try {
      register_representation(name, conversions);
      return MPI_SUCCESS;
    } catch (const Error& error) {
      return error.mpi_class();
    }
  };
  for (const char* name : {"native", "internal", "external32"})
    EXPECT_EQ(class_of(name, functions()), MPI_ERR_DUP_DATAREP) << name;
  EXPECT_EQ(class_of("", functions()), MPI_ERR_ARG);
  EXPECT_EQ(class_of(std::string(MPI_MAX_DATAREP_STRING, 'x'), functions()), MPI_ERR_ARG);
  EXPECT_EQ(class_of(std::string(MPI_MAX_DATAREP_STRING - 1, 'x'), functions()), MPI_SUCCESS);
  EXPECT_EQ(class_of(std::string(MPI_MAX_DATAREP_STRING - 1, 'x'), functions()),
            MPI_ERR_DUP_DATAREP);
  Conversions without = functions();
  without.extent = nullptr;
  EXPECT_EQ(class_of("without an extent", without), MPI_ERR_ARG);
  EXPECT_EQ(find_representation("without an extent"), nullptr);
}

}  // namespace
}  // namespace tern::io

// SPDX-License-Identifier: Apache-2.0
// Geometry: the slices of every pass partition the buffers exactly, also beyond 32-bit counts.
#include "coll/engine/geometry.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "coll/algorithms/algorithms.hpp"
#include "core/process.hpp"

namespace tern::coll {
namespace {

class GeometryTest : public testing::Test {
 protected:
  GeometryTest() { core::make_predefined_types(process_); }
  ~GeometryTest() override { core::free_predefined_types(process_); }

  [[nodiscard]] Area vector(MPI_Count count) {
    Area area;
    // The test never dereferences the address.
    area.base = reinterpret_cast<std::byte*>(uintptr_t{1} << 40);
    area.type = &core::predefined_type(process_, MPI_DOUBLE);
    area.extent = area.type->extent();
    area.block = count;
    return area;
  }
  static MPI_Count place(const pml::Buffer& buffer) {
    return static_cast<MPI_Count>(reinterpret_cast<uintptr_t>(buffer.address) -
                                  (uintptr_t{1} << 40)) /
           8;
  }
  core::Process process_;
};

TEST_F(GeometryTest, PartsOfAllPassesCoverTheVectorOnce) {
  const Algorithm& ring = *find_algorithm(Collective::kAllreduce, "ring");
  for (const int32_t ranks : {1, 2, 3, 7, 64})
    for (const MPI_Count count : {MPI_Count{0}, MPI_Count{1}, MPI_Count{5}, MPI_Count{100000},
                                  (MPI_Count{1} << 33) + 12345}) {
      const Schedule schedule = build(ring, ranks, 0, 0);
      const Area area = vector(count);
      Geometry geometry;
      const size_t chunk = count > 1000000 ? size_t{1} << 30 : 65536;
      geometry.bind(schedule, area, area, area, chunk);
      MPI_Count next = 0;
      for (MPI_Count pass = 0; pass < geometry.passes(); ++pass)
        for (int32_t part = 0; part < ranks; ++part) {
          const pml::Buffer slice = geometry.at(Builder::output(part), pass, nullptr);
          ASSERT_EQ(slice.count == 0 ? next : place(slice), next);
          EXPECT_LE(slice.bytes(), chunk + 8);
          next += slice.count;
        }
      EXPECT_EQ(next, count) << ranks << " ranks";
    }
}

TEST_F(GeometryTest, ARangeOfPartsIsTheirSum) {
  const Schedule schedule = build(*find_algorithm(Collective::kAllreduce, "rabenseifner"), 8, 3, 0);
  const Area area = vector((MPI_Count{1} << 32) + 3);
  Geometry geometry;
  geometry.bind(schedule, area, area, area, 0);
  EXPECT_EQ(geometry.passes(), 1);
  for (int32_t first = 0; first < 8; ++first)
    for (int32_t blocks = 1; first + blocks <= 8; ++blocks) {
      MPI_Count sum = 0;
      for (int32_t i = 0; i < blocks; ++i)
        sum += geometry.at(Builder::output(first + i), 0, nullptr).count;
      EXPECT_EQ(geometry.at(Builder::output(first, blocks), 0, nullptr).count, sum);
    }
}

TEST_F(GeometryTest, BlocksOfDifferentSizesLieWhereTheCallerSays) {
  const Schedule schedule = build(*find_algorithm(Collective::kAlltoall, "pairwise"), 3, 0, 0);
  const MPI_Count counts[] = {5, MPI_Count{1} << 32, 7};
  const MPI_Aint displs[] = {MPI_Aint{1} << 34, 10, 2};
  Area area = vector(0);
  area.counts = counts;
  area.displs = displs;
  Geometry geometry;
  geometry.bind(schedule, area, area, area, 0);
  for (int32_t i = 0; i < 3; ++i) {
    const pml::Buffer slice = geometry.at(Builder::output(i), 0, nullptr);
    EXPECT_EQ(slice.count, counts[i]);
    EXPECT_EQ(place(slice), displs[i]);
  }
}

TEST_F(GeometryTest, ScratchOfAPassHoldsItsSlotsAndMirrorsApart) {
  const Schedule schedule = build(*find_algorithm(Collective::kReduce, "scatter_gather"), 4, 1, 0);
  const Area area = vector(1001);
  Geometry geometry;
  geometry.bind(schedule, area, area, area, 1024);
  const size_t bytes = geometry.scratch().bytes(schedule);
  auto memory = std::make_unique<std::byte[]>(bytes);
  const std::byte* end = memory.get() + bytes;
  for (MPI_Count pass = 0; pass < geometry.passes(); ++pass) {
    const std::byte* next = memory.get();
    for (int32_t copy = 0; copy < 2; ++copy)
      for (int32_t part = 0; part < 4; ++part) {
        const Slice slice{Space::kMirror, part, 1, part + 4 * copy};
        const pml::Buffer buffer = geometry.at(slice, pass, memory.get());
        const auto* address = static_cast<const std::byte*>(buffer.address);
        EXPECT_GE(address, next);
        next = address + buffer.bytes();
        EXPECT_LE(next, end);
      }
  }
}

}  // namespace
}  // namespace tern::coll

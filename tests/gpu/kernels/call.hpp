// SPDX-License-Identifier: Apache-2.0
// Call: a collective on all ranks of a team, with data, operations and the host's result, reduced
// from the last rank's operand to the first. Lifetime: of a round. Threads: one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coll/engine/operation.hpp"
#include "coll/gpu/push_wires.hpp"
#include "tests/gpu/kernels/ranks.hpp"

namespace tern::kernels_test {

/// Columns of the table of rows and wires. kSimple: schedule programs (tern_interpret).
enum class Column : uint8_t { kLl, kLl128, kBulk, kSimple, kExchange, kMultimem };
inline constexpr int kColumns = 6;
inline constexpr std::array<const char*, kColumns> kColumnNames = {
    "ll", "ll128", "bulk", "simple", "exchange", "multimem"};
/// The wire of a push column; null for the others.
[[nodiscard]] inline const coll::PushFacts* push_of(Column column) noexcept {
  const auto index = static_cast<size_t>(column);
  return index < coll::kPushFacts.size() ? &coll::kPushFacts[index] : nullptr;
}

struct Line {
  coll::Collective what;
  bool irregular;
  const char* row;
  const char* name;
};
inline constexpr std::array<Line, 18> kLines = {{
    {coll::Collective::kBarrier, false, nullptr, "barrier"},
    {coll::Collective::kBcast, false, "linear", "bcast"},
    {coll::Collective::kBcast, false, "scatter_allgather", "bcast in two hops"},
    {coll::Collective::kGather, false, "linear", "gather"},
    {coll::Collective::kScatter, false, "linear", "scatter"},
    {coll::Collective::kAllgather, false, "linear", "allgather"},
    {coll::Collective::kAlltoall, false, "linear", "alltoall"},
    {coll::Collective::kReduce, false, "linear", "reduce"},
    {coll::Collective::kAllreduce, false, "one_shot", "allreduce"},
    {coll::Collective::kAllreduce, false, "two_shot", "allreduce in two hops"},
    {coll::Collective::kReduceScatter, false, "ordered", "reduce_scatter"},
    {coll::Collective::kScan, false, "one_shot", "scan"},
    {coll::Collective::kExscan, false, "one_shot", "exscan"},
    {coll::Collective::kAllgather, true, "linear", "allgatherv"},
    {coll::Collective::kReduceScatter, true, "ordered", "reduce_scatter, blocks differ"},
    {coll::Collective::kGather, true, "linear", "gatherv"},
    {coll::Collective::kScatter, true, "linear", "scatterv"},
    {coll::Collective::kAlltoall, true, "linear", "alltoallv"},
}};

/// Exact kinds give equal bits for any operand order.
struct Kind {
  const char* name;
  MPI_Datatype type;
  MPI_Op op;
  bool exact;
};
[[nodiscard]] const std::vector<Kind>& kinds();

struct Shape {
  int line = 0;
  Column column = Column::kLl;
  const coll::Algorithm* row = nullptr;  // null: exchange
  int kind = 0;
  int64_t count = 0;
  int root = 0;
  bool in_place = false;
  bool pinned_in = false, pinned_out = false;
  int skew = 0;
  uint64_t seed = 0;
  [[nodiscard]] const Line& of() const noexcept { return kLines[static_cast<size_t>(line)]; }
  [[nodiscard]] std::string in_words(int ranks) const;
};

struct Image {
  std::vector<unsigned char> before, wanted;
  std::vector<bool> any;
};
enum Place : uint8_t { kDevice, kPinned };
inline constexpr int kPlaces = 2;
using Images = std::array<Image, kPlaces>;

class Call {
 public:
  Call(Ranks& ranks, const Shape& shape, std::vector<Images>* images);

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] static MPI_Count length(const Shape& shape, int from, int to) noexcept;
  void fill(uint64_t salt, std::vector<Images>* images) const;
  /// The operation is valid during the call's lifetime.
  [[nodiscard]] const coll::Operation& operation(int rank, std::byte* device, std::byte* pinned);
  /// why_not() returns an empty string if the wire can serve the call. Requires operation().
  [[nodiscard]] std::string why_not();
  /// prepare() uploads programs and may wait for the device.
  void prepare();
  /// Around a barrier, each rank writes a word and reads all words.
  void put(int rank);
  void put_operation(Rank& rank);
  /// find() returns an empty string for another call's byte.
  [[nodiscard]] std::string find(int rank, Place place, size_t byte) const;

 private:
  struct Buffer {
    bool exists = false, several = false;
    Place place = kDevice;
    size_t at = 0, bytes = 0;
    size_t first = 0;
    std::vector<MPI_Count> lengths;
    std::vector<MPI_Aint> places;
  };
  struct Side {
    Buffer in, out;
    coll::Operation operation{};
    std::byte* pinned = nullptr;
  };
  using Bytes = std::vector<unsigned char>;

  void describe(int rank);
  void put_barrier(Rank& rank);
  [[nodiscard]] uint32_t ticket() const noexcept { return static_cast<uint32_t>(shape_.seed) | 1; }
  [[nodiscard]] Bytes tickets(size_t count) const;
  void reserve(Buffer* buffer, Images* images) const;
  [[nodiscard]] Buffer buffer(std::vector<MPI_Count> lengths, bool several, bool pinned) const;
  [[nodiscard]] MPI_Count length(int from, int to) const noexcept {
    return length(shape_, from, to);
  }
  [[nodiscard]] Bytes data_of(int rank, uint64_t salt) const;
  [[nodiscard]] Bytes block_of(const Bytes& data, int rank, int block) const;
  [[nodiscard]] Bytes reduced(const std::vector<Bytes>& all, int last) const;
  void write(const Buffer& buffer, size_t block, const Bytes& bytes,
             std::vector<unsigned char>* to) const;
  void fill_wanted(int rank, const std::vector<Bytes>& all, Images* images) const;
  [[nodiscard]] coll::Side side_of(const Buffer& buffer, std::byte* const (&bases)[2]) const;
  [[nodiscard]] size_t element() const noexcept;
  [[nodiscard]] int ranks() const noexcept { return team_.count(); }
  [[nodiscard]] const coll::Placed* placed(int rank, std::string* why);

  Ranks& team_;
  Shape shape_;
  core::Datatype* type_;
  core::Op* op_;
  std::vector<Side> sides_;
};

}  // namespace tern::kernels_test

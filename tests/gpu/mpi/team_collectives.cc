// SPDX-License-Identifier: Apache-2.0
// Ordinary blocking collectives on devices: all sizes, in place, all roots, device data on some
// ranks or in some calls only, types and operations without kernels, more communicators than
// scratch regions.
// ranks: 2 3
// configurations: 1 4-peers 2-apart mps jitter queue-peers
// timeout: 120
// variant: small
//   Sums in small allocations of one block. The driver opens each allocation.
//   ranks: 3
//   configurations: 4-peers
//   env: SOFTCUDA_REOPEN=itself
#include "allocators.hpp"

using namespace tern::test;

namespace {

enum class Where { kNone, kAll, kFirst, kLast, kInputs };
constexpr Where kWheres[] = {Where::kAll, Where::kFirst, Where::kLast, Where::kInputs,
                             Where::kNone};
bool on_device(Where where, bool input) {
  switch (where) {
    case Where::kAll:
      return true;
    case Where::kFirst:
      return rank == 0;
    case Where::kLast:
      return rank == size - 1;
    case Where::kInputs:
      return input;
    default:
      return false;
  }
}

struct Case {
  Where where;
  int count;
  bool in_place;
  int root;
};

std::vector<int> numbers(size_t count, unsigned seed) {
  std::vector<int> made(count);
  for (size_t i = 0; i < count; ++i)
    made[i] = static_cast<int>((i * 31 + seed * 1009 + static_cast<unsigned>(rank) * 77) % 1000);
  return made;
}

class Buffer {
 public:
  Buffer(const Case& the, bool input, size_t ints)
      : numbers_(numbers(ints, input ? 1 : 2)),
        area_(on_device(the.where, input) ? plain(bytes()) : plain_host(bytes())) {
    area_.put(numbers_.data(), ints * sizeof(int));
  }
  [[nodiscard]] int* there() const { return static_cast<int*>(area_.address()); }
  [[nodiscard]] int* here() { return numbers_.data(); }
  void check(const char* name, const Case& the) {
    std::vector<int> found(numbers_.size());
    area_.get(found.data(), found.size() * sizeof(int));
    for (size_t i = 0; i < found.size(); ++i)
      if (found[i] != numbers_[i])
        FAIL("MPI_%s, count %d, in place %d, root %d, where %d: int %zu is %d, expected %d", name,
             the.count, the.in_place, the.root, static_cast<int>(the.where), i, found[i],
             numbers_[i]);
  }

 private:
  [[nodiscard]] size_t bytes() const { return std::max<size_t>(1, numbers_.size()) * sizeof(int); }
  std::vector<int> numbers_;
  Area area_;
};

MPI_Comm comm = MPI_COMM_NULL;

template <class Call>
void compare(const char* name, const Case& the, int send_ints, int recv_ints, Call&& call) {
  Buffer send(the, true, static_cast<size_t>(send_ints));
  Buffer recv(the, false, static_cast<size_t>(recv_ints));
  OK(call(static_cast<const int*>(send.here()), recv.here()));
  OK(call(static_cast<const int*>(send.there()), recv.there()));
  recv.check(name, the);
  send.check(name, the);
}

#define COMPARE(the, name, send_ints, recv_ints, ...)                         \
  compare(#name, the, send_ints, recv_ints, [&](const int* send, int* recv) { \
    (void)send;                                                               \
    return MPI_##name(__VA_ARGS__);                                           \
  })

void all_to_all(const Case& the) {
  const int n = the.count, all = n * size;
  const auto input = [&](const int* send) { return the.in_place ? MPI_IN_PLACE : send; };
  COMPARE(the, Allreduce, n, n, input(send), recv, n, MPI_INT, MPI_SUM, comm);
  COMPARE(the, Allreduce, n, n, input(send), recv, n, MPI_INT, MPI_MAX, comm);
  COMPARE(the, Allgather, n, all, input(send), n, MPI_INT, recv, n, MPI_INT, comm);
  COMPARE(the, Alltoall, all, all, input(send), n, MPI_INT, recv, n, MPI_INT, comm);
  COMPARE(the, Reduce_scatter_block, all, the.in_place ? all : n, input(send), recv, n, MPI_INT,
          MPI_SUM, comm);
  std::vector<int> counts(static_cast<size_t>(size), n);
  for (int i = 0; i < size; i += 2) counts[static_cast<size_t>(i)] = n / 2;
  int sum = 0;
  for (const int one : counts) sum += one;
  COMPARE(the, Reduce_scatter, sum, the.in_place ? sum : counts[static_cast<size_t>(rank)],
          input(send), recv, counts.data(), MPI_INT, MPI_BXOR, comm);
}

void from_and_to_roots(const Case& the) {
  const int n = the.count, all = n * size;
  const bool at_root = the.in_place && rank == the.root;
  COMPARE(the, Bcast, 0, n, recv, n, MPI_INT, the.root, comm);
  COMPARE(the, Reduce, n, n, at_root ? MPI_IN_PLACE : send, recv, n, MPI_INT, MPI_SUM, the.root,
          comm);
  COMPARE(the, Gather, n, all, at_root ? MPI_IN_PLACE : send, n, MPI_INT, recv, n, MPI_INT,
          the.root, comm);
  COMPARE(the, Scatter, all, n, send, n, MPI_INT, at_root ? MPI_IN_PLACE : recv, n, MPI_INT,
          the.root, comm);
}

void add(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void without_kernels(const Case& the) {
  const int n = the.count, all = n * size;
  MPI_Op own = MPI_OP_NULL;
  OK(MPI_Op_create(add, 1, &own));
  COMPARE(the, Allreduce, n, n, send, recv, n, MPI_INT, own, comm);
  OK(MPI_Op_free(&own));
  MPI_Datatype every_other = MPI_DATATYPE_NULL;
  OK(MPI_Type_vector(n, 1, 2, MPI_INT, &every_other));
  OK(MPI_Type_commit(&every_other));
  COMPARE(the, Allgather, 2 * n, all, send, 1, every_other, recv, n, MPI_INT, comm);
  OK(MPI_Type_free(&every_other));
}

void all_sizes() {
  for (const int count : {1, 0, 257, 5000, 100003, 300000})
    for (const Where where : kWheres)
      for (const bool in_place : {false, true}) {
        if (count > 50000 && where != Where::kAll) continue;
        const Case the{where, count, in_place, count % size};
        all_to_all(the);
        from_and_to_roots(the);
        if (count > 0 && count < 20000 && !in_place) without_kernels(the);
      }
}

bool opens_each() {
  const char* const answer = std::getenv("SOFTCUDA_REOPEN");
  return answer != nullptr && std::strcmp(answer, "itself") == 0;
}

/// Host and device give equal bits, except by message schedules: drivers may refuse small
/// allocations of an open block.
void same_bits() {
  const size_t alone = opens_each() ? 1 : 2 << 20;
  int reach = 1;
  if (devices > 1) CU(cuDeviceCanAccessPeer(&reach, 0, 1));
  if (reach == 0) return;
  for (const int n : {1, 700, 8000, 30000, 60000, 200000}) {
    const size_t bytes = static_cast<size_t>(n) * sizeof(float);
    std::vector<float> mine(static_cast<size_t>(n)), here(mine.size()), there(mine.size());
    for (int i = 0; i < n; ++i)
      mine[static_cast<size_t>(i)] =
          (i % 2 == 0 ? 1e5F : 1e-3F) / static_cast<float>(1 + (i * 37 + rank * 1001) % 9973);
    const Area area = plain(std::max(bytes, alone));
    OK(MPI_Allreduce(mine.data(), here.data(), n, MPI_FLOAT, MPI_SUM, comm));
    area.put(mine.data(), bytes);
    OK(MPI_Allreduce(MPI_IN_PLACE, area.address(), n, MPI_FLOAT, MPI_SUM, comm));
    area.get(there.data(), bytes);
    if (std::memcmp(here.data(), there.data(), bytes) != 0)
      FAIL("the sums of %d numbers of device memory have other bits than the host's", n);
    OK(MPI_Reduce(mine.data(), here.data(), n, MPI_FLOAT, MPI_SUM, 0, comm));
    area.put(mine.data(), bytes);
    OK(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : area.address(), area.address(), n, MPI_FLOAT, MPI_SUM,
                  0, comm));
    area.get(there.data(), bytes);
    if (rank == 0 && std::memcmp(here.data(), there.data(), bytes) != 0)
      FAIL("the sums at rank 0 of %d numbers of device memory have other bits than the host's", n);
    const int each = n / size;
    OK(MPI_Reduce_scatter_block(mine.data(), here.data(), each, MPI_FLOAT, MPI_SUM, comm));
    area.put(mine.data(), bytes);
    OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, area.address(), each, MPI_FLOAT, MPI_SUM, comm));
    area.get(there.data(), bytes);
    if (std::memcmp(here.data(), there.data(), static_cast<size_t>(each) * sizeof(float)) != 0)
      FAIL("the sums of blocks of %d numbers of device memory have other bits than the host's",
           each);
  }
}

/// A freed communicator passes its team on.
void many_communicators() {
  std::vector<MPI_Comm> all(12);
  for (MPI_Comm& one : all) OK(MPI_Comm_dup(MPI_COMM_WORLD, &one));
  for (int round = 0; round < 2; ++round)
    for (const MPI_Comm one : all) {
      comm = one;
      all_to_all({Where::kAll, 100, round == 1, 0});
    }
  for (MPI_Comm& one : all) OK(MPI_Comm_free(&one));
  for (int i = 0; i < 20; ++i) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    all_to_all({Where::kAll, 100, false, 0});
    OK(MPI_Comm_free(&comm));
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  comm = MPI_COMM_WORLD;
  int one = 1, sum = 0;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  start_cuda();
  if (opens_each()) return same_bits(), end();
  all_sizes();
  same_bits();
  many_communicators();
  return end();
}

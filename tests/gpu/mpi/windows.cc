// SPDX-License-Identifier: Apache-2.0
// Windows and origins on memory of every kind: blocks, holes, accumulates with and without kernels,
// counters, swaps. Dynamic windows refuse device memory.
// ranks: 2 3
// configurations: 1 4-peers 2-apart jitter
#include "memory.hpp"

using namespace tern::test;

namespace {

constexpr int kInts = 50000;
MPI_Datatype columns;

struct Window {
  Area area;
  MPI_Win win = MPI_WIN_NULL;
  explicit Window(Kind kind) : area(kind, sizeof(int) * kInts) {
    const std::vector<int> zeros(kInts);
    area.put(zeros.data(), sizeof(int) * kInts);
    OK(MPI_Win_create(area.address(), sizeof(int) * kInts, sizeof(int), MPI_INFO_NULL,
                      MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  }
  ~Window() { OK(MPI_Win_free(&win)); }
  [[nodiscard]] std::vector<int> ints() const {
    std::vector<int> data(kInts);
    area.get(data.data(), sizeof(int) * kInts);
    return data;
  }
};

std::vector<int> numbers(int from) {
  std::vector<int> all(kInts);
  for (int i = 0; i < kInts; ++i) all[static_cast<size_t>(i)] = from + i;
  return all;
}

Area filled(Kind kind, const std::vector<int>& data) {
  Area area(kind, data.size() * sizeof(int));
  area.put(data.data(), data.size() * sizeof(int));
  return area;
}

std::vector<int> ints_of(const Area& area, int count) {
  std::vector<int> data(static_cast<size_t>(count));
  area.get(data.data(), sizeof(int) * static_cast<size_t>(count));
  return data;
}

void blocks(const Window& window, Kind origin, int target) {
  const auto sent = numbers(1000 * rank);
  const Area from = filled(origin, sent), to = filled(origin, numbers(-kInts));
  for (const int count : {1, 5, 700, kInts}) {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win));
    OK(MPI_Put(from.address(), count, MPI_INT, target, kInts - count, count, MPI_INT, window.win));
    OK(MPI_Win_flush(target, window.win));
    OK(MPI_Get(to.address(), count, MPI_INT, target, kInts - count, count, MPI_INT, window.win));
    OK(MPI_Win_unlock(target, window.win));
    const auto got = ints_of(to, count);
    CHECK(std::equal(got.begin(), got.end(), sent.begin()));
  }
}

void holes(const Window& window, Kind origin, int target) {
  constexpr int kColumns = 300;
  const auto sent = numbers(7 * rank);
  const Area from = filled(origin, sent), to = filled(origin, numbers(0));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win));
  OK(MPI_Put(from.address(), kColumns, columns, target, 2, kColumns, columns, window.win));
  OK(MPI_Win_flush(target, window.win));
  OK(MPI_Get(to.address(), 4 * kColumns, MPI_INT, target, 2, kColumns, columns, window.win));
  OK(MPI_Win_unlock(target, window.win));
  const auto got = ints_of(to, 4 * kColumns);
  for (int i = 0; i < 4 * kColumns; ++i)
    CHECK_EQ(got[static_cast<size_t>(i)], sent[static_cast<size_t>(i / 4 * 6 + i % 4)]);
}

void accumulates(const Window& window, Kind origin, int target) {
  const auto added = numbers(3);
  const Area from = filled(origin, added), old = filled(origin, added);
  const std::vector<int> zeros(kInts);
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win));
  OK(MPI_Put(zeros.data(), kInts, MPI_INT, target, 0, kInts, MPI_INT, window.win));
  OK(MPI_Win_flush(target, window.win));
  OK(MPI_Accumulate(from.address(), kInts, MPI_INT, target, 0, kInts, MPI_INT, MPI_SUM,
                    window.win));
  OK(MPI_Get_accumulate(from.address(), kInts, MPI_INT, old.address(), kInts, MPI_INT, target, 0,
                        kInts, MPI_INT, MPI_SUM, window.win));
  OK(MPI_Win_flush(target, window.win));
  CHECK(ints_of(old, kInts) == added);
  OK(MPI_Get_accumulate(nullptr, 0, MPI_INT, old.address(), kInts, MPI_INT, target, 0, kInts,
                        MPI_INT, MPI_NO_OP, window.win));
  OK(MPI_Win_unlock(target, window.win));
  const auto got = ints_of(old, kInts);
  for (int i = 0; i < kInts; ++i)
    CHECK_EQ(got[static_cast<size_t>(i)], 2 * added[static_cast<size_t>(i)]);
}

void pairs(const Window& window, int target) {
  struct Pair {
    double value;
    int index;
  };
  Pair mine[4] = {{1, rank}, {2, rank}, {3, rank}, {4, rank}}, got[4] = {};
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win));
  OK(MPI_Accumulate(mine, 4, MPI_DOUBLE_INT, target, 0, 4, MPI_DOUBLE_INT, MPI_REPLACE,
                    window.win));
  mine[2].value = 9;
  OK(MPI_Accumulate(mine, 4, MPI_DOUBLE_INT, target, 0, 4, MPI_DOUBLE_INT, MPI_MAXLOC, window.win));
  OK(MPI_Win_flush(target, window.win));
  OK(MPI_Get(got, 4, MPI_DOUBLE_INT, target, 0, 4, MPI_DOUBLE_INT, window.win));
  OK(MPI_Win_unlock(target, window.win));
  for (int i = 0; i < 4; ++i) {
    CHECK_EQ(static_cast<int>(got[i].value), i == 2 ? 9 : i + 1);
    CHECK_EQ(got[i].index, rank);
  }
}

void counters(const Window& window) {
  const int one = 1, zero = 0;
  int drawn = -1;
  OK(MPI_Win_fence(0, window.win));
  if (rank == 0) OK(MPI_Put(&zero, 1, MPI_INT, 0, 100, 1, MPI_INT, window.win));
  OK(MPI_Win_fence(0, window.win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
  OK(MPI_Win_lock_all(0, window.win));
  for (int i = 0; i < 20; ++i) {
    OK(MPI_Fetch_and_op(&one, &drawn, MPI_INT, 0, 100, MPI_SUM, window.win));
    OK(MPI_Win_flush(0, window.win));
    CHECK(drawn >= i && drawn < 20 * size);
  }
  OK(MPI_Win_flush_all(window.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int all = 20 * size, next = 7;
  int old = -1;
  if (rank == size - 1) {
    OK(MPI_Compare_and_swap(&next, &all, &old, MPI_INT, 0, 100, window.win));
    OK(MPI_Win_flush(0, window.win));
    CHECK_EQ(old, all);
    OK(MPI_Compare_and_swap(&zero, &all, &old, MPI_INT, 0, 100, window.win));
    OK(MPI_Win_flush(0, window.win));
    CHECK_EQ(old, next);
  }
  OK(MPI_Win_unlock_all(window.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) CHECK_EQ(window.ints()[100], next);
}

void attributes(const Window& window, bool on_device) {
  void* base = nullptr;
  int *model = nullptr, found = 0;
  OK(MPI_Win_get_attr(window.win, MPI_WIN_BASE, &base, &found));
  CHECK(found && base == window.area.address());
  OK(MPI_Win_get_attr(window.win, MPI_WIN_MODEL, &model, &found));
  CHECK_EQ(*model, on_device ? MPI_WIN_SEPARATE : MPI_WIN_UNIFIED);
}

void dynamic_refuses() {
  MPI_Win win = MPI_WIN_NULL;
  const Area area(Kind::kDevice, 64);
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  FAILS(MPI_Win_attach(win, area.address(), 64), MPI_ERR_UNSUPPORTED_OPERATION);
  OK(MPI_Win_free(&win));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  OK(MPI_Type_vector(1, 4, 6, MPI_INT, &columns));
  MPI_Datatype spaced = MPI_DATATYPE_NULL;
  OK(MPI_Type_create_resized(columns, 0, 6 * sizeof(int), &spaced));
  OK(MPI_Type_free(&columns));
  columns = spaced;
  OK(MPI_Type_commit(&columns));
  for (const Kind kind : {Kind::kDevice, Kind::kPool, Kind::kPinned}) {
    const Window window(rank % 2 == 0 ? kind : Kind::kHost);
    attributes(window, rank % 2 == 0 && kind != Kind::kPinned);
    for (const Kind origin : {Kind::kHost, Kind::kDevice})
      for (const int target : {(rank + 1) % size, rank}) {
        blocks(window, origin, target);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        holes(window, origin, target);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        accumulates(window, origin, target);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        pairs(window, target);
        OK(MPI_Barrier(MPI_COMM_WORLD));
      }
    counters(window);
  }
  dynamic_refuses();
  OK(MPI_Type_free(&columns));
  return end();
}

// SPDX-License-Identifier: Apache-2.0
// Windows of all kinds, and epochs with one possible outcome.
#include <algorithm>
#include <cstring>

#include "buffer.hpp"
#include "peer.hpp"
#include "step.hpp"

namespace {

constexpr int kSlot = 4096;

struct Window {
  MPI_Win win = MPI_WIN_NULL;
  unsigned char* memory = nullptr;
  std::vector<unsigned char> own;
  MPI_Aint base = 0;  // displacement of the first byte, if addresses are used
  std::vector<MPI_Aint> bases;
  int unit = 1;
  bool dynamic = false;
};

void make(Step& step, Window& w) {
  const int way = step.all.below(4);
  const MPI_Aint bytes = static_cast<MPI_Aint>(kSlot) * (step.size + 1);
  w.unit = way == 3 ? 1 : step.all.pick({1, 4, 16});
  step.say("window by way %d, unit %d", way, w.unit);
  if (way == 0) {
    step.ok(MPI_Win_allocate(bytes, w.unit, MPI_INFO_NULL, step.comm, &w.memory, &w.win),
            "MPI_Win_allocate");
  } else if (way == 1) {
    w.own.resize(static_cast<size_t>(bytes));
    w.memory = w.own.data();
    step.ok(MPI_Win_create(w.memory, bytes, w.unit, MPI_INFO_NULL, step.comm, &w.win),
            "MPI_Win_create");
  } else if (way == 2) {
    step.ok(MPI_Win_allocate_shared(bytes, w.unit, MPI_INFO_NULL, step.comm, &w.memory, &w.win),
            "MPI_Win_allocate_shared");
  } else {
    w.own.resize(static_cast<size_t>(bytes));
    w.memory = w.own.data();
    step.ok(MPI_Win_create_dynamic(MPI_INFO_NULL, step.comm, &w.win), "MPI_Win_create_dynamic");
    step.ok(MPI_Win_attach(w.win, w.memory, bytes), "MPI_Win_attach");
    MPI_Get_address(w.memory, &w.base);
    w.dynamic = true;
  }
  w.bases.resize(static_cast<size_t>(step.size));
  MPI_Allgather(&w.base, 1, MPI_AINT, w.bases.data(), 1, MPI_AINT, step.comm);
  Random random(step.mine.next());
  for (MPI_Aint i = 0; i < bytes; ++i) w.memory[i] = static_cast<unsigned char>(random.below(4));
  const std::vector<double> real(8, 0.25);
  std::memcpy(w.memory + 64, real.data(), 8 * sizeof(double));
}

MPI_Aint place(const Window& w, int target, MPI_Aint byte) {
  return w.bases[static_cast<size_t>(target)] + byte / w.unit;
}

struct Access {
  std::vector<unsigned char> out, in, compare;
  Layout layout;
  size_t seen = 0;
};

enum class Ways { fence, post, lock, lock_all };

struct Task {
  int kind = 0;
  int target = 0, count = 0, target_count = 0;
  MPI_Aint at = 0;
  const Basic* basic = nullptr;
  MPI_Datatype target_type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
};
constexpr const char* kKinds[] = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};

size_t perform(Step& step, const Window& w, const Task& t, Access& a) {
  const MPI_Datatype type = t.basic->type;
  const auto bytes = static_cast<size_t>(t.count * t.basic->extent);
  switch (t.kind) {
    case 0:
      step.ok(MPI_Put(a.out.data(), t.count, type, t.target, t.at, t.target_count, t.target_type,
                      w.win),
              "MPI_Put");
      return 0;
    case 1:
      step.ok(
          MPI_Get(a.in.data(), t.count, type, t.target, t.at, t.target_count, t.target_type, w.win),
          "MPI_Get");
      return bytes;
    case 2:
      step.ok(MPI_Accumulate(a.out.data(), t.count, type, t.target, t.at, t.target_count,
                             t.target_type, t.op, w.win),
              "MPI_Accumulate");
      return 0;
    case 3:
      step.ok(MPI_Get_accumulate(a.out.data(), t.count, type, a.in.data(), t.count, type, t.target,
                                 t.at, t.target_count, t.target_type, t.op, w.win),
              "MPI_Get_accumulate");
      return bytes;
    case 4:
      step.ok(MPI_Fetch_and_op(a.out.data(), a.in.data(), type, t.target, t.at, t.op, w.win),
              "MPI_Fetch_and_op");
      return static_cast<size_t>(t.basic->extent);
    default:
      step.ok(MPI_Compare_and_swap(a.out.data(), a.compare.data(), a.in.data(), MPI_INT, t.target,
                                   t.at, w.win),
              "MPI_Compare_and_swap");
      return sizeof(int);
  }
}

void access(Step& step, const Window& w, int target, Access& a) {
  Task t;
  t.kind = step.mine.below(6);
  t.target = target;
  const MPI_Aint slot = static_cast<MPI_Aint>(kSlot) * (step.rank + 1);
  const Reduction reduction = any_accumulate(step.mine);
  const Basic& basic = basics()[static_cast<size_t>(reduction.basic)];
  t.basic = &basic;
  const int most = kSlot / 2 / basic.extent;
  t.count = step.mine.one_in(8) ? 0 : step.mine.between(1, step.mine.one_in(3) ? most : 8);
  t.at = place(w, target, slot + 16 * step.mine.below(kSlot / 64));
  a.out.resize(static_cast<size_t>(t.count * basic.extent) + 32);
  a.in.resize(a.out.size());
  a.compare.resize(32);
  for (size_t i = 0; i < static_cast<size_t>(t.count + 1); ++i) {
    set_value(basic, &a.out[i * static_cast<size_t>(basic.extent)], step.mine, Values::sums);
  }
  // The target uses a derived type with equally many elements, inside the slot.
  a.layout = predefined(reduction.basic);
  t.target_count = t.count;
  t.target_type = basic.type;
  if (t.count > 0 && t.count <= 16 && step.mine.one_in(3)) {
    MPI_Datatype type;
    MPI_Type_vector(t.count, 1, 2, basic.type, &type);
    MPI_Type_commit(&type);
    a.layout = derived(type, predefined(reduction.basic), {0}, "every second");
    t.target_type = type, t.target_count = 1;
  }
  t.op = reduction.op;
  const char* name = reduction.name;
  if (step.mine.one_in(4)) {
    t.op = t.kind == 3 ? MPI_NO_OP : MPI_REPLACE;
    name = t.kind == 3 ? "MPI_NO_OP" : "MPI_REPLACE";
  }
  const bool small =
      (basic.kind == Kind::natural || basic.kind == Kind::integer) && basic.extent <= 2;
  const bool without_sign = basic.kind == Kind::address || basic.kind == Kind::natural;
  const bool simple = (t.op == MPI_SUM && !small) || t.op == MPI_REPLACE || t.op == MPI_NO_OP ||
                      ((t.op == MPI_MIN || t.op == MPI_MAX) && !without_sign);
  if (t.kind >= 2 && t.kind <= 4 && !simple && peer::kFewAccumulates) step.skip(name);
  step.say("%s of %d %s (%s) at target %d, displacement %ld%s", kKinds[t.kind], t.count, basic.name,
           name, target, static_cast<long>(t.at - w.bases[static_cast<size_t>(target)]),
           t.target_type == basic.type ? "" : ", strided");
  a.seen = perform(step, w, t, a);
}

// All origins add to the same numbers: integers, and real numbers with exact sums.
void add_to_all(Step& step, const Window& w, std::vector<int64_t>& mine,
                std::vector<double>& real) {
  mine.assign(8, step.rank + 1);
  real.assign(8, step.rank + 0.5);
  for (int target = 0; target < step.size; ++target) {
    step.ok(MPI_Accumulate(mine.data(), 8, MPI_INT64_T, target, place(w, target, 0), 8, MPI_INT64_T,
                           MPI_SUM, w.win),
            "MPI_Accumulate");
    step.ok(MPI_Accumulate(real.data(), 8, MPI_DOUBLE, target, place(w, target, 64), 8, MPI_DOUBLE,
                           MPI_SUM, w.win),
            "MPI_Accumulate");
  }
}

void epoch(Step& step, const Window& w) {
  const Ways ways = static_cast<Ways>(step.all.below(4));
  step.say("epoch by way %d", static_cast<int>(ways));
  Access a;
  std::vector<int64_t> mine;
  std::vector<double> real;
  // One access per target and epoch keeps accesses independent.
  std::vector<int> targets;
  for (int i = 0; i < step.size; ++i) targets.push_back((step.rank + i) % step.size);
  step.mine.shuffle(targets);
  targets.resize(static_cast<size_t>(step.mine.between(1, step.size)));
  std::vector<Access> accesses(targets.size());
  const auto all = [&](bool locks) {
    for (size_t i = 0; i < targets.size(); ++i) {
      if (locks) {
        step.ok(MPI_Win_lock(step.mine.one_in(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, targets[i],
                             0, w.win),
                "MPI_Win_lock");
      }
      access(step, w, targets[i], accesses[i]);
      if (locks && step.mine.one_in(3)) MPI_Win_flush(targets[i], w.win);
      if (locks) step.ok(MPI_Win_unlock(targets[i], w.win), "MPI_Win_unlock");
    }
  };
  if (ways == Ways::fence) {
    step.ok(MPI_Win_fence(0, w.win), "MPI_Win_fence");
    add_to_all(step, w, mine, real);
    all(false);
    step.ok(MPI_Win_fence(0, w.win), "MPI_Win_fence");
  } else if (ways == Ways::post) {
    MPI_Group group;
    MPI_Comm_group(step.comm, &group);
    step.ok(MPI_Win_post(group, 0, w.win), "MPI_Win_post");
    step.ok(MPI_Win_start(group, 0, w.win), "MPI_Win_start");
    add_to_all(step, w, mine, real);
    all(false);
    step.ok(MPI_Win_complete(w.win), "MPI_Win_complete");
    step.ok(MPI_Win_wait(w.win), "MPI_Win_wait");
    MPI_Group_free(&group);
  } else if (ways == Ways::lock) {
    MPI_Barrier(step.comm);
    all(true);
    MPI_Barrier(step.comm);
  } else {
    MPI_Barrier(step.comm);
    step.ok(MPI_Win_lock_all(0, w.win), "MPI_Win_lock_all");
    add_to_all(step, w, mine, real);
    all(false);
    step.ok(step.mine.one_in(2) ? MPI_Win_flush_all(w.win) : MPI_SUCCESS, "MPI_Win_flush_all");
    step.ok(MPI_Win_unlock_all(w.win), "MPI_Win_unlock_all");
    MPI_Barrier(step.comm);
  }
  for (Access& one : accesses) step.see("fetched", one.in.data(), one.seen);
}

void windows(Step& step) {
  Window w;
  make(step, w);
  if (w.win == MPI_WIN_NULL) return;
  MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
  MPI_Barrier(step.comm);
  const int epochs = step.all.between(1, 4);
  for (int i = 0; i < epochs; ++i) {
    epoch(step, w);
    // A lock of this rank's memory precedes the read.
    MPI_Barrier(step.comm);
    step.ok(MPI_Win_lock(MPI_LOCK_SHARED, step.rank, 0, w.win), "MPI_Win_lock");
    step.see("window", w.memory, static_cast<size_t>(kSlot) * static_cast<size_t>(step.size + 1));
    step.ok(MPI_Win_unlock(step.rank, w.win), "MPI_Win_unlock");
    MPI_Barrier(step.comm);
  }
  if (w.dynamic) MPI_Win_detach(w.win, w.memory);
  step.ok(MPI_Win_free(&w.win), "MPI_Win_free");
}

}  // namespace

const Operation kWindows[] = {{"windows", windows, 6}, {}};

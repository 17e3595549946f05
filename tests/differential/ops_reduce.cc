// SPDX-License-Identifier: Apache-2.0
// Reductions: predefined operations by type, user-defined operations.
#include <algorithm>
#include <cfloat>
#include <cstring>

#include "coll.hpp"
#include "peer.hpp"

Reducing::Reducing(Step& step, Call& call) {
  call.values = Values::sums;
  call.reduces = true;
  if (step.all.one_in(4)) {
    UserOperation user = any_user_operation(step.all);
    op = user.op;
    call.ops.push_back(op);
    user_ = std::move(user.layout);
    signature = {{0, 16}};
    step.say("operation: user's, %s", user.name);
    if (user.wide && peer::kTooLittleRoom) step.skip("items with gaps behind them");
    return;
  }
  const Reduction found = any_reduction(step.all);
  if (compares_addresses(found) && peer::kAddressesWithoutSign) step.skip("signs of addresses");
  op = found.op;
  basic = found.basic;
  signature = {{basic, 1}};
  rounded = found.rounds && basics()[static_cast<size_t>(basic)].extent <= 8 && step.all.one_in(3);
  if (rounded) call.values = Values::real;
  step.say("operation: %s of %s%s", found.name, basics()[static_cast<size_t>(basic)].name,
           rounded ? ", rounded" : "");
}

Layout Reducing::layout() {
  if (basic >= 0) return predefined(basic);
  Layout copy;
  copy.map = user_.map;
  copy.text = user_.text;
  copy.named = false;
  MPI_Type_dup(user_.type, &copy.type);
  copy.extent = user_.extent;
  return copy;
}

void look_at_reals(Call& call, int basic, int ranks) {
  call.look = [&call, basic, ranks](Step& step) {
    const bool single = basics()[static_cast<size_t>(basic)].extent == 4;
    const double bound = (single ? FLT_EPSILON : DBL_EPSILON) * 1e6 / 7 * ranks * ranks;
    for (Buffer& buffer : call.buffers) {
      for (MPI_Aint i = 0; i < std::min<MPI_Aint>(buffer.places, 8); ++i) {
        double value;
        float narrow;
        if (single) std::memcpy(&narrow, buffer.at(i), sizeof narrow), value = narrow;
        if (!single) std::memcpy(&value, buffer.at(i), sizeof value);
        step.near(call.name, value, bound);
      }
    }
  };
}

namespace {

struct Sides {
  const void* from = MPI_IN_PLACE;
  void* to = nullptr;
};

Sides sides(Step& step, Call& call, Reducing& r, bool in_place, bool receives, int sent,
            int received) {
  Sides made;
  if (!in_place) made.from = call.add(step, "send", r.layout(), sent, sent).at();
  const int room = in_place ? std::max(sent, received) : received;
  if (receives) made.to = call.add(step, "receive", r.layout(), room, room).at();
  if (r.rounded) look_at_reals(call, r.basic, step.size);
  return made;
}

MPI_Datatype type_of(const Call& call) { return call.buffers.front().type(); }

}  // namespace

void reduce(Step& step, Call& call) {
  Reducing r(step, call);
  const int n = any_count(step.all, r.signature, 1), root = step.all.below(step.size);
  const bool is_root = root == step.rank;
  const Sides s = sides(step, call, r, is_root && step.mine.one_in(3), is_root, n, n);
  step.say("root %d", root);
  THREE_FORMS(call, Reduce, reduce, s.from, s.to, n, type_of(call), r.op, root, step.comm);
}

void allreduce(Step& step, Call& call) {
  Reducing r(step, call);
  const int n = any_count(step.all, r.signature, 1);
  const Sides s = sides(step, call, r, step.all.one_in(3), true, n, n);
  THREE_FORMS(call, Allreduce, allreduce, s.from, s.to, n, type_of(call), r.op, step.comm);
}

void reduce_scatter_block(Step& step, Call& call) {
  Reducing r(step, call);
  const int n = any_count(step.all, r.signature, step.size);
  const bool in_place = step.all.one_in(3);
  const Sides s = sides(step, call, r, in_place, true, n * step.size, n);
  // In place, the library may use the rest of the buffer.
  call.unseen = in_place;
  THREE_FORMS(call, Reduce_scatter_block, reduce_scatter_block, s.from, s.to, n, type_of(call),
              r.op, step.comm);
  Buffer& b = call.buffers.back();
  const auto seen = static_cast<size_t>(n * b.layout.extent);
  if (in_place && !r.rounded) {
    call.look = [&b, seen](Step& now) {
      b.normalise();
      now.see("first block", b.bytes.data(), std::min(seen, b.bytes.size()));
    };
  }
  if (in_place && r.rounded) call.look = [](Step&) {};
}

void reduce_scatter(Step& step, Call& call) {
  Reducing r(step, call);
  std::vector<int>& counts = call.ints.emplace_back();
  const int all =
      any_counts(step.all, step.size, any_count(step.all, r.signature, step.size), counts);
  const bool in_place = step.all.one_in(3);
  const int own = counts[static_cast<size_t>(step.rank)], *parts = counts.data();
  const Sides s = sides(step, call, r, in_place, true, all, own);
  THREE_FORMS(call, Reduce_scatter, reduce_scatter, s.from, s.to, parts, type_of(call), r.op,
              step.comm);
  Buffer& b = call.buffers.back();
  const auto seen = static_cast<size_t>(own * b.layout.extent);
  if (in_place && !r.rounded) {
    call.look = [&b, seen](Step& now) {
      b.normalise();
      now.see("first block", b.bytes.data(), std::min(seen, b.bytes.size()));
    };
  }
  if (in_place && r.rounded) call.look = [](Step&) {};
}

void scan(Step& step, Call& call) {
  Reducing r(step, call);
  const int n = any_count(step.all, r.signature, 1);
  const Sides s = sides(step, call, r, step.all.one_in(3), true, n, n);
  THREE_FORMS(call, Scan, scan, s.from, s.to, n, type_of(call), r.op, step.comm);
}

void exscan(Step& step, Call& call) {
  Reducing r(step, call);
  const int n = any_count(step.all, r.signature, 1);
  const Sides s = sides(step, call, r, step.all.one_in(3), true, n, n);
  // Rank 0's result is undefined.
  if (step.rank == 0) call.look = [](Step&) {};
  THREE_FORMS(call, Exscan, exscan, s.from, s.to, n, type_of(call), r.op, step.comm);
}

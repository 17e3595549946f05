// SPDX-License-Identifier: Apache-2.0
// Makes a program's communicator by split, dup, create, topologies, or from two groups.
#include "communicator.hpp"

#include <algorithm>

std::vector<int> any_ranks(Random& random, int size, bool all_of_them) {
  std::vector<int> ranks;
  for (int i = 0; i < size; ++i) ranks.push_back(i);
  random.shuffle(ranks);
  if (!all_of_them) ranks.resize(static_cast<size_t>(random.between(1, size)));
  return ranks;
}

namespace {

int number(const std::vector<int>& list) { return static_cast<int>(list.size()); }

MPI_Comm of_some_ranks(Step& step, bool all_call) {
  const std::vector<int> ranks = any_ranks(step.all, step.size, step.all.one_in(2));
  MPI_Group world, group;
  MPI_Comm_group(step.comm, &world);
  MPI_Group_incl(world, number(ranks), ranks.data(), &group);
  MPI_Comm comm = MPI_COMM_NULL;
  if (all_call) {
    step.ok(MPI_Comm_create(step.comm, group, &comm), "MPI_Comm_create");
  } else if (std::find(ranks.begin(), ranks.end(), step.rank) != ranks.end()) {
    step.ok(MPI_Comm_create_group(step.comm, group, 5, &comm), "MPI_Comm_create_group");
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return comm;
}

MPI_Comm merged(Step& step) {
  const int border = step.all.between(1, step.size - 1);
  const bool second = step.rank >= border, high = step.all.one_in(2);
  MPI_Comm half, both, comm = MPI_COMM_NULL;
  MPI_Comm_split(step.comm, second, step.rank, &half);
  step.ok(MPI_Intercomm_create(half, 0, step.comm, second ? 0 : border, 3, &both),
          "MPI_Intercomm_create");
  step.ok(MPI_Intercomm_merge(both, second == high, &comm), "MPI_Intercomm_merge");
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  return comm;
}

MPI_Comm of_a_group(Step& step) {
  MPI_Group world, group;
  MPI_Comm_group(step.comm, &world);
  const std::vector<int> ranks = any_ranks(step.all, step.size, true);
  MPI_Group_incl(world, number(ranks), ranks.data(), &group);
  MPI_Comm comm = MPI_COMM_NULL;
  step.ok(MPI_Comm_create_from_group(group, "tests.differential", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                     &comm),
          "MPI_Comm_create_from_group");
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return comm;
}

}  // namespace

Communicator::Communicator(Step& step) : comm(MPI_COMM_WORLD) {
  const int way = step.all.one_in(3) ? 0 : step.all.between(1, 9);
  step.say("communicator by way %d", way);
  make(step, way);
  if (comm == MPI_COMM_NULL) return;
  int size, rank, result;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_compare(comm, step.comm, &result);
  step.see("size", size);
  step.see("rank", rank);
  step.see("compare", result == MPI_IDENT       ? 0
                      : result == MPI_CONGRUENT ? 1
                      : result == MPI_SIMILAR   ? 2
                                                : 3);
}

void Communicator::make(Step& step, int way) {
  Random& all = step.all;
  switch (way) {
    case 0:
      return;
    case 1:
      step.ok(MPI_Comm_dup(step.comm, &comm), "MPI_Comm_dup");
      return;
    case 2: {
      const int color = step.mine.below(3);
      step.ok(
          MPI_Comm_split(step.comm, color == 2 ? MPI_UNDEFINED : color, step.mine.below(3), &comm),
          "MPI_Comm_split");
      return;
    }
    case 3:
    case 4:
      comm = of_some_ranks(step, way == 3);
      return;
    case 5: {
      const int dims[2] = {step.size >= 4 ? 2 : 1, step.size / (step.size >= 4 ? 2 : 1)};
      const int periods[2] = {all.below(2), all.below(2)};
      step.ok(MPI_Cart_create(step.comm, 2, dims, periods, 0, &comm), "MPI_Cart_create");
      return;
    }
    case 6: {
      MPI_Request request;
      step.ok(MPI_Comm_idup(step.comm, &comm, &request), "MPI_Comm_idup");
      step.ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
      return;
    }
    case 7:
      step.ok(MPI_Comm_split_type(step.comm, MPI_COMM_TYPE_SHARED, step.mine.below(3),
                                  MPI_INFO_NULL, &comm),
              "MPI_Comm_split_type");
      return;
    case 8:
      if (step.size > 1) comm = merged(step);
      return;
    default:
      comm = of_a_group(step);
  }
}

void Communicator::free() {
  if (comm != MPI_COMM_NULL && comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
}

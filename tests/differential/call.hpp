// SPDX-License-Identifier: Apache-2.0
// A collective call with buffers in three forms, and several calls in flight.
#pragma once

#include <mpi.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "step.hpp"

struct Call {
  bool alone = true;
  const char* name = "";
  std::function<int()> blocking;
  std::function<int(MPI_Request*)> nonblocking, persistent;
  std::deque<Buffer> buffers;
  std::deque<std::vector<int>> ints;
  std::deque<std::vector<MPI_Aint>> bytes;
  std::deque<std::vector<MPI_Datatype>> types;
  std::deque<Layout> layouts;
  Values values = Values::raw;
  bool reduces = false;
  bool unseen = false;
  // look() reads real results. If look is null, the driver compares bytes.
  std::function<void(Step&)> look;
  std::vector<MPI_Op> ops;

  Buffer& add(Step& step, const char* who, Layout&& layout, int count, MPI_Aint places);
  Buffer& add(Step& step, const char* who, const Signature& signature, int items, int places);
};

// give_forms() gives `call` the forms MPI_Name, MPI_Iname and MPI_Name_init, and copies the
// arguments.
template <typename Blocking, typename Nonblocking, typename Persistent, typename... Arguments>
void give_forms(Call& call, Blocking* blocking, Nonblocking* nonblocking, Persistent* persistent,
                Arguments... arguments) {
  call.blocking = [=] { return blocking(arguments...); };
  call.nonblocking = [=](MPI_Request* request) { return nonblocking(arguments..., request); };
  call.persistent = [=](MPI_Request* request) {
    return persistent(arguments..., MPI_INFO_NULL, request);
  };
}
#define THREE_FORMS(call, Name, iname, ...)                                       \
  do {                                                                            \
    (call).name = "MPI_" #Name;                                                   \
    give_forms((call), MPI_##Name, MPI_I##iname, MPI_##Name##_init, __VA_ARGS__); \
  } while (0)

void run_calls(Step& step, const std::function<void(Step&, Call&)>& fill);

// any_counts() returns the number of items with room.
int any_counts(Random& random, int parts, int most, std::vector<int>& counts);
int any_places(Random& random, const std::vector<int>& counts, std::vector<int>& places);

// User operations work on four 32-bit numbers: sums, and products of 2x2 matrices, dense or with
// gaps.
struct UserOperation {
  MPI_Op op;
  Layout layout;
  const char* name;
  bool wide = false;
};
UserOperation any_user_operation(Random& random);

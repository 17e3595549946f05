// SPDX-License-Identifier: Apache-2.0
// Calls with a wrong argument on all ranks.
#include <cstring>

#include "peer.hpp"
#include "step.hpp"

namespace {

constexpr int kSkipped = -12345;

MPI_Datatype uncommitted;

struct Wrong {
  const char* what;
  int (*call)(MPI_Comm comm, int size);
};

int value[8], other[8];
MPI_Request request;
MPI_Status status;
MPI_Comm made;
MPI_Group group;
MPI_Datatype type;

const Wrong kWrong[] = {
    {"Send to a rank beyond",
     [](MPI_Comm c, int n) { return MPI_Send(value, 1, MPI_INT, n, 1, c); }},
    {"Send to a rank below",
     [](MPI_Comm c, int) { return MPI_Send(value, 1, MPI_INT, -77, 1, c); }},
    {"Send of a tag below", [](MPI_Comm c, int) { return MPI_Send(value, 1, MPI_INT, 0, -77, c); }},
    {"Send of a negative count",
     [](MPI_Comm c, int) { return MPI_Send(value, -1, MPI_INT, 0, 1, c); }},
    {"Send of no type",
     [](MPI_Comm c, int) { return MPI_Send(value, 1, MPI_DATATYPE_NULL, 0, 1, c); }},
    {"Send of an open type",
     [](MPI_Comm c, int) { return MPI_Send(value, 1, uncommitted, 0, 1, c); }},
    {"Send on no communicator",
     [](MPI_Comm, int) { return MPI_Send(value, 1, MPI_INT, 0, 1, MPI_COMM_NULL); }},
    {"Isend to a rank beyond",
     [](MPI_Comm c, int n) { return MPI_Isend(value, 1, MPI_INT, n, 1, c, &request); }},
    {"Send_init of a negative count",
     [](MPI_Comm c, int) { return MPI_Send_init(value, -3, MPI_INT, 0, 1, c, &request); }},
    {"Recv from a rank beyond",
     [](MPI_Comm c, int n) { return MPI_Recv(value, 1, MPI_INT, n, 1, c, &status); }},
    {"Recv of a tag below",
     [](MPI_Comm c, int) { return MPI_Recv(value, 1, MPI_INT, 0, -77, c, &status); }},
    {"Irecv of a negative count",
     [](MPI_Comm c, int) { return MPI_Irecv(value, -1, MPI_INT, 0, 1, c, &request); }},
    {"Recv of an open type",
     [](MPI_Comm c, int) { return MPI_Recv(value, 1, uncommitted, 0, 1, c, &status); }},
    {"Probe of a rank beyond", [](MPI_Comm c, int n) { return MPI_Probe(n, 1, c, &status); }},
    {"Sendrecv to a rank beyond",
     [](MPI_Comm c, int n) {
       return MPI_Sendrecv(value, 1, MPI_INT, n, 1, other, 1, MPI_INT, 0, 1, c, &status);
     }},
    {"Bcast of a root beyond",
     [](MPI_Comm c, int n) { return MPI_Bcast(value, 1, MPI_INT, n, c); }},
    {"Bcast of a root below", [](MPI_Comm c, int) { return MPI_Bcast(value, 1, MPI_INT, -77, c); }},
    {"Bcast of a negative count",
     [](MPI_Comm c, int) { return MPI_Bcast(value, -1, MPI_INT, 0, c); }},
    {"Bcast of no type",
     [](MPI_Comm c, int) { return MPI_Bcast(value, 1, MPI_DATATYPE_NULL, 0, c); }},
    {"Reduce of a root beyond",
     [](MPI_Comm c, int n) { return MPI_Reduce(value, other, 1, MPI_INT, MPI_SUM, n, c); }},
    {"Allreduce of no operation",
     [](MPI_Comm c, int) { return MPI_Allreduce(value, other, 1, MPI_INT, MPI_OP_NULL, c); }},
    {"Allreduce of a negative count",
     [](MPI_Comm c, int) {
       if (peer::kTakesNegativeCounts) return kSkipped;
       return MPI_Allreduce(value, other, -1, MPI_INT, MPI_SUM, c);
     }},
    {"Allreduce of bits of doubles",
     [](MPI_Comm c, int) { return MPI_Allreduce(value, other, 1, MPI_DOUBLE, MPI_BAND, c); }},
    {"Allreduce of the greatest of complex numbers",
     [](MPI_Comm c, int) {
       return MPI_Allreduce(value, other, 1, MPI_C_FLOAT_COMPLEX, MPI_MAX, c);
     }},
    {"Allreduce on no communicator",
     [](MPI_Comm, int) { return MPI_Allreduce(value, other, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL); }},
    {"Iallreduce of no operation",
     [](MPI_Comm c, int) {
       return MPI_Iallreduce(value, other, 1, MPI_INT, MPI_OP_NULL, c, &request);
     }},
    {"Gather of a root beyond",
     [](MPI_Comm c, int n) { return MPI_Gather(value, 1, MPI_INT, other, 1, MPI_INT, n, c); }},
    {"Barrier on no communicator", [](MPI_Comm, int) { return MPI_Barrier(MPI_COMM_NULL); }},
    {"Comm_size of no communicator",
     [](MPI_Comm, int) { return MPI_Comm_size(MPI_COMM_NULL, value); }},
    {"Comm_dup of no communicator",
     [](MPI_Comm, int) { return MPI_Comm_dup(MPI_COMM_NULL, &made); }},
    {"Cart_coords on no grid",
     [](MPI_Comm, int) { return MPI_Cart_coords(MPI_COMM_SELF, 0, 1, value); }},
    {"Dist_graph_neighbors_count on no graph",
     [](MPI_Comm, int) {
       return MPI_Dist_graph_neighbors_count(MPI_COMM_SELF, value, value + 1, value + 2);
     }},
    {"Cart_create with more places than ranks",
     [](MPI_Comm, int) {
       const int dims[1] = {2}, periods[1] = {0};
       return MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &made);
     }},
    {"Type_contiguous of a negative count",
     [](MPI_Comm, int) { return MPI_Type_contiguous(-1, MPI_INT, &type); }},
    {"Type_contiguous of no type",
     [](MPI_Comm, int) { return MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type); }},
    {"Type_size of no type", [](MPI_Comm, int) { return MPI_Type_size(MPI_DATATYPE_NULL, value); }},
    {"Group_incl of a rank beyond",
     [](MPI_Comm, int) {
       MPI_Group self;
       MPI_Comm_group(MPI_COMM_SELF, &self);
       const int ranks[1] = {5};
       const int error = MPI_Group_incl(self, 1, ranks, &group);
       MPI_Group_free(&self);
       return error;
     }},
    {"Group_size of no group", [](MPI_Comm, int) { return MPI_Group_size(MPI_GROUP_NULL, value); }},
    {"Op_free of a predefined operation",
     [](MPI_Comm, int) {
       MPI_Op op = MPI_SUM;
       return MPI_Op_free(&op);
     }},
    {"Start of no request",
     [](MPI_Comm, int) {
       MPI_Request none = MPI_REQUEST_NULL;
       return MPI_Start(&none);
     }},
    {"Cancel of no request",
     [](MPI_Comm, int) {
       MPI_Request none = MPI_REQUEST_NULL;
       return MPI_Cancel(&none);
     }},
    {"Request_free of no request",
     [](MPI_Comm, int) {
       MPI_Request none = MPI_REQUEST_NULL;
       return MPI_Request_free(&none);
     }},
    {"Dims_create without a divisor",
     [](MPI_Comm, int) {
       int dims[2] = {5, 0};
       return MPI_Dims_create(12, 2, dims);
     }},
    {"Comm_set_attr with no key",
     [](MPI_Comm c, int) {
       return peer::kOtherForKeys ? kSkipped : MPI_Comm_set_attr(c, MPI_KEYVAL_INVALID, value);
     }},
    {"Info_set on no info",
     [](MPI_Comm, int) { return MPI_Info_set(MPI_INFO_NULL, "key", "value"); }},
    {"Info_delete of a missing key",
     [](MPI_Comm, int) {
       MPI_Info info;
       MPI_Info_create(&info);
       const int error = MPI_Info_delete(info, "none");
       MPI_Info_free(&info);
       return error;
     }},
    {"Win_fence of no window", [](MPI_Comm, int) { return MPI_Win_fence(0, MPI_WIN_NULL); }},
};

// The standard gives these calls no class; the list has the acceptable classes.
const struct {
  const char* what;
  std::vector<int> classes;
} kOpen[] = {
    {"Cart_create with more places than ranks", {MPI_ERR_DIMS, MPI_ERR_ARG, MPI_ERR_TOPOLOGY}},
    {"Info_set on no info", {MPI_ERR_INFO, MPI_ERR_ARG}},
};

std::string said(const char* what, int error) {
  const int found = class_of(error);
  for (const auto& open : kOpen) {
    if (std::strcmp(open.what, what) != 0) continue;
    for (int one : open.classes) {
      if (one == found) return "acceptable";
    }
  }
  return name_of_class(found);
}

void wrong_calls(Step& step) {
  MPI_Type_contiguous(2, MPI_INT, &uncommitted);
  const int number = step.all.between(2, 6);
  for (int i = 0; i < number; ++i) {
    const int which = step.all.below(static_cast<int>(std::size(kWrong)));
    const int error = kWrong[which].call(step.comm, step.size);
    if (error == kSkipped) {
      step.skip(kWrong[which].what);
      continue;
    }
    step.see(kWrong[which].what, said(kWrong[which].what, error));
  }
  MPI_Type_free(&uncommitted);
}

}  // namespace

const Operation kErrors[] = {{"wrong_calls", wrong_calls, 4}, {}};

// SPDX-License-Identifier: Apache-2.0
// Arguments with wrong values: the class, and the words for argument and value. abi_errors.sh
// covers arguments of a wrong kind.
// ranks: singleton 1
#include <limits.h>

#include "says.h"

#define SELF MPI_COMM_SELF

static MPI_Comm grid, graph;
static MPI_Group one;
static int ints[16];
static char text[2000];

static void groups(void) {
  MPI_Group made;
  int twice[2] = {0, 0}, ranges[2][3] = {{0, 0, 0}, {0, 3, -1}}, far[1][3] = {{0, 4, 1}}, got;
  SAYS(Group_incl, (one, 1, (int[]){1}, &made), ERR_RANK, "ranks[0] is 1");
  SAYS(Group_incl, (one, 1, (int[]){-1}, &made), ERR_RANK, "ranks[0] is -1");
  SAYS(Group_incl, (one, 2, twice, &made), ERR_RANK, "rank 0 is named twice");
  SAYS(Group_incl, (one, -1, twice, &made), ERR_ARG, "n is -1");
  SAYS(Group_excl, (one, 1, (int[]){7}, &made), ERR_RANK, "ranks[0] is 7");
  SAYS(Group_excl, (one, 2, twice, &made), ERR_RANK, "rank 0 is named twice");
  SAYS(Group_range_incl, (one, 1, ranges, &made), ERR_ARG, "ranges[0] is (0, 0, 0)");
  SAYS(Group_range_incl, (one, 1, ranges + 1, &made), ERR_ARG, "ranges[0] is (0, 3, -1)");
  SAYS(Group_range_excl, (one, 1, far, &made), ERR_RANK, "4");
  SAYS(Group_translate_ranks, (one, 1, (int[]){3}, one, &got), ERR_RANK, "ranks1[0] is 3");
  SAYS(Group_translate_ranks, (one, -2, ints, one, &got), ERR_ARG, "n is -2");
}

static void communicators(void) {
  MPI_Comm made = MPI_COMM_WORLD;
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Info info;
  memset(text, 'x', sizeof text - 1);
  SAYS(Comm_create_from_group, (one, text, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), ERR_ARG,
       "stringtag has more than the 1023 characters");
  SAYS(Comm_split, (SELF, -3, 0, &made), ERR_ARG, "color is -3");
  CHECK(made == MPI_COMM_NULL);
  SAYS(Comm_split_type, (SELF, 12345, 0, MPI_INFO_NULL, &made), ERR_ARG, "split_type is 12345");
  SAYS(Comm_free, (&world), ERR_COMM, "MPI_COMM_WORLD cannot be freed");
  SAYS(Comm_disconnect, (&world), ERR_COMM, "MPI_COMM_WORLD cannot be disconnected");
  SAYS(Comm_remote_size, (SELF, ints), ERR_COMM, "comm is an intra-communicator");
  SAYS(Comm_remote_group, (SELF, &one), ERR_COMM, "comm is an intra-communicator");
  SAYS(Intercomm_merge, (SELF, 0, &made), ERR_COMM, "intercomm is an intra-communicator");
  SAYS(Intercomm_create, (SELF, 1, SELF, 0, 1, &made), ERR_RANK, "local_leader is 1");
  SAYS(Intercomm_create, (SELF, 0, SELF, 5, 1, &made), ERR_RANK, "remote_leader is 5");
  SAYS(Intercomm_create, (SELF, 0, MPI_COMM_NULL, 0, 1, &made), ERR_COMM, "peer_comm");
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "perhaps"));
  SAYS(Comm_set_info, (SELF, info), ERR_INFO_VALUE, "mpi_assert_no_any_tag is \"perhaps\"");
  OK(MPI_Info_free(&info));
}

static void topologies(void) {
  MPI_Comm made;
  int dims[2] = {3, 0}, none[2] = {0, 0}, big[1] = {2}, negative[1] = {-1}, other = 9;
  SAYS(Cart_create, (SELF, -1, dims, none, 0, &made), ERR_DIMS, "ndims is -1");
  SAYS(Cart_create, (SELF, 1, big, none, 0, &made), ERR_DIMS, "2 ranks");
  SAYS(Cart_create, (SELF, 1, none, none, 0, &made), ERR_DIMS, "dims[0] is 0");
  SAYS(Cart_create, (SELF, 1, NULL, none, 0, &made), ERR_ARG, "dims is a null");
  SAYS(Cart_rank, (SELF, none, ints), ERR_TOPOLOGY, "MPI_COMM_SELF");
  SAYS(Cart_coords, (SELF, 0, 1, ints), ERR_TOPOLOGY, "MPI_COMM_SELF");
  SAYS(Cart_shift, (SELF, 0, 1, ints, ints + 1), ERR_TOPOLOGY, "MPI_COMM_SELF");
  SAYS(Cart_sub, (SELF, none, &made), ERR_TOPOLOGY, "MPI_COMM_SELF");
  SAYS(Cartdim_get, (graph, ints), ERR_TOPOLOGY, "graph");
  SAYS(Cart_coords, (grid, 4, 1, ints), ERR_RANK, "rank is 4");
  SAYS(Cart_coords, (grid, 0, 0, ints), ERR_ARG, "maxdims is 0");
  SAYS(Cart_rank, (grid, (int[]){1}, ints), ERR_ARG, "coords[0] is 1");
  SAYS(Cart_shift, (grid, 1, 1, ints, ints + 1), ERR_DIMS, "direction is 1");
  SAYS(Dims_create, (5, 2, dims), ERR_DIMS, "nnodes is 5");
  SAYS(Dims_create, (0, 1, none), ERR_ARG, "nnodes is 0");
  SAYS(Dims_create, (4, 1, negative), ERR_DIMS, "dims[0] is -1");
  SAYS(Graph_create, (SELF, 2, ints, ints, 0, &made), ERR_ARG, "nnodes is 2");
  SAYS(Graph_create, (SELF, 1, big, (int[]){0, 9}, 0, &made), ERR_ARG, "edges[1] is 9");
  SAYS(Graph_neighbors, (SELF, 0, 1, ints), ERR_TOPOLOGY, "MPI_COMM_SELF");
  SAYS(Graph_neighbors_count, (graph, 3, ints), ERR_RANK, "rank is 3");
  SAYS(Dist_graph_create,
       (SELF, 2, (int[]){0, 0}, (int[]){INT_MAX, 1}, ints, ints, MPI_INFO_NULL, 0, &made), ERR_ARG,
       "exceeds 2147483647");
  SAYS(Dist_graph_create_adjacent, (SELF, 1, &other, ints, 0, ints, ints, MPI_INFO_NULL, 0, &made),
       ERR_RANK, "sources[0] is 9");
  SAYS(Dist_graph_create_adjacent,
       (SELF, 0, ints, ints, 1, ints, negative, MPI_INFO_NULL, 0, &made), ERR_ARG,
       "destweights[0]");
  SAYS(Dist_graph_neighbors_count, (SELF, ints, ints, ints), ERR_TOPOLOGY, "MPI_COMM_SELF");
  SAYS(Neighbor_allgather, (ints, 1, MPI_INT, ints + 8, 1, MPI_INT, SELF), ERR_TOPOLOGY,
       "MPI_COMM_SELF");
}

static void datatypes(void) {
  MPI_Datatype made, predefined = MPI_INT;
  const int zero[1] = {0}, minus[1] = {-1}, two[1] = {2};
  const MPI_Aint places[1] = {0};
  SAYS(Type_contiguous, (-1, MPI_INT, &made), ERR_COUNT, "count is -1");
  SAYS(Type_vector, (1, -2, 1, MPI_INT, &made), ERR_COUNT, "blocklength is -2");
  SAYS(Type_indexed, (1, minus, zero, MPI_INT, &made), ERR_ARG, "array_of_blocklengths[0] is -1");
  SAYS(Type_create_struct, (1, minus, places, &predefined, &made), ERR_ARG,
       "array_of_blocklengths[0] is -1");
  SAYS(Type_create_subarray, (1, two, two, two, MPI_ORDER_C, MPI_INT, &made), ERR_ARG, "start 2");
  SAYS(Type_create_subarray, (1, two, (int[]){3}, zero, MPI_ORDER_C, MPI_INT, &made), ERR_ARG,
       "subsize 3");
  SAYS(Type_create_subarray, (1, two, two, zero, 77, MPI_INT, &made), ERR_ARG, "order is 77");
  SAYS(Type_create_subarray, (0, two, two, zero, MPI_ORDER_C, MPI_INT, &made), ERR_ARG,
       "ndims is 0");
  SAYS(Type_free, (&predefined), ERR_TYPE, "MPI_INT is predefined");
  SAYS(Type_match_size, (MPI_TYPECLASS_REAL, 5, &made), ERR_ARG, "5 bytes");
  SAYS(Type_create_f90_integer, (99, &made), ERR_ARG, "99");
  SAYS(Type_create_f90_real, (99, 1, &made), ERR_ARG, "99");
  SAYS(Type_get_contents, (MPI_INT, 1, 1, 1, ints, (MPI_Aint*)text, &made), ERR_TYPE, "MPI_INT");
  SAYS(Get_count, ((MPI_Status*)text, MPI_DATATYPE_NULL, ints), ERR_TYPE, "MPI_DATATYPE_NULL");
}

static void statuses(void) {
  MPI_Count many;
  SAYS(Get_count, (MPI_STATUS_IGNORE, MPI_INT, ints), ERR_ARG, "status is MPI_STATUS_IGNORE");
  SAYS(Get_elements, (MPI_STATUS_IGNORE, MPI_INT, ints), ERR_ARG, "status is MPI_STATUS_IGNORE");
  SAYS(Get_elements_x, (MPI_STATUS_IGNORE, MPI_INT, &many), ERR_ARG, "MPI_STATUS_IGNORE");
  SAYS(Test_cancelled, (MPI_STATUS_IGNORE, ints), ERR_ARG, "status is MPI_STATUS_IGNORE");
  SAYS(Status_get_error, (MPI_STATUS_IGNORE, ints), ERR_ARG, "status is MPI_STATUS_IGNORE");
  SAYS(Status_get_source, (MPI_STATUS_IGNORE, ints), ERR_ARG, "status is MPI_STATUS_IGNORE");
  SAYS(Status_get_tag, (MPI_STATUS_IGNORE, ints), ERR_ARG, "status is MPI_STATUS_IGNORE");
  SAYS(Status_set_tag, (MPI_STATUS_IGNORE, 3), ERR_ARG, "status is MPI_STATUS_IGNORE");
  SAYS(Status_set_elements, (MPI_STATUS_IGNORE, MPI_INT, 1), ERR_ARG, "MPI_STATUS_IGNORE");
}

static void packing(void) {
  int position = 0, beyond = 900;
  MPI_Aint place = 0;
  SAYS(Pack, (ints, 4, MPI_INT, text, 15, &position, SELF), ERR_TRUNCATE, "15 bytes");
  SAYS(Pack, (ints, 1, MPI_INT, text, 99, &beyond, SELF), ERR_ARG, "position is 900");
  SAYS(Unpack, (text, 15, &position, ints, 4, MPI_INT, SELF), ERR_TRUNCATE, "15 bytes");
  SAYS(Unpack, (text, 99, &position, ints, -1, MPI_INT, SELF), ERR_COUNT, "outcount is -1");
  SAYS(Pack_external, ("native", ints, 1, MPI_INT, text, 99, &place), ERR_ARG, "\"native\"");
  SAYS(Pack_external, ("external32", ints, -1, MPI_INT, text, 99, &place), ERR_COUNT, "-1");
  SAYS(Pack_size, (-1, MPI_INT, SELF, ints), ERR_COUNT, "incount is -1");
  CHECK_EQ(position, 0);
}

static void infos(void) {
  MPI_Info info;
  int flag, length = 10;
  OK(MPI_Info_create(&info));
  memset(text, 'k', sizeof text - 1);
  SAYS(Info_set, (info, text, "value"), ERR_INFO_KEY, "1999 characters");
  SAYS(Info_set, (info, "", "value"), ERR_INFO_KEY, "0 characters");
  SAYS(Info_set, (info, "key", text), ERR_INFO_VALUE, "1999 characters");
  SAYS(Info_get_string, (info, text, &length, text, &flag), ERR_INFO_KEY, "1999 characters");
  SAYS(Info_delete, (info, "absent"), ERR_INFO_NOKEY, "\"absent\"");
  SAYS(Info_get_nthkey, (info, 0, text), ERR_ARG, "n is 0");
  SAYS(Info_get_nthkey, (info, -1, text), ERR_ARG, "n is -1");
  OK(MPI_Info_free(&info));
}

static void operations_and_buffers(void) {
  MPI_Op sum = MPI_SUM;
  void* was;
  int bytes;
  SAYS(Op_free, (&sum), ERR_OP, "MPI_SUM is predefined");
  SAYS(Op_create, (NULL, 1, &sum), ERR_ARG, "user_fn is a null pointer");
  SAYS(Allreduce, (ints, ints + 8, 1, MPI_DOUBLE, MPI_BAND, SELF), ERR_OP, "MPI_BAND");
  SAYS(Allreduce, (ints, ints + 8, 1, MPI_INT, MPI_MAXLOC, SELF), ERR_OP, "MPI_MAXLOC");
  SAYS(Reduce_local, (ints, ints, 1, MPI_INT, MPI_SUM), ERR_BUFFER, "both");
  SAYS(Bsend, (ints, 1, MPI_INT, 0, 0, SELF), ERR_BUFFER, "no buffer is attached");
  SAYS(Buffer_detach, (&was, &bytes), ERR_BUFFER, "no buffer is attached");
  SAYS(Buffer_attach, (NULL, 8), ERR_BUFFER, "null pointer");
  OK(MPI_Buffer_attach(text, sizeof text));
  SAYS(Buffer_attach, (text, 8), ERR_BUFFER, "2000 bytes is already attached");
  OK(MPI_Buffer_detach(&was, &bytes));
  SAYS(Alloc_mem, (-1, MPI_INFO_NULL, &was), ERR_SIZE, "size is -1");
}

static void requests(void) {
  MPI_Request request, plain;
  int flag;
  SAYS(Psend_init, (ints, -1, 1, MPI_INT, 0, 0, SELF, MPI_INFO_NULL, &request), ERR_ARG,
       "partitions is -1");
  OK(MPI_Psend_init(ints, 2, 1, MPI_INT, 0, 0, SELF, MPI_INFO_NULL, &request));
  SAYS(Pready, (0, request), ERR_REQUEST, "call MPI_Start before");
  OK(MPI_Start(&request));
  SAYS(Start, (&request), ERR_REQUEST, "already started");
  SAYS(Pready, (2, request), ERR_ARG, "2");
  SAYS(Pready_range, (1, 2, request), ERR_ARG, "2");
  SAYS(Parrived, (request, 0, &flag), ERR_REQUEST, "MPI_Precv_init");
  OK(MPI_Irecv(ints, 1, MPI_INT, 0, 3, SELF, &plain));
  SAYS(Start, (&plain), ERR_REQUEST, "not persistent");
  SAYS(Pready, (0, plain), ERR_REQUEST, "MPI_Psend_init");
  SAYS(Grequest_complete, (plain), ERR_REQUEST, "MPI_Grequest_start");
  OK(MPI_Cancel(&plain));
  OK(MPI_Wait(&plain, MPI_STATUS_IGNORE));
  OK(MPI_Precv_init(ints, 2, 1, MPI_INT, 0, 0, SELF, MPI_INFO_NULL, &plain));
  OK(MPI_Start(&plain));
  SAYS(Parrived, (plain, 5, &flag), ERR_ARG, "5");
  SAYS(Pready, (0, plain), ERR_REQUEST, "MPI_Psend_init");
  OK(MPI_Pready_range(0, 1, request));
  SAYS(Pready, (0, request), ERR_ARG, "0");
  OK(MPI_Wait(&plain, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&plain));
  OK(MPI_Request_free(&request));
}

static void attributes_and_codes(void) {
  int key = MPI_TAG_UB, code = 0;
  SAYS(Comm_set_attr, (SELF, MPI_TAG_UB, ints), ERR_KEYVAL, "for users to set");
  SAYS(Comm_delete_attr, (SELF, MPI_TAG_UB), ERR_KEYVAL, "for users to set");
  SAYS(Comm_free_keyval, (&key), ERR_KEYVAL, "for users to set");
  SAYS(Add_error_code, (123456, ints), ERR_ARG, "123456");
  CHECK(MPI_Add_error_code(MPI_ERR_RANK, &code) == MPI_SUCCESS);
  SAYS(Add_error_code, (code, ints), ERR_ARG, "an error code of class");
  CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
  SAYS(Error_class, (123456, ints), ERR_ARG, "123456");
  SAYS(Error_string, (-1, text, ints), ERR_ARG, "-1");
  SAYS(Remove_error_class, (MPI_ERR_RANK), ERR_ARG, "");
  SAYS(Comm_call_errhandler, (SELF, 123456), ERR_ARG, "123456");
  SAYS(Init_thread, (NULL, NULL, MPI_THREAD_SINGLE, ints), ERR_OTHER, "initialise only once");
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  let_errors_return();
  OK(MPI_Comm_group(SELF, &one));
  OK(MPI_Cart_create(SELF, 1, (int[]){1}, (int[]){0}, 0, &grid));
  OK(MPI_Graph_create(SELF, 1, (int[]){1}, (int[]){0}, 0, &graph));
  groups();
  communicators();
  topologies();
  datatypes();
  statuses();
  packing();
  infos();
  operations_and_buffers();
  requests();
  attributes_and_codes();
  OK(MPI_Comm_free(&grid));
  OK(MPI_Comm_free(&graph));
  OK(MPI_Group_free(&one));
  return end();
}

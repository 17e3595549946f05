// SPDX-License-Identifier: Apache-2.0
// Objects created and freed many times: allocated memory stays constant, and handles do not run
// out.
// ranks: 2
// transport: sm, libraries of networks keep memory
// timeout: 3000
// sanitizers: no, they keep freed memory
#include "leak.h"

static void free_comm(MPI_Comm made) { OK(MPI_Comm_free(&made)); }
static void comm_dup(void) {
  MPI_Comm made;
  OK(MPI_Comm_dup(comm, &made));
  free_comm(made);
}
static void comm_dup_with_info(void) {
  MPI_Comm made;
  OK(MPI_Comm_dup_with_info(comm, hints, &made));
  free_comm(made);
}
static void comm_idup(void) {
  MPI_Comm made;
  MPI_Request request;
  OK(MPI_Comm_idup(comm, &made, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  free_comm(made);
}
static void comm_split(void) {
  MPI_Comm made;
  OK(MPI_Comm_split(comm, 0, -rank, &made));
  free_comm(made);
}
static void comm_split_type(void) {
  MPI_Comm made;
  OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
  free_comm(made);
}
static void comm_create(void) {
  MPI_Comm made;
  OK(MPI_Comm_create(comm, everybody, &made));
  free_comm(made);
}
static void comm_create_group(void) {
  MPI_Comm made;
  OK(MPI_Comm_create_group(comm, everybody, 3, &made));
  free_comm(made);
}
static void comm_create_from_group(void) {
  MPI_Comm made;
  OK(MPI_Comm_create_from_group(everybody, "leak", MPI_INFO_NULL, handler, &made));
  free_comm(made);
}
static void comm_used(void) {
  MPI_Comm made;
  int sum;
  OK(MPI_Comm_dup(comm, &made));
  OK(MPI_Sendrecv(data, 1, MPI_INT, other, 0, received, 1, MPI_INT, other, 0, made,
                  MPI_STATUS_IGNORE));
  OK(MPI_Allreduce(data, &sum, 1, MPI_INT, MPI_SUM, made));
  OK(MPI_Bcast(data, 8, vector, 0, made));
  free_comm(made);
}
static void comm_pair(void) {
  static int turn;
  MPI_Comm made;
  int sum = -1;
  OK(MPI_Comm_create_group(comm, everybody, 3, &made));
  if (++turn % 50 == 0) {
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made));
    CHECK_EQ(sum, 1);
  }
  free_comm(made);
}
static void comm_cart(void) {
  MPI_Comm made;
  const int dims[1] = {2}, periods[1] = {1};
  OK(MPI_Cart_create(comm, 1, dims, periods, 0, &made));
  free_comm(made);
}
static void comm_graph(void) {
  MPI_Comm made;
  const int index[2] = {1, 2}, edges[2] = {1, 0};
  OK(MPI_Graph_create(comm, 2, index, edges, 0, &made));
  free_comm(made);
}
static void comm_dist_graph(void) {
  MPI_Comm made;
  OK(MPI_Dist_graph_create_adjacent(comm, 1, &other, data, 1, &other, data, MPI_INFO_NULL, 0,
                                    &made));
  free_comm(made);
}
static void intercomm(void) {
  MPI_Comm made, merged;
  OK(MPI_Intercomm_create(MPI_COMM_SELF, 0, comm, other, 5, &made));
  OK(MPI_Intercomm_merge(made, rank, &merged));
  free_comm(merged);
  free_comm(made);
}

static void groups(void) {
  MPI_Group one, two, three, four;
  int range[1][3] = {{0, 1, 1}};
  OK(MPI_Comm_group(comm, &one));
  OK(MPI_Group_incl(one, 1, &other, &two));
  OK(MPI_Group_union(one, two, &three));
  OK(MPI_Group_range_incl(one, 1, range, &four));
  OK(MPI_Group_free(&four));
  OK(MPI_Group_free(&three));
  OK(MPI_Group_free(&two));
  OK(MPI_Group_excl(one, 1, &other, &two));
  OK(MPI_Group_difference(one, two, &three));
  OK(MPI_Group_intersection(one, two, &four));
  OK(MPI_Group_free(&four));
  OK(MPI_Group_free(&three));
  OK(MPI_Group_free(&two));
  OK(MPI_Group_free(&one));
}

static void free_type(MPI_Datatype made) {
  OK(MPI_Type_commit(&made));
  OK(MPI_Type_free(&made));
}
static const int lengths[3] = {1, 2, 1}, places[3] = {0, 3, 9};
static const MPI_Aint offsets[3] = {0, 16, 40};
static void types_regular(void) {
  MPI_Datatype made;
  OK(MPI_Type_contiguous(5, vector, &made));
  free_type(made);
  OK(MPI_Type_vector(3, 2, 4, MPI_INT, &made));
  free_type(made);
  OK(MPI_Type_create_hvector(3, 2, 24, MPI_INT, &made));
  free_type(made);
  OK(MPI_Type_create_resized(vector, -4, 64, &made));
  free_type(made);
  OK(MPI_Type_dup(vector, &made));
  free_type(made);
}
static void types_irregular(void) {
  MPI_Datatype made;
  const MPI_Datatype parts[3] = {MPI_INT, MPI_DOUBLE, vector};
  OK(MPI_Type_indexed(3, lengths, places, MPI_INT, &made));
  free_type(made);
  OK(MPI_Type_create_hindexed(3, lengths, offsets, MPI_INT, &made));
  free_type(made);
  OK(MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &made));
  free_type(made);
  OK(MPI_Type_create_hindexed_block(3, 2, offsets, MPI_INT, &made));
  free_type(made);
  OK(MPI_Type_create_struct(3, lengths, offsets, parts, &made));
  free_type(made);
}
static void types_arrays(void) {
  MPI_Datatype made;
  const int sizes[2] = {4, 6}, part[2] = {2, 3}, from[2] = {1, 2}, grid[2] = {2, 1};
  const int how[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  OK(MPI_Type_create_subarray(2, sizes, part, from, MPI_ORDER_C, MPI_INT, &made));
  free_type(made);
  OK(MPI_Type_create_darray(2, rank, 2, sizes, how, arguments, grid, MPI_ORDER_C, MPI_INT, &made));
  free_type(made);
  OK(MPI_Type_create_f90_integer(9, &made));
}
static void types_taken_apart(void) {
  MPI_Datatype made, inner;
  int integers[4];
  MPI_Aint addresses[1];
  OK(MPI_Type_contiguous(2, vector, &made));
  OK(MPI_Type_get_contents(made, 4, 1, 1, integers, addresses, &inner));
  OK(MPI_Type_free(&inner));
  OK(MPI_Type_free(&made));
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
static void ops(void) {
  MPI_Op made;
  int sum;
  OK(MPI_Op_create(add, 1, &made));
  OK(MPI_Reduce_local(data, &sum, 1, MPI_INT, made));
  OK(MPI_Op_free(&made));
}
static void infos(void) {
  MPI_Info made, copy;
  OK(MPI_Info_create(&made));
  OK(MPI_Info_set(made, "a key that is not short", "a value that does not fit in place"));
  OK(MPI_Info_dup(made, &copy));
  OK(MPI_Info_free(&made));
  OK(MPI_Info_delete(copy, "a key that is not short"));
  OK(MPI_Info_free(&copy));
  OK(MPI_Comm_get_info(comm, &made));
  OK(MPI_Info_free(&made));
}
static void errhandlers(void) {
  MPI_Errhandler made, got;
  OK(MPI_Comm_create_errhandler(hear, &made));
  OK(MPI_Comm_set_errhandler(comm, made));
  OK(MPI_Comm_get_errhandler(comm, &got));
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Errhandler_free(&made));
  OK(MPI_Comm_set_errhandler(comm, handler));
}
static void keyvals(void) {
  int key, of_type;
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
  OK(MPI_Comm_set_attr(comm, key, data));
  OK(MPI_Comm_delete_attr(comm, key));
  OK(MPI_Comm_free_keyval(&key));
  OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &of_type, NULL));
  OK(MPI_Type_set_attr(vector, of_type, data));
  OK(MPI_Type_delete_attr(vector, of_type));
  OK(MPI_Type_free_keyval(&of_type));
}
static void codes(void) {
  int class, code;
  OK(MPI_Add_error_class(&class));
  OK(MPI_Add_error_code(class, &code));
  OK(MPI_Add_error_string(code, "a text of some length, which is kept on the heap"));
  OK(MPI_Remove_error_string(code));
  OK(MPI_Remove_error_code(code));
  OK(MPI_Remove_error_class(class));
}
static void error_texts(void) {
  FAILS(MPI_Send(data, -1, MPI_INT, 0, 0, comm), MPI_ERR_COUNT);
  FAILS(MPI_Type_size(MPI_DATATYPE_NULL, data + 8), MPI_ERR_TYPE);
}

static const struct Case cases[] = {CASE(comm_dup),
                                    CASE(comm_dup_with_info),
                                    CASE(comm_idup),
                                    CASE(comm_split),
                                    CASE(comm_split_type),
                                    CASE(comm_create),
                                    CASE(comm_create_group),
                                    CASE(comm_create_from_group),
                                    CASE(comm_used),
                                    CASE(comm_pair),
                                    CASE(comm_cart),
                                    CASE(comm_graph),
                                    CASE(comm_dist_graph),
                                    CASE(intercomm),
                                    CASE(groups),
                                    CASE(types_regular),
                                    CASE(types_irregular),
                                    CASE(types_arrays),
                                    CASE(types_taken_apart),
                                    CASE(ops),
                                    CASE(infos),
                                    CASE(errhandlers),
                                    CASE(keyvals),
                                    CASE(codes),
                                    CASE(error_texts)};

int main(int argc, char** argv) {
  return check_leaks(argc, argv, cases, sizeof cases / sizeof *cases);
}

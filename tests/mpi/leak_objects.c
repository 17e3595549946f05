// SPDX-License-Identifier: Apache-2.0
// Every kind of object made and freed many times: what is allocated stays the same, and handles do
// not run out. A few thousand times each; a million with --full.
// ranks: 2
// timeout: 3000
#include <malloc.h>
#include <unistd.h>

#include "check.h"

static MPI_Comm comm;
static MPI_Group everybody;
static MPI_Info hints;
static MPI_Errhandler handler;
static MPI_Datatype vector;
static int other, data[64], received[64];

// -- communicators

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
static void comm_used(void) {  // caches of schedules and contexts go with it
  MPI_Comm made;
  int sum;
  OK(MPI_Comm_dup(comm, &made));
  OK(MPI_Sendrecv(data, 1, MPI_INT, other, 0, received, 1, MPI_INT, other, 0, made,
                  MPI_STATUS_IGNORE));
  OK(MPI_Allreduce(data, &sum, 1, MPI_INT, MPI_SUM, made));
  OK(MPI_Bcast(data, 8, vector, 0, made));
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

// -- groups, datatypes

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

// -- operations, info, handlers, keys, codes

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
static void hear(MPI_Comm* heard, int* code, ...) {
  (void)heard;
  (void)code;
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
static void error_texts(void) {  // what a failed call leaves
  FAILS(MPI_Send(data, -1, MPI_INT, 0, 0, comm), MPI_ERR_COUNT);
  FAILS(MPI_Type_size(MPI_DATATYPE_NULL, data + 8), MPI_ERR_TYPE);
}

// -- requests, messages

static void requests(void) {
  MPI_Request pair[2];
  OK(MPI_Irecv(received, 4, MPI_INT, other, 1, comm, &pair[0]));
  OK(MPI_Isend(data, 4, MPI_INT, other, 1, comm, &pair[1]));
  OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
  OK(MPI_Irecv(received, 4, MPI_INT, other, 9, comm, &pair[0]));
  OK(MPI_Cancel(&pair[0]));
  OK(MPI_Wait(&pair[0], MPI_STATUS_IGNORE));
}
static void requests_persistent(void) {
  MPI_Request pair[2];
  OK(MPI_Recv_init(received, 4, vector, other, 2, comm, &pair[0]));
  OK(MPI_Send_init(data, 4, vector, other, 2, comm, &pair[1]));
  OK(MPI_Startall(2, pair));
  OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&pair[i]));
}
static void requests_partitioned(void) {
  MPI_Request pair[2];
  OK(MPI_Precv_init(received, 2, 2, MPI_INT, other, 3, comm, MPI_INFO_NULL, &pair[0]));
  OK(MPI_Psend_init(data, 2, 2, MPI_INT, other, 3, comm, MPI_INFO_NULL, &pair[1]));
  OK(MPI_Startall(2, pair));
  OK(MPI_Pready_range(0, 1, pair[1]));
  OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&pair[i]));
}
static int query(void* state, MPI_Status* status) {
  (void)state;
  return MPI_Status_set_elements(status, MPI_INT, 0);
}
static int let_go(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}
static void requests_general(void) {
  MPI_Request request;
  OK(MPI_Grequest_start(query, let_go, cancel, NULL, &request));
  OK(MPI_Grequest_complete(request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}
static void requests_collective(void) {
  MPI_Request request;
  int sum;
  OK(MPI_Ibarrier(comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Allreduce_init(data, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
  OK(MPI_Start(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
}
static void messages(void) {
  MPI_Message message;
  MPI_Request request;
  OK(MPI_Isend(data, 3, MPI_INT, other, 4, comm, &request));
  OK(MPI_Mprobe(other, 4, comm, &message, MPI_STATUS_IGNORE));
  OK(MPI_Mrecv(received, 3, MPI_INT, &message, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}
static void messages_unexpected(void) {
  OK(MPI_Send(data, 40, MPI_INT, other, 5, comm));
  OK(MPI_Send(data, 1, MPI_INT, other, 6, comm));
  OK(MPI_Recv(received, 1, MPI_INT, other, 6, comm, MPI_STATUS_IGNORE));
  OK(MPI_Recv(received, 40, MPI_INT, other, 5, comm, MPI_STATUS_IGNORE));
}
static void truncated(void) {
  OK(MPI_Send(data, 3, MPI_INT, other, 7, comm));
  FAILS(MPI_Recv(received, 2, MPI_INT, other, 7, comm, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
}

// -- sessions, buffers

static void sessions(void) {
  MPI_Session session;
  MPI_Group group;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Group_free(&group));
  OK(MPI_Session_finalize(&session));
}
static char space[4096];
static void buffers(void) {
  void* was;
  int bytes;
  OK(MPI_Buffer_attach(space, sizeof space));
  OK(MPI_Bsend(data, 2, MPI_INT, other, 8, comm));
  OK(MPI_Recv(received, 2, MPI_INT, other, 8, comm, MPI_STATUS_IGNORE));
  OK(MPI_Buffer_detach(&was, &bytes));
  OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
  OK(MPI_Bsend(data, 2, MPI_INT, other, 8, comm));
  OK(MPI_Recv(received, 2, MPI_INT, other, 8, comm, MPI_STATUS_IGNORE));
  OK(MPI_Comm_detach_buffer(comm, &was, &bytes));
}
static void memory(void) {
  void* made;
  OK(MPI_Alloc_mem(100000, MPI_INFO_NULL, &made));
  OK(MPI_Free_mem(made));
}

// -- how much is too much

#define CASE(function) \
  { #function, function }
static const struct {
  const char* name;
  void (*once)(void);
} cases[] = {CASE(comm_dup),
             CASE(comm_dup_with_info),
             CASE(comm_idup),
             CASE(comm_split),
             CASE(comm_split_type),
             CASE(comm_create),
             CASE(comm_create_group),
             CASE(comm_create_from_group),
             CASE(comm_used),
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
             CASE(error_texts),
             CASE(requests),
             CASE(requests_persistent),
             CASE(requests_partitioned),
             CASE(requests_general),
             CASE(requests_collective),
             CASE(messages),
             CASE(messages_unexpected),
             CASE(truncated),
             CASE(sessions),
             CASE(buffers),
             CASE(memory)};
enum { kCases = sizeof cases / sizeof *cases };

static long resident_kib(void) {
  long total = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld %ld", &total, &resident) == 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static long allocated(void) {
  const struct mallinfo2 heap = mallinfo2();
  return (long)(heap.uordblks + heap.hblkhd);
}

// Pools fill and arrays grow to their size first. A leak of one byte a turn is found.
static void check_case(int which, int turns) {
  for (int i = 0; i < turns / 2 + 500; ++i) cases[which].once();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const long before = allocated(), pages = resident_kib();
  const double start = MPI_Wtime();
  for (int i = 0; i < turns; ++i) cases[which].once();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const long more = allocated() - before, grown = resident_kib() - pages;
  if (getenv("LEAK_VERBOSE") != NULL && rank == 0)
    printf("%-24s %8.2f us  %6ld bytes  %6ld KiB\n", cases[which].name,
           (MPI_Wtime() - start) / turns * 1e6, more, grown);
  if (more > turns / 2 || grown > 1024)
    FAIL("%s: after %d turns %ld bytes more are allocated, and %ld KiB more resident",
         cases[which].name, turns, more, grown);
}

int main(int argc, char** argv) {
  const char* full = getenv("FULL");
  const int turns = argc > 1 ? atoi(argv[1]) : full != NULL && *full != '\0' ? 1000000 : 20000;
  begin(&argc, &argv);
  other = 1 - rank;
  OK(MPI_Comm_create_errhandler(hear, &handler));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &everybody));
  OK(MPI_Info_create(&hints));
  OK(MPI_Info_set(hints, "mpi_assert_no_any_tag", "false"));
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &vector));
  OK(MPI_Type_commit(&vector));
  for (int i = 0; i < kCases; ++i) check_case(i, turns);
  OK(MPI_Type_free(&vector));
  OK(MPI_Info_free(&hints));
  OK(MPI_Group_free(&everybody));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Errhandler_free(&handler));
  return end();
}

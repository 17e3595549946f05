/* SPDX-License-Identifier: Apache-2.0
   Tern's extensions of MPI: names that begin with MPIX_.
   Why: mpi.h is the standard ABI and nothing else; who needs more says so by including this. */
#ifndef MPIX_H_TERN
#define MPIX_H_TERN

#include <mpi.h>

#if defined(__cplusplus)
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Floating point of 16 bits: IEEE binary16 (C's _Float16, CUDA's __half) and bfloat16
   (__nv_bfloat16). MPI_SUM, MPI_PROD, MPI_MIN and MPI_MAX take them; each result is rounded to
   nearest even. The names are those of MPICH and Open MPI; MPI-5.0 gives these handles to nothing
   else. */
#define MPIX_C_FLOAT16 ((MPI_Datatype)0x24a)
#define MPIX_BFLOAT16 ((MPI_Datatype)0x24c)
#define MPIX_FLOAT16 MPIX_C_FLOAT16
#define MPIX_C_BF16 MPIX_BFLOAT16

/* Kinds of GPU for MPIX_GPU_query_support. */
#define MPIX_GPU_SUPPORT_CUDA 0
#define MPIX_GPU_SUPPORT_ZE 1
#define MPIX_GPU_SUPPORT_HIP 2

/* 1 where buffers in CUDA memory may be passed to communication calls, 0 otherwise. */
int MPIX_Query_cuda_support(void);
/* The same for AMD's GPUs, by MPICH's name and by Open MPI's, and for Intel's: 0. */
int MPIX_Query_hip_support(void);
int MPIX_Query_rocm_support(void);
int MPIX_Query_ze_support(void);
/* The same for one kind of GPU: *is_supported becomes 1 or 0. MPI_ERR_ARG for an unknown kind. */
int MPIX_GPU_query_support(int gpu_type, int* is_supported);

/* How ranks without a launcher that Tern knows meet: by functions of the program, over whatever its
   processes have in common. Results are MPI error classes; MPI_SUCCESS is 0. */
#define MPIX_BOOT_VERSION 1
typedef struct MPIX_Boot {
  int version;      /* MPIX_BOOT_VERSION */
  int rank, size;   /* of the world to come */
  const char* job;  /* a name that no other job has; the same on all ranks */
  const char* host; /* where this rank runs; null or "": found by the library */
  void* context;    /* first argument of all functions */
  int (*put)(void* context, const char* key, const void* value, int bytes);
  /* Waits until the rank has put the key. A value longer than room: *bytes says how long. */
  int (*get)(void* context, int rank, const char* key, void* value, int room, int* bytes);
  int (*fence)(void* context);                              /* waits for all ranks */
  void (*abort)(void* context, int code, const char* text); /* may be null */
  void (*done)(void* context); /* none of these is called again; may be null */
} MPIX_Boot;

/* For the next world: before MPI_Init, or before the first session after the last world has ended.
   An error is returned; no error handler is called. */
int MPIX_Boot_provide(const MPIX_Boot* boot);

/* Ends this rank's calls and requests on the communicator with MPI_ERR_OTHER, in whatever thread
   they wait, and all that begin later on it. Other ranks are not told. */
int MPIX_Comm_interrupt(MPI_Comm comm);

/* Continuations: functions that are called when an operation, or all of a set, are complete. They
   belong to a continuation request, which is persistent: started by MPI_Start, complete when all
   that were attached to it have been called. They are called in MPIX_Continue(all), and in calls
   that test or wait for that request; they may call MPI. */
typedef int MPIX_Continue_cb_function(int rc, void* cb_data);
#define MPIX_CONT_REQBUF_VOLATILE \
  1                                /* the array of requests may go at once, as it always may here */
#define MPIX_CONT_REQUESTS_FREE 2  /* the same */
#define MPIX_CONT_POLL_ONLY 4      /* of MPIX_Continue_init: never called in MPIX_Continue(all) */
#define MPIX_CONT_DEFER_COMPLETE 8 /* not called in this MPIX_Continue(all) */
#define MPIX_CONT_INVOKE_FAILED 16 /* called with the error class where an operation failed */

/* max_poll: of functions, in one call that tests the request; 0 or MPI_UNDEFINED: no limit. */
int MPIX_Continue_init(int max_poll, int flags, MPI_Info info, MPI_Request* cont_req);
/* The requests become MPI_REQUEST_NULL; persistent ones stay. */
int MPIX_Continue(MPI_Request* request, MPIX_Continue_cb_function* cb, void* cb_data, int flags,
                  MPI_Status* status, MPI_Request cont_req);
int MPIX_Continueall(int count, MPI_Request requests[], MPIX_Continue_cb_function* cb,
                     void* cb_data, int flags, MPI_Status statuses[], MPI_Request cont_req);
/* The data of functions that were not called because an operation failed: at most *count, each
   once. */
int MPIX_Continue_get_failed(MPI_Request cont_req, int* count, void** cb_data);

/* Streams: a communicator with the stream of a GPU, on which operations are enqueued: each takes
   place when the stream comes to it, behind what was enqueued before, and what is enqueued later
   waits for it. Graphs may capture them. The names are those of MPICH. */
typedef struct MPIX_Stream_object* MPIX_Stream;
#define MPIX_STREAM_NULL ((MPIX_Stream)0x3f0)
/* An error class: a stream, or its capture, cannot be used. */
#define MPIX_ERR_STREAM 16000

/* info: "type" is "cudaStream_t", "value" the stream's handle, set by MPIX_Info_set_hex. */
int MPIX_Stream_create(MPI_Info info, MPIX_Stream* stream);
int MPIX_Stream_free(MPIX_Stream* stream);
int MPIX_Info_set_hex(MPI_Info info, const char* key, const void* value, int value_size);
/* Collective. Each rank gives its own stream; with MPIX_STREAM_NULL enqueued operations are done
   when their call returns. */
int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm* newcomm);
int MPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream* stream);

/* The buffers are the stream's until it has passed the operation; *status is written then. */
int MPIX_Send_enqueue(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm);
int MPIX_Send_enqueue_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                        MPI_Comm comm);
int MPIX_Recv_enqueue(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                      MPI_Comm comm, MPI_Status* status);
int MPIX_Recv_enqueue_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                        MPI_Comm comm, MPI_Status* status);
/* For MPIX_Wait_enqueue and MPIX_Waitall_enqueue alone, on the same stream. */
int MPIX_Isend_enqueue(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                       MPI_Comm comm, MPI_Request* request);
int MPIX_Isend_enqueue_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                         MPI_Comm comm, MPI_Request* request);
int MPIX_Irecv_enqueue(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                       MPI_Comm comm, MPI_Request* request);
int MPIX_Irecv_enqueue_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                         MPI_Comm comm, MPI_Request* request);
int MPIX_Wait_enqueue(MPI_Request* request, MPI_Status* status);
int MPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[],
                         MPI_Status array_of_statuses[]);
/* Of persistent requests, and of partitioned ones that MPI_Start has started. */
int MPIX_Start_enqueue(MPI_Request* request);
int MPIX_Pready_enqueue(int partition, MPI_Request request);
/* Collectives, in the same order on all ranks; the arguments are MPI's. */
int MPIX_Allreduce_enqueue(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                           MPI_Op op, MPI_Comm comm);
int MPIX_Allreduce_enqueue_c(const void* sendbuf, void* recvbuf, MPI_Count count,
                             MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPIX_Bcast_enqueue(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int MPIX_Bcast_enqueue_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
                         MPI_Comm comm);
int MPIX_Reduce_enqueue(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                        MPI_Op op, int root, MPI_Comm comm);
int MPIX_Reduce_enqueue_c(const void* sendbuf, void* recvbuf, MPI_Count count,
                          MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);
int MPIX_Allgather_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Allgather_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                             MPI_Comm comm);
int MPIX_Allgatherv_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                            void* recvbuf, const int recvcounts[], const int displs[],
                            MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Allgatherv_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                              MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Alltoall_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                          int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Alltoall_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                            void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                            MPI_Comm comm);
int MPIX_Alltoallv_enqueue(const void* sendbuf, const int sendcounts[], const int sdispls[],
                           MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                           const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Alltoallv_enqueue_c(const void* sendbuf, const MPI_Count sendcounts[],
                             const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                             const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                             MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Alltoallw_enqueue(const void* sendbuf, const int sendcounts[], const int sdispls[],
                           const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                           const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);
int MPIX_Alltoallw_enqueue_c(const void* sendbuf, const MPI_Count sendcounts[],
                             const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                             void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                             const MPI_Datatype recvtypes[], MPI_Comm comm);
int MPIX_Gather_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPIX_Gather_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                          void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                          MPI_Comm comm);
int MPIX_Gatherv_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                         const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                         int root, MPI_Comm comm);
int MPIX_Gatherv_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                           void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                           MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPIX_Scatter_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                         int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPIX_Scatter_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                           void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                           MPI_Comm comm);
int MPIX_Scatterv_enqueue(const void* sendbuf, const int sendcounts[], const int displs[],
                          MPI_Datatype sendtype, void* recvbuf, int recvcount,
                          MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPIX_Scatterv_enqueue_c(const void* sendbuf, const MPI_Count sendcounts[],
                            const MPI_Aint displs[], MPI_Datatype sendtype, void* recvbuf,
                            MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPIX_Reduce_scatter_block_enqueue(const void* sendbuf, void* recvbuf, int recvcount,
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPIX_Reduce_scatter_block_enqueue_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPIX_Reduce_scatter_enqueue(const void* sendbuf, void* recvbuf, const int recvcounts[],
                                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPIX_Reduce_scatter_enqueue_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPIX_Scan_enqueue(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                      MPI_Op op, MPI_Comm comm);
int MPIX_Scan_enqueue_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                        MPI_Op op, MPI_Comm comm);
int MPIX_Exscan_enqueue(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                        MPI_Op op, MPI_Comm comm);
int MPIX_Exscan_enqueue_c(const void* sendbuf, void* recvbuf, MPI_Count count,
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int MPIX_Neighbor_allgather_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                    MPI_Comm comm);
int MPIX_Neighbor_allgather_enqueue_c(const void* sendbuf, MPI_Count sendcount,
                                      MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                      MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Neighbor_allgatherv_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                     void* recvbuf, const int recvcounts[], const int displs[],
                                     MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Neighbor_allgatherv_enqueue_c(const void* sendbuf, MPI_Count sendcount,
                                       MPI_Datatype sendtype, void* recvbuf,
                                       const MPI_Count recvcounts[], const MPI_Aint displs[],
                                       MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Neighbor_alltoall_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                   MPI_Comm comm);
int MPIX_Neighbor_alltoall_enqueue_c(const void* sendbuf, MPI_Count sendcount,
                                     MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                     MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Neighbor_alltoallv_enqueue(const void* sendbuf, const int sendcounts[],
                                    const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                    const int recvcounts[], const int rdispls[],
                                    MPI_Datatype recvtype, MPI_Comm comm);
int MPIX_Neighbor_alltoallv_enqueue_c(const void* sendbuf, const MPI_Count sendcounts[],
                                      const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                      void* recvbuf, const MPI_Count recvcounts[],
                                      const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                      MPI_Comm comm);
int MPIX_Neighbor_alltoallw_enqueue(const void* sendbuf, const int sendcounts[],
                                    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                    void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                    const MPI_Datatype recvtypes[], MPI_Comm comm);
int MPIX_Neighbor_alltoallw_enqueue_c(const void* sendbuf, const MPI_Count sendcounts[],
                                      const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                      void* recvbuf, const MPI_Count recvcounts[],
                                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                      MPI_Comm comm);
int MPIX_Barrier_enqueue(MPI_Comm comm);

int PMPIX_Stream_create(MPI_Info info, MPIX_Stream* stream);
int PMPIX_Stream_free(MPIX_Stream* stream);
int PMPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm* newcomm);
int PMPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream* stream);
int PMPIX_Info_set_hex(MPI_Info info, const char* key, const void* value, int value_size);
int PMPIX_Send_enqueue(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                       MPI_Comm comm);
int PMPIX_Send_enqueue_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                         MPI_Comm comm);
int PMPIX_Recv_enqueue(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                       MPI_Comm comm, MPI_Status* status);
int PMPIX_Recv_enqueue_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                         MPI_Comm comm, MPI_Status* status);
int PMPIX_Isend_enqueue(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                        MPI_Comm comm, MPI_Request* request);
int PMPIX_Isend_enqueue_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                          int tag, MPI_Comm comm, MPI_Request* request);
int PMPIX_Irecv_enqueue(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                        MPI_Comm comm, MPI_Request* request);
int PMPIX_Irecv_enqueue_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                          MPI_Comm comm, MPI_Request* request);
int PMPIX_Wait_enqueue(MPI_Request* request, MPI_Status* status);
int PMPIX_Waitall_enqueue(int count, MPI_Request array_of_requests[],
                          MPI_Status array_of_statuses[]);
int PMPIX_Start_enqueue(MPI_Request* request);
int PMPIX_Pready_enqueue(int partition, MPI_Request request);
int PMPIX_Allreduce_enqueue(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm);
int PMPIX_Allreduce_enqueue_c(const void* sendbuf, void* recvbuf, MPI_Count count,
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int PMPIX_Bcast_enqueue(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int PMPIX_Bcast_enqueue_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root,
                          MPI_Comm comm);
int PMPIX_Reduce_enqueue(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                         MPI_Op op, int root, MPI_Comm comm);
int PMPIX_Reduce_enqueue_c(const void* sendbuf, void* recvbuf, MPI_Count count,
                           MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);
int PMPIX_Allgather_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                            void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Allgather_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                              MPI_Comm comm);
int PMPIX_Allgatherv_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                             void* recvbuf, const int recvcounts[], const int displs[],
                             MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Allgatherv_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                               MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Alltoall_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Alltoall_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                             MPI_Comm comm);
int PMPIX_Alltoallv_enqueue(const void* sendbuf, const int sendcounts[], const int sdispls[],
                            MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                            const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Alltoallv_enqueue_c(const void* sendbuf, const MPI_Count sendcounts[],
                              const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                              const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                              MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Alltoallw_enqueue(const void* sendbuf, const int sendcounts[], const int sdispls[],
                            const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                            const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);
int PMPIX_Alltoallw_enqueue_c(const void* sendbuf, const MPI_Count sendcounts[],
                              const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                              void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                              const MPI_Datatype recvtypes[], MPI_Comm comm);
int PMPIX_Gather_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                         int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
int PMPIX_Gather_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                           void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                           MPI_Comm comm);
int PMPIX_Gatherv_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                          const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                          int root, MPI_Comm comm);
int PMPIX_Gatherv_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                            void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                            MPI_Datatype recvtype, int root, MPI_Comm comm);
int PMPIX_Scatter_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                          int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
int PMPIX_Scatter_enqueue_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                            void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
                            MPI_Comm comm);
int PMPIX_Scatterv_enqueue(const void* sendbuf, const int sendcounts[], const int displs[],
                           MPI_Datatype sendtype, void* recvbuf, int recvcount,
                           MPI_Datatype recvtype, int root, MPI_Comm comm);
int PMPIX_Scatterv_enqueue_c(const void* sendbuf, const MPI_Count sendcounts[],
                             const MPI_Aint displs[], MPI_Datatype sendtype, void* recvbuf,
                             MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
int PMPIX_Reduce_scatter_block_enqueue(const void* sendbuf, void* recvbuf, int recvcount,
                                       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int PMPIX_Reduce_scatter_block_enqueue_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int PMPIX_Reduce_scatter_enqueue(const void* sendbuf, void* recvbuf, const int recvcounts[],
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int PMPIX_Reduce_scatter_enqueue_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                                   MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int PMPIX_Scan_enqueue(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                       MPI_Op op, MPI_Comm comm);
int PMPIX_Scan_enqueue_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm);
int PMPIX_Exscan_enqueue(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm);
int PMPIX_Exscan_enqueue_c(const void* sendbuf, void* recvbuf, MPI_Count count,
                           MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int PMPIX_Neighbor_allgather_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                     void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                     MPI_Comm comm);
int PMPIX_Neighbor_allgather_enqueue_c(const void* sendbuf, MPI_Count sendcount,
                                       MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                       MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Neighbor_allgatherv_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                      void* recvbuf, const int recvcounts[], const int displs[],
                                      MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Neighbor_allgatherv_enqueue_c(const void* sendbuf, MPI_Count sendcount,
                                        MPI_Datatype sendtype, void* recvbuf,
                                        const MPI_Count recvcounts[], const MPI_Aint displs[],
                                        MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Neighbor_alltoall_enqueue(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                    MPI_Comm comm);
int PMPIX_Neighbor_alltoall_enqueue_c(const void* sendbuf, MPI_Count sendcount,
                                      MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                      MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Neighbor_alltoallv_enqueue(const void* sendbuf, const int sendcounts[],
                                     const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                     const int recvcounts[], const int rdispls[],
                                     MPI_Datatype recvtype, MPI_Comm comm);
int PMPIX_Neighbor_alltoallv_enqueue_c(const void* sendbuf, const MPI_Count sendcounts[],
                                       const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                       void* recvbuf, const MPI_Count recvcounts[],
                                       const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                       MPI_Comm comm);
int PMPIX_Neighbor_alltoallw_enqueue(const void* sendbuf, const int sendcounts[],
                                     const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                     void* recvbuf, const int recvcounts[],
                                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                     MPI_Comm comm);
int PMPIX_Neighbor_alltoallw_enqueue_c(const void* sendbuf, const MPI_Count sendcounts[],
                                       const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                       void* recvbuf, const MPI_Count recvcounts[],
                                       const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                       MPI_Comm comm);
int PMPIX_Barrier_enqueue(MPI_Comm comm);
int PMPIX_Continue_init(int max_poll, int flags, MPI_Info info, MPI_Request* cont_req);
int PMPIX_Continue(MPI_Request* request, MPIX_Continue_cb_function* cb, void* cb_data, int flags,
                   MPI_Status* status, MPI_Request cont_req);
int PMPIX_Continueall(int count, MPI_Request requests[], MPIX_Continue_cb_function* cb,
                      void* cb_data, int flags, MPI_Status statuses[], MPI_Request cont_req);
int PMPIX_Continue_get_failed(MPI_Request cont_req, int* count, void** cb_data);
int PMPIX_Comm_interrupt(MPI_Comm comm);
int PMPIX_Boot_provide(const MPIX_Boot* boot);
int PMPIX_Query_cuda_support(void);
int PMPIX_Query_hip_support(void);
int PMPIX_Query_rocm_support(void);
int PMPIX_Query_ze_support(void);
int PMPIX_GPU_query_support(int gpu_type, int* is_supported);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#if defined(__cplusplus)
}
#endif

#endif /* MPIX_H_TERN */

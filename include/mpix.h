/* SPDX-License-Identifier: Apache-2.0
   Tern's extensions of MPI, with the prefix MPIX_; mpi.h has only the standard ABI. */
#ifndef MPIX_H_TERN
#define MPIX_H_TERN

#include <mpi.h>

#if defined(__cplusplus)
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* 16-bit floating point: IEEE binary16 (C's _Float16, CUDA's __half) and bfloat16 (__nv_bfloat16).
   MPI_SUM, MPI_PROD, MPI_MIN and MPI_MAX accept these types; each result is rounded to nearest
   even. MPICH and Open MPI use the same names; MPI-5.0 leaves the handle values unused. */
#define MPIX_C_FLOAT16 ((MPI_Datatype)0x24a)
#define MPIX_BFLOAT16 ((MPI_Datatype)0x24c)
#define MPIX_FLOAT16 MPIX_C_FLOAT16
#define MPIX_C_BF16 MPIX_BFLOAT16

/* Kinds of GPU for MPIX_GPU_query_support. */
#define MPIX_GPU_SUPPORT_CUDA 0
#define MPIX_GPU_SUPPORT_ZE 1
#define MPIX_GPU_SUPPORT_HIP 2

/* Returns 1 if communication calls accept buffers in CUDA memory, else 0. */
int MPIX_Query_cuda_support(void);
/* The same for AMD GPUs (names of MPICH and Open MPI) and Intel GPUs; always 0. */
int MPIX_Query_hip_support(void);
int MPIX_Query_rocm_support(void);
int MPIX_Query_ze_support(void);
/* Sets *is_supported to 1 or 0 for a kind of GPU. MPI_ERR_ARG for an unknown kind. */
int MPIX_GPU_query_support(int gpu_type, int* is_supported);

/* Bootstrap without a launcher known to Tern: the program's functions exchange keys over any store
   shared by its processes. They return MPI error classes; MPI_SUCCESS is 0. */
#define MPIX_BOOT_VERSION 1
typedef struct MPIX_Boot {
  int version;      /* MPIX_BOOT_VERSION */
  int rank, size;   /* of the next world */
  const char* job;  /* a unique name, the same on all ranks */
  const char* host; /* host of this rank; null or "": detected */
  void* context;    /* first argument of all functions */
  int (*put)(void* context, const char* key, const void* value, int bytes);
  /* Waits for the key of the rank. *bytes: the length of the value, even if longer than room. */
  int (*get)(void* context, int rank, const char* key, void* value, int room, int* bytes);
  int (*fence)(void* context);                              /* waits for all ranks */
  void (*abort)(void* context, int code, const char* text); /* may be null */
  void (*done)(void* context); /* last call of these functions; may be null */
} MPIX_Boot;

/* Sets the bootstrap of the next world. Call before MPI_Init, or before the first session after the
   end of the last world. Returns an error code without calling an error handler. */
int MPIX_Boot_provide(const MPIX_Boot* boot);

/* Ends this rank's current and later calls and requests on the communicator with MPI_ERR_OTHER, in
   all threads. Other ranks are not notified. */
int MPIX_Comm_interrupt(MPI_Comm comm);

/* Regions of a trace (mpirun --trace). */
int MPIX_Trace_begin(const char* name);
int MPIX_Trace_end(const char* name);

/* Fault tolerance: the names of ULFM. With TERN_FT=1 (mpirun --with-ft ulfm) a rank's death leaves
   the job alive: operations that need the dead process fail with MPIX_ERR_PROC_FAILED. Without,
   these functions work as if no process failed. */
#define MPIX_ERR_PROC_FAILED 16001
/* A receive from any source is still pending: a possible sender has failed, and is not
   acknowledged. */
#define MPIX_ERR_PROC_FAILED_PENDING 16002
#define MPIX_ERR_REVOKED 16003
/* Attribute of MPI_COMM_WORLD: an int, 1 with fault tolerance, else 0. */
#define MPIX_FT 0x7e8

/* Local: ends all current and later operations on comm at all members, with MPIX_ERR_REVOKED. */
int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_is_revoked(MPI_Comm comm, int* flag);
/* Collective over the living members: newcomm has those, in the order of comm. */
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request);
/* Collective over the living members: *flag becomes the bitwise and of all flags. Fails with
   MPIX_ERR_PROC_FAILED at all members, with the same *flag, if a member has failed and not all
   living members have acknowledged that. */
int MPIX_Comm_agree(MPI_Comm comm, int* flag);
int MPIX_Comm_iagree(MPI_Comm comm, int* flag, MPI_Request* request);
/* Local: the failed members that this rank knows, in the order of detection. */
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group* failedgrp);
/* Local: acknowledges the first num_to_ack of these. *num_acked: now acknowledged. */
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int* num_acked);
/* The older pair: acknowledges all known failures; the acknowledged members. */
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failedgrp);

/* Continuations: callbacks for the completion of an operation or a set of operations. A callback
   is attached to a persistent continuation request, started by MPI_Start, and complete when all
   attached callbacks have returned. MPIX_Continue(all) and tests and waits for the continuation
   request run the callbacks, which may call MPI. */
typedef int MPIX_Continue_cb_function(int rc, void* cb_data);
#define MPIX_CONT_REQBUF_VOLATILE \
  1 /* the array of requests may be freed immediately; Tern always permits this */
#define MPIX_CONT_REQUESTS_FREE 2  /* the same */
#define MPIX_CONT_POLL_ONLY 4      /* of MPIX_Continue_init: never run in MPIX_Continue(all) */
#define MPIX_CONT_DEFER_COMPLETE 8 /* not run in this MPIX_Continue(all) */
#define MPIX_CONT_INVOKE_FAILED 16 /* run with the error class of a failed operation */

/* max_poll: maximum number of callbacks in one test; 0 or MPI_UNDEFINED: no limit. */
int MPIX_Continue_init(int max_poll, int flags, MPI_Info info, MPI_Request* cont_req);
/* Sets the requests to MPI_REQUEST_NULL, except persistent requests. */
int MPIX_Continue(MPI_Request* request, MPIX_Continue_cb_function* cb, void* cb_data, int flags,
                  MPI_Status* status, MPI_Request cont_req);
int MPIX_Continueall(int count, MPI_Request requests[], MPIX_Continue_cb_function* cb,
                     void* cb_data, int flags, MPI_Status statuses[], MPI_Request cont_req);
/* Returns the cb_data of callbacks not run because of a failed operation: at most *count, each
   once. */
int MPIX_Continue_get_failed(MPI_Request cont_req, int* count, void** cb_data);

/* Streams: operations enqueued on a communicator with a GPU stream run in stream order. Graphs may
   capture them. The names are those of MPICH. */
typedef struct MPIX_Stream_object* MPIX_Stream;
#define MPIX_STREAM_NULL ((MPIX_Stream)0x3f0)
/* Error class: a stream or its capture is unusable. */
#define MPIX_ERR_STREAM 16000

/* info: "type" is "cudaStream_t"; "value" is the stream handle, set by MPIX_Info_set_hex. */
int MPIX_Stream_create(MPI_Info info, MPIX_Stream* stream);
int MPIX_Stream_free(MPIX_Stream* stream);
int MPIX_Info_set_hex(MPI_Info info, const char* key, const void* value, int value_size);
/* Collective. Each rank passes its own stream. With MPIX_STREAM_NULL enqueued operations are
   complete when their call returns. */
int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm* newcomm);
int MPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream* stream);

/* The stream owns the buffers until the operation is complete, and then writes *status. */
int MPIX_Send_enqueue(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm);
int MPIX_Send_enqueue_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                        MPI_Comm comm);
int MPIX_Recv_enqueue(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                      MPI_Comm comm, MPI_Status* status);
int MPIX_Recv_enqueue_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                        MPI_Comm comm, MPI_Status* status);
/* Only for MPIX_Wait_enqueue and MPIX_Waitall_enqueue on the same stream. */
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
/* For persistent requests, and for partitioned requests started by MPI_Start. */
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
int PMPIX_Comm_revoke(MPI_Comm comm);
int PMPIX_Comm_is_revoked(MPI_Comm comm, int* flag);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm);
int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request);
int PMPIX_Comm_agree(MPI_Comm comm, int* flag);
int PMPIX_Comm_iagree(MPI_Comm comm, int* flag, MPI_Request* request);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group* failedgrp);
int PMPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int* num_acked);
int PMPIX_Comm_failure_ack(MPI_Comm comm);
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failedgrp);
int PMPIX_Comm_interrupt(MPI_Comm comm);
int PMPIX_Trace_begin(const char* name);
int PMPIX_Trace_end(const char* name);
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

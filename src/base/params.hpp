// SPDX-License-Identifier: Apache-2.0
// The table of all parameters, read from files and the environment.
// Why: one documented place; every wrong name or value adds a complaint.
// Lifetime: one Params per Process, filled once. Threads: read-only afterwards.
// See: base/config.hpp (where the files are), tests/unit/base/params_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/wire.hpp"

namespace tern {

// Enums of kind Word: values in the order of the words of one_of().
enum class SingleCopy : uint8_t { kAuto, kPipeline, kPull, kBoth };
enum class SharedReduction : uint8_t { kSlices, kLeader };
enum class DescriptorWay : uint8_t { kAuto, kPidfd, kSocket };
enum class GpuEngine : uint8_t { kAuto, kStream, kKernel, kHost };
enum class GpuMulticast : uint8_t { kAuto, kOff };
enum class ProgressBy : uint8_t { kAuto, kCalls, kThread };
enum class CollTune : uint8_t { kOff, kAuto, kLearn };
enum class WindowAccess : uint8_t { kAuto, kCopied, kMessages, kNetwork };
enum class IoWay : uint8_t { kAuto, kPlain, kMapped, kExchange };
enum class IoClose : uint8_t { kAuto, kSync };
enum class IoSystem : uint8_t { kAuto, kNfs };
enum class NetConnections : uint8_t { kAuto, kRc, kDc, kUd };
enum class InitialHandler : uint8_t { kFatal, kAbort, kReturn };

// X(field, name, kind, default, range, sharing, meaning)
// Kinds: Size (bytes; units k, m, g), Time (microseconds; units us, ms, s), Seconds (units ms, s,
// min; stored in microseconds), Count, Switch (0 or 1), Text, Word (a single word; an enum or
// text), Words (several, with commas), NumberOr (a number, also as 0x7fff, or a word, stored as
// -1, -2, ...). In one_of() a "*" at the end of a word matches any text.
// algorithm_of() lists the algorithms of a collective. Sharing: own(): ranks may differ; shared():
// the value must be equal on all ranks; shared_words(): only these words must be equal.
// Users set GROUP.PART as GROUP="PART=VALUE,..." (TERN_COLL="allreduce=ring"). Old names
// (TERN_PART, and those in param_names.cc) are accepted for one release with a remark.
// clang-format off
/// Parameters for users, listed by tern_info, the manual and MPI_T.
#define TERN_PARAMS(X)                                                                             \
  X(check, "TERN_CHECK", Words, "1",                                                               \
    one_of("0|1|types|collective|rma|files|leaks|all"),                                            \
    shared_words("types|collective|rma|files"),                                                    \
    "0: no argument checks. 1: check arguments. types: also compare the types and counts of "      \
    "messages. collective: also compare call, root, count, type and operation of collectives, "    \
    "and collective calls of files, between ranks. rma: also find conflicting accesses to "        \
    "windows. files: also report bytes that two ranks write in one collective call. leaks: also "  \
    "list the objects that MPI_Finalize finds, and requests that MPI_File_close finds")            \
  X(explain, "TERN_EXPLAIN", Word, "0", one_of("0|1|json:*"), own(),                               \
    "1: print each choice of transport, protocol and fallback with its reason. json:FILE: append " \
    "one line of JSON per choice to FILE")                                                         \
  X(profile, "TERN_PROFILE", Text, "", one_of(nullptr), own(),                                     \
    "1: print a page at the end: time in MPI, calls, and for whom ranks waited. FILE: write the "  \
    "profile as JSON as well (mpirun --profile)")                                                  \
  X(trace, "TERN_TRACE", Text, "", one_of(nullptr), own(),                                         \
    "file for a record of every call, which tern_trace reads (mpirun --trace). Without Tern's "    \
    "mpirun each rank writes FILE.RANK. 0: no trace")                                              \
  X(trace_buffer, "TERN_TRACE_BUFFER", Size, 4194304, between(4096, 1073741824), own(),            \
    "bytes of memory per thread for records on their way to the file. A full buffer loses its "    \
    "oldest records, and the trace counts them")                                                   \
  X(hang, "TERN_HANG", Seconds, 0, between(0, 86400000000), own(),                                 \
    "report the ranks that wait, and for whom, after this time without progress. 0: never")        \
  X(ft, "TERN_FT", Switch, 0, between(0, 1), shared(),                                             \
    "1: the job survives dead ranks (MPIX_Comm_shrink and others; mpirun --with-ft). 0: a dead "   \
    "rank ends the job")                                                                           \
  X(backtrace, "TERN_BACKTRACE", Switch, 1, between(0, 1), own(),                                  \
    "1: print the call stack when SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT ends a rank. 0: "     \
    "leave these signals alone")                                                                   \
  X(transport, "TERN_TRANSPORT", Words, "auto", one_of("auto|self|sm|ucx|ofi"), shared(),          \
    "transports that messages may use. auto: choose per peer. self: the own rank (always "         \
    "allowed). sm: shared memory. ucx: UCX. ofi: libfabric. UCX and libfabric also connect ranks " \
    "of one host")                                                                                 \
  X(ofi_provider, "TERN_OFI_PROVIDER", Text, "", one_of(nullptr), shared(),                        \
    "libfabric provider, as fi_info names it (tcp, verbs;ofi_rxm). empty: the best available")     \
  X(ucx_library, "TERN_UCX_LIBRARY", Text, "", one_of(nullptr), own(),                             \
    "path of UCX, instead of libucp.so.0")                                                         \
  X(ofi_library, "TERN_OFI_LIBRARY", Text, "", one_of(nullptr), own(),                             \
    "path of libfabric, instead of libfabric.so.1")                                                \
  X(net_timeout, "TERN_NET_TIMEOUT", Seconds, 60000000, between(1000000, 86400000000), own(),      \
    "a peer on another host is lost after this time without an answer. Operations with the peer "  \
    "then fail")                                                                                   \
  X(net_cache, "TERN_NET_CACHE", Size, 0, between(0, 1125899906842624), own(),                     \
    "bytes of memory that UCX or libfabric keeps registered for RDMA after use, and, apart from "  \
    "that, Tern of device memory. 0: a quarter of ulimit -l if limited, else the library's limit; " \
    "no limit for device memory")                                                                  \
  X(net_rails, "TERN_NET_RAILS", Count, 0, between(0, 16), shared(),                               \
    "adapters or interfaces that carry one message together (UCX_MAX_EAGER_RAILS, "                \
    "UCX_MAX_RNDV_RAILS, UCX_MAX_RMA_RAILS). 0: UCX decides. Without effect over libfabric")       \
  X(net_connections, "TERN_NET_CONNECTIONS", Word, NetConnections::kAuto,                          \
    one_of("auto|rc|dc|ud"), shared(),                                                             \
    "connections of RDMA adapters (UCX_TLS, UCX_RC_MAX_NUM_EPS). auto: UCX decides by the number " \
    "of ranks, rc up to 256. rc: memory for each peer. dc: memory for a few peers at a time "      \
    "(ConnectX). ud: datagrams, no memory per peer and no RDMA")                                   \
  X(net_pkey, "TERN_NET_PKEY", NumberOr, -1, number_or(1, 65535, "auto"), shared(),                \
    "partition key of the network, as 0x7fff (UCX_IB_PKEY; libfabric: FI_OPX_PKEY, PSM3_PKEY). "   \
    "Ports without this key are not used. auto: the first key of full membership")                 \
  X(net_gid, "TERN_NET_GID", NumberOr, -1, number_or(0, 255, "auto"), own(),                       \
    "index in the adapters' table of addresses, for RoCE (UCX_IB_GID_INDEX; show_gids lists the "  \
    "table). Ports without this address are not used. auto: UCX decides")                          \
  X(net_service_level, "TERN_NET_SERVICE_LEVEL", NumberOr, -1, number_or(0, 15, "auto"), own(),    \
    "service level of InfiniBand, or priority of Ethernet (UCX_IB_SL; libfabric: FI_OPX_SL, "      \
    "PSM3_NIC_SL). auto: the library decides")                                                     \
  X(net_traffic_class, "TERN_NET_TRAFFIC_CLASS", NumberOr, -1,                                     \
    number_or(0, 255, "auto|best-effort|low-latency|dedicated-access|bulk-data"), own(),           \
    "a number: traffic class of InfiniBand and RoCE, DSCP times 4 (UCX_IB_TRAFFIC_CLASS). A "      \
    "word: class of libfabric (cxi; efa has low-latency). auto: the library decides")              \
  X(eager_limit, "TERN_EAGER_LIMIT", Size, 65536, between(0, 65536), own(),                        \
    "send messages up to this many bytes eagerly, before the receive is posted")                   \
  X(unexpected_limit, "TERN_UNEXPECTED_LIMIT", Size, 4194304, between(0, 1099511627776), own(),    \
    "bytes of unexpected messages that a rank buffers per sender. Further messages wait at the "   \
    "sender")                                                                                      \
  X(sm_pool_bytes, "TERN_SM_POOL", Size, 8388608, between(1048576, 1073741824), own(),             \
    "shared memory: bytes of payload that one rank may have in flight")                            \
  X(sm_single_copy, "TERN_SM_SINGLE_COPY", Word, SingleCopy::kAuto,                                \
    one_of("auto|pipeline|pull|both"), own(),                                                      \
    "shared memory: how large messages are copied. auto: choose per message. pipeline: two "       \
    "copies. pull: the receiver reads. both: sender and receiver each copy a part")                \
  X(coll, "TERN_COLL", Text, "", one_of(nullptr), own(),                                           \
    "algorithms of collectives: COLLECTIVE=ALGORITHM, with commas, such as "                       \
    "allreduce=ring,bcast=chain. tern_coll list prints the algorithms. Calls that an algorithm "   \
    "cannot serve ignore the setting. The algorithms, except those of neighbor_*, must be equal "  \
    "on all ranks")                                                                                \
  X(coll_table, "TERN_COLL_TABLE", Text, "", one_of(nullptr), shared(),                            \
    "file of rules that map sizes to algorithms. tern_coll tune writes such a file")               \
  X(coll_levels, "TERN_COLL_LEVELS", Text, "", one_of(nullptr), shared(),                          \
    "levels of hierarchical collectives, instead of the launcher's: ranks per host and per part "  \
    "(8,2), a machine that ranks fill in turn (pack:2 l3:2 core:4), or the part to which ranks "   \
    "are bound (package, numa, l3, core)")                                                         \
  X(topology, "TERN_TOPOLOGY", Text, "", one_of(nullptr), own(),                                   \
    "file with the graph of the job's GPUs, switches and links, or a known machine (tern_coll "    \
    "topology). The graph must be equal on all ranks; comments and order may differ. auto: the "   \
    "lowest rank of each host discovers the host's graph (rank i of a host has the i-th GPU by "   \
    "PCI address)")                                                                                \
  X(forest, "TERN_FOREST", Word, "auto", one_of("off|auto"), shared(),                             \
    "auto: with a graph (TERN_TOPOLOGY), collectives take trees along the links (forest) where "   \
    "the graph promises 10 % less time. Sums of floats need the hint tern_any_order. off: only "   \
    "where TERN_COLL names forest")                                                                \
  X(plan_cache, "TERN_PLAN_CACHE", Text, "auto", one_of(nullptr), own(),                           \
    "folder of the trees that earlier jobs computed for a graph; rank 0 reads and writes. auto: "  \
    "tern/plans in XDG_CACHE_HOME or ~/.cache. off: none")                                         \
  X(coll_tune, "TERN_COLL_TUNE", Word, CollTune::kAuto, one_of("off|auto|learn"), shared(),        \
    "auto: collectives measure their algorithms while the program runs and use the fastest. Trials "\
    "cost at most 2 % of the time. off: no trials. learn: trials without that bound")              \
  X(coll_learnt, "TERN_COLL_LEARNT", Text, "auto", one_of(nullptr), own(),                         \
    "file of measured collectives. mpirun reads the file, or rank 0 where another launcher "       \
    "starts the job. auto: a file per machine in ~/.cache/tern. none: no file. tern_coll show "    \
    "prints the file, tern_coll forget removes the file")                                          \
  X(gpu_engine, "TERN_GPU_ENGINE", Word, GpuEngine::kAuto,                                         \
    one_of("auto|stream|kernel|host"), shared(),                                                   \
    "collectives between GPUs: auto. stream: copies and stream memory operations. kernel: one "    \
    "kernel per call, which waits for the kernels of other ranks. host: the CPU drives each step") \
  X(gpu_wire, "TERN_GPU_WIRE", Word, Wire::kAuto, one_of(kWireWords), shared(),                    \
    "wire protocol of collective kernels: auto. simple: data, then a flag"                         \
    TERN_PUSH_WIRES(TERN_WIRE_MEANING) ". multimem: NVLink multicast, where an NVLink switch "     \
    "reduces")                                                                                     \
  X(gpu_scratch, "TERN_GPU_SCRATCH", Size, 33554432, between(1048576, 1099511627776), shared(),    \
    "bytes of device memory per rank and communicator for enqueued collectives in flight")         \
  X(gpu_blocks, "TERN_GPU_BLOCKS", Count, 32, between(1, 32), shared(),                            \
    "most thread blocks of a collective's kernel. Fewer leave processors for computation")         \
  X(gpu_timeout, "TERN_GPU_TIMEOUT", Seconds, 30000000, between(0, 86400000000), own(),            \
    "enqueued collectives: after this time, report the rank for which a stream waits. 0: never")   \
  X(channels, "TERN_CHANNELS", Count, 0, between(0, 8), own(),                                     \
    "with MPI_THREAD_MULTIPLE: communicators that threads can use in parallel (1, 2, 4 or 8). 0: " \
    "choose by cores")                                                                             \
  X(progress, "TERN_PROGRESS", Word, ProgressBy::kAuto, one_of("auto|calls|thread"), own(),        \
    "calls: messages progress in MPI calls only. thread: a thread also progresses messages. auto: "\
    "a thread from the first window on that other ranks reach by messages")                        \
  X(spin, "TERN_SPIN", Time, 0, between(0, 1000000), own(),                                        \
    "time that a waiting rank polls before the rank sleeps. 0: choose by ranks and cores")         \
  X(io, "TERN_IO", Word, IoWay::kAuto, one_of("auto|plain|mapped|exchange"), shared(),             \
    "transfers of files: auto. plain: a system call per block of the file. mapped: small blocks "  \
    "through a mapping of the file. exchange: collective transfers through shared memory, also "   \
    "for large blocks")                                                                            \
  X(io_buffer, "TERN_IO_BUFFER", Size, 16777216, between(65536, 1073741824), shared(),             \
    "bytes of shared memory per rank for collective transfers of a file")                          \
  X(io_hints, "TERN_IO_HINTS", Text, "", one_of(nullptr), own(),                                   \
    "file with a hint per line (key value), for all files that the program opens")                 \
  X(io_close, "TERN_IO_CLOSE", Word, IoClose::kAuto, one_of("auto|sync"), own(),                   \
    "auto: MPI_File_close flushes files on NFS and FUSE to storage. sync: all files")              \
  X(io_direct_storage, "TERN_IO_DIRECT_STORAGE", Switch, 0, between(0, 1), shared(),               \
    "1: blocking transfers of files move GPU memory from 1 MiB on by GPUDirect Storage "           \
    "(libcufile.so.0), where the kernel module nvidia-fs is loaded")                               \
  X(boot, "TERN_BOOT", Word, "auto", one_of("auto|mpirun|pmix|provided|singleton"), own(),         \
    "how ranks find each other: auto, mpirun, pmix, provided (MPIX_Boot_provide; auto prefers "    \
    "it), singleton")

/// The parts of TERN_COLL: an algorithm per collective.
#define TERN_COLL_PARAMS(X)                                                                        \
  X(coll_barrier, "TERN_COLL.barrier", Word, "auto", algorithm_of("barrier"), shared(), "")        \
  X(coll_bcast, "TERN_COLL.bcast", Word, "auto", algorithm_of("bcast"), shared(), "")              \
  X(coll_gather, "TERN_COLL.gather", Word, "auto", algorithm_of("gather"), shared(), "")           \
  X(coll_scatter, "TERN_COLL.scatter", Word, "auto", algorithm_of("scatter"), shared(), "")        \
  X(coll_allgather, "TERN_COLL.allgather", Word, "auto", algorithm_of("allgather"), shared(), "")  \
  X(coll_alltoall, "TERN_COLL.alltoall", Word, "auto", algorithm_of("alltoall"), shared(), "")     \
  X(coll_neighbor_allgather, "TERN_COLL.neighbor_allgather", Word, "auto",                         \
    algorithm_of("neighbor_allgather"), own(), "")                                                 \
  X(coll_neighbor_alltoall, "TERN_COLL.neighbor_alltoall", Word, "auto",                           \
    algorithm_of("neighbor_alltoall"), own(), "")                                                  \
  X(coll_reduce, "TERN_COLL.reduce", Word, "auto", algorithm_of("reduce"), shared(), "")           \
  X(coll_allreduce, "TERN_COLL.allreduce", Word, "auto", algorithm_of("allreduce"), shared(), "")  \
  X(coll_reduce_scatter, "TERN_COLL.reduce_scatter", Word, "auto",                                 \
    algorithm_of("reduce_scatter"), shared(), "")                                                  \
  X(coll_scan, "TERN_COLL.scan", Word, "auto", algorithm_of("scan"), shared(), "")                 \
  X(coll_exscan, "TERN_COLL.exscan", Word, "auto", algorithm_of("exscan"), shared(), "")

/// Not listed. The parts of TERN_TEST serve tests and experiments. mpirun sets the last two rows:
/// MPI_INFO_ENV and calls before MPI_Init need the values before a rank maps the start-up block.
#define TERN_HIDDEN_PARAMS(X)                                                                      \
  X(net_eager, "TERN_TEST.net_eager", Size, 131072, between(0, 1048576), own(),                    \
    "eager limit of contiguous messages to other hosts")                                           \
  X(net_put, "TERN_TEST.net_put", Size, 0, between(0, 1099511627776), own(),                       \
    "contiguous messages to other hosts are read or put by RDMA from this many bytes on. 0: only "  \
    "by networks with RDMA")                                                                       \
  X(sm_ring_bytes, "TERN_TEST.sm_ring", Size, 65536, between(4096, 1048576), own(),                \
    "bytes of the ring of a pair of ranks; a power of two")                                        \
  X(sm_fragment, "TERN_TEST.sm_fragment", Size, 8192, between(4096, 32768), own(),                 \
    "bytes of a fragment of a pipelined message")                                                  \
  X(sm_fragments, "TERN_TEST.sm_fragments", Count, 8, between(2, 128), own(),                      \
    "fragments in flight; more would exceed the cache")                                            \
  X(sm_pull_limit, "TERN_TEST.sm_pull_limit", Size, 61440, between(0, 1073741824), own(),          \
    "a message that travels alone is copied once from this many bytes on")                         \
  X(sm_both_limit, "TERN_TEST.sm_both_limit", Size, 8192, between(0, 1073741824), own(),           \
    "sender and receiver share a single copy from this many bytes on")                             \
  X(sm_worlds, "TERN_TEST.sm_worlds", Switch, 1, between(0, 1), own(),                             \
    "0: memory of other worlds on this host cannot be opened")                                     \
  X(cuda_ipc, "TERN_TEST.cuda_ipc", Switch, 1, between(0, 1), own(),                               \
    "0: copy through the host instead of mapping peers' device memory")                            \
  X(cuda_mail, "TERN_TEST.cuda_mail", Switch, 1, between(0, 1), own(),                             \
    "0: copies of the driver instead of a kernel at each end of small messages")                   \
  X(cuda_chunk, "TERN_TEST.cuda_chunk", Size, 524288, between(4096, 1073741824), own(),            \
    "bytes of a chunk of device memory that goes through a staging buffer")                        \
  X(cuda_chunks, "TERN_TEST.cuda_chunks", Count, 3, between(1, 64), own(),                         \
    "chunks of one message in flight through the host")                                            \
  X(cuda_stage, "TERN_TEST.cuda_stage", Size, 268435456, between(0, 1099511627776), own(),         \
    "most bytes of a device staging buffer, for data with holes or without a handle")              \
  X(cuda_reduce, "TERN_TEST.cuda_reduce", Word, SharedReduction::kSlices,                          \
    one_of("slices|leader"), own(),                                                                \
    "ranks that share a GPU: each rank reduces a slice, or rank 0 reduces everything")             \
  X(cuda_ipc_cache, "TERN_TEST.cuda_ipc_cache", Size, 1099511627776, between(0, 1099511627776),    \
    own(), "bytes of peers' device memory that stay mapped between messages")                      \
  X(cuda_ipc_descriptors, "TERN_TEST.cuda_ipc_descriptors", Word, DescriptorWay::kAuto,            \
    one_of("auto|pidfd|socket"), own(),                                                            \
    "how a rank gets descriptors of peers' device memory: pidfd (needs the right to trace) or "    \
    "socket")                                                                                      \
  X(gpu_multicast, "TERN_TEST.gpu_multicast", Word, GpuMulticast::kAuto, one_of("auto|off"),       \
    shared(), "off: no NVLink multicast")                                                          \
  X(stream_chunk, "TERN_TEST.stream_chunk", Size, 1048576, between(4096, 1073741824), own(),       \
    "enqueued operations on the host: bytes of a chunk; the smallest value of all ranks counts")   \
  X(cuda_kernels, "TERN_TEST.cuda_kernels", Text, "", one_of(nullptr), own(),                      \
    "files of GPU kernels, with : between them, instead of the embedded ones; the first that the " \
    "GPU and the driver accept")                                                                   \
  X(longest_sleep, "TERN_TEST.longest_sleep", Time, 1000000, between(0, 60000000), own(),          \
    "a sleeping rank polls after this time. 0: the rank waits for its doorbell")                   \
  X(rma, "TERN_TEST.rma", Word, WindowAccess::kAuto, one_of("auto|copied|messages|network"),       \
    shared(),                                                                                      \
    "access to windows: auto (shared memory, else copied; RDMA to other hosts, else messages), "   \
    "copied (by the kernel, else by messages), messages, network (as auto, with RDMA to other "    \
    "hosts even where the network emulates RDMA); not for MPI_Win_allocate_shared")                \
  X(io_system, "TERN_TEST.io_system", Word, IoSystem::kAuto, one_of("auto|nfs"), shared(),         \
    "nfs: treat every file as a file on NFS")                                                      \
  X(io_nvidia_fs, "TERN_TEST.io_nvidia_fs", Text, "/proc/driver/nvidia-fs", one_of(nullptr), own(),\
    "the file whose existence permits GPUDirect Storage")                                          \
  X(initial_errhandler, "TERN_INITIAL_ERRHANDLER", Word, InitialHandler::kFatal,                   \
    one_of("mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return"), own(),                      \
    "mpirun -initial-errhandler")                                                                  \
  X(memory_alloc_kinds, "TERN_MEMORY_ALLOC_KINDS", Text, "", one_of(nullptr), own(),               \
    "mpirun -memory-alloc-kinds")
#define TERN_ALL_PARAMS(X) TERN_PARAMS(X) TERN_COLL_PARAMS(X) TERN_HIDDEN_PARAMS(X)
// clang-format on

/// Variables with the prefix TERN_ that are not parameters: of the compiler wrappers, of mpirun,
/// and of mpirun's start-up block (boot/shared_job.hpp). Params ignores these variables.
inline constexpr const char* kForeignNames[] = {"TERN_CC",     "TERN_CXX",     "TERN_FC",
                                                "TERN_PRTE",   "TERN_BOOT_FD", "TERN_BOOT_PID",
                                                "TERN_PARENT", "TERN_NAMES",   "TERN_TRACE_FD"};

/// The valid values: numbers from least to most, or words separated by "|" (null: any text); kind
/// NumberOr: both.
struct ParamRange {
  int64_t least = 0, most = 0;
  const char* words = nullptr;
};

/// Whether the value must be equal on all ranks, or only the given words, separated by "|".
struct ParamSharing {
  bool shared = false;
  const char* words = nullptr;  // null: the whole value
};

/// The algorithms of a collective ("reduce_scatter"), separated by "|", "auto" first; null for an
/// unknown collective. Generated from the table of coll/algorithms.
[[nodiscard]] const char* algorithm_words(const char* collective) noexcept;

struct ParamRow {
  const char* name;
  const char* kind;      // of TERN_PARAMS
  std::string standard;  // the default, as text
  ParamRange range;
  ParamSharing sharing;
  const char* meaning;
  [[nodiscard]] bool is_number() const noexcept;
  /// "between 4096 and 1048576", "one of 0, 1, types"; empty if any text is valid.
  [[nodiscard]] std::string range_in_words() const;
  /// "must be equal on all ranks"; empty if ranks may differ.
  [[nodiscard]] std::string sharing_in_words() const;
};

/// The field's type for kind Word: the enum of the default, or text.
template <class Standard>
using WordField = std::conditional_t<std::is_enum_v<Standard>, Standard, std::string>;

class Params {
 public:
#define TERN_FIELD_Size(standard) int64_t
#define TERN_FIELD_Time(standard) int64_t
#define TERN_FIELD_Seconds(standard) int64_t
#define TERN_FIELD_Count(standard) int64_t
#define TERN_FIELD_Switch(standard) int64_t
#define TERN_FIELD_Text(standard) std::string
#define TERN_FIELD_Word(standard) WordField<decltype(standard)>
#define TERN_FIELD_Words(standard) std::string
#define TERN_FIELD_NumberOr(standard) int64_t
#define TERN_FIELD(field, name, kind, standard, range, sharing, meaning) \
  TERN_FIELD_##kind(standard) field = standard;
  TERN_ALL_PARAMS(TERN_FIELD)
#undef TERN_FIELD
#undef TERN_FIELD_Size
#undef TERN_FIELD_Time
#undef TERN_FIELD_Seconds
#undef TERN_FIELD_Count
#undef TERN_FIELD_Switch
#undef TERN_FIELD_Text
#undef TERN_FIELD_Word
#undef TERN_FIELD_Words
#undef TERN_FIELD_NumberOr
  uint64_t content = 0;  // digest of TERN_TOPOLOGY's graph and TERN_COLL_TABLE's lines

  /// Reads `environment` ("NAME=VALUE", null-terminated; normally ::environ). Invalid values leave
  /// the default. Invalid values, unknown TERN_ names and old names each add a sentence to
  /// `complaints`.
  static Params from(const char* const* environment, std::vector<std::string>* complaints);
  /// Like from(), but changes the present values.
  void take_environment(const char* const* environment, std::vector<std::string>* complaints);
  /// Reads lines "NAME = VALUE"; "#" begins a comment. source() and complaints name `file`.
  void take_file(const std::string& text, const std::string& file,
                 std::vector<std::string>* complaints);

  /// The rows of TERN_PARAMS, in order.
  static std::vector<ParamRow> rows();

  /// Sets a parameter from text. `name` may be a part (TERN_COLL.allreduce) or an old name. Throws
  /// Error(MPI_ERR_ARG) with the valid range, or with the nearest name.
  void set(const std::string& name, const std::string& value);

  /// The present value as text. Throws Error(MPI_ERR_ARG) for an unknown name.
  [[nodiscard]] std::string get(const std::string& name) const;
  /// The origin of the present value: "default", "environment", "FILE:LINE".
  [[nodiscard]] std::string source(const std::string& name) const;
  /// Whether TERN_CHECK asks for checks of arguments.
  [[nodiscard]] bool checks_arguments() const { return check != "0"; }
  /// Whether TERN_EXPLAIN asks for sentences rather than JSON.
  [[nodiscard]] bool explains_in_words() const { return explain == "1"; }
  [[nodiscard]] bool wants_trace() const { return !trace.empty() && trace != "0"; }
  [[nodiscard]] bool wants_profile() const { return !profile.empty() && profile != "0"; }
  /// The file for the profile; empty: the page alone.
  [[nodiscard]] std::string profile_file() const { return profile == "1" ? "" : profile; }
  /// Whether TERN_CHECK names this word, or "all".
  [[nodiscard]] bool checks(const char* word) const;
  [[nodiscard]] bool names_transport(const char* name) const;
  /// Whether TERN_TRANSPORT names the transport or "auto".
  [[nodiscard]] bool permits_transport(const char* name) const;

  /// Hash of the shared parameters. Defaults do not change the hash.
  [[nodiscard]] uint32_t shared_hash() const;
  /// For the error of ranks with different hashes: the names of the shared parameters, and this
  /// rank's values other than defaults.
  [[nodiscard]] std::string shared_in_words() const;

 private:
  void take(const std::string& name, const std::string& value, const std::string& source,
            std::vector<std::string>* complaints);
  void set_row(const std::string& name, const std::string& value);
  void note_source(const std::string& name, const std::string& source);
  std::vector<std::pair<std::string, std::string>> sources_;  // parameter, origin; no defaults
};

/// "64k" -> 65536. Throws Error(MPI_ERR_ARG) naming `what`.
[[nodiscard]] int64_t parse_size(const std::string& text, const std::string& what);
/// "10ms" -> 10000 (microseconds). Throws Error(MPI_ERR_ARG) naming `what`.
[[nodiscard]] int64_t parse_time_us(const std::string& text, const std::string& what);

}  // namespace tern

// SPDX-License-Identifier: Apache-2.0
// Every parameter of Tern: one documented table, read from files and the environment.
// Why: a user finds all of them in one place, and a wrong name or value never passes in silence.
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

// Parameters of kind Word: a value for each word of one_of(), in its order.
enum class SingleCopy : uint8_t { kAuto, kPipeline, kPull, kBoth };
enum class SharedReduction : uint8_t { kSlices, kLeader };
enum class DescriptorWay : uint8_t { kAuto, kPidfd, kSocket };
enum class GpuEngine : uint8_t { kAuto, kStream, kKernel, kHost };
enum class GpuMulticast : uint8_t { kAuto, kOff };
enum class ProgressBy : uint8_t { kAuto, kCalls, kThread };
enum class CollTune : uint8_t { kOff, kAuto, kLearn };
enum class WindowAccess : uint8_t { kAuto, kCopied, kMessages };
enum class InitialHandler : uint8_t { kFatal, kAbort, kReturn };

// X(field, name, kind, default, range, sharing, meaning)
// kinds: Size (bytes; units k, m, g), Time (microseconds; units us, ms, s), Seconds (units ms, s,
// min; kept in microseconds), Count, Switch (0 or 1), Text (anything), Word (one of; an enum's
// value, or text), Words (some of, with commas). In one_of() a "*" at the end of a word stands for
// anything; algorithm_of() has the names of a collective's algorithms. Sharing: own(), where each
// rank may have its own value; shared(), where all ranks must have the same, or one would not send
// what others expect; shared_words(), where only these words must be the same.
// clang-format off
#define TERN_PARAMS(X)                                                                             \
  X(check, "TERN_CHECK", Words, "1",                                                               \
    one_of("0|1|types|collective|rma|leaks|all"), shared_words("types|collective|rma"),            \
    "0: no argument checks; 1: arguments; types: also the types and counts of messages; "          \
    "collective: also that all ranks call the same collective with the same root, count, type and "\
    "operation; rma: also that accesses to windows do not conflict; leaks: also what is not freed at MPI_Finalize")                                    \
  X(explain, "TERN_EXPLAIN", Word, "0", one_of("0|1|json:*"), own(),                               \
    "print every choice of transport, protocol and fallback with its reason; json:FILE appends it "\
    "to a file, a line of JSON each")                                                              \
  X(hang, "TERN_HANG", Seconds, 0, between(0, 86400000000), own(),                                 \
    "say who waits for whom when no rank has made progress for so long; 0: never")                 \
  X(backtrace, "TERN_BACKTRACE", Switch, 1, between(0, 1), own(),                                  \
    "say where a rank was when SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT ends it; 0: leave these "\
    "signals alone")                                                                               \
  X(eager_limit, "TERN_EAGER_LIMIT", Size, 65536, between(0, 65536), own(),                        \
    "messages up to this many bytes are sent before the receive is known")                         \
  X(unexpected_limit, "TERN_UNEXPECTED_LIMIT", Size, 4194304, between(0, 1099511627776), own(),    \
    "payload of messages without a receive that a rank keeps of each sender; more waits there")    \
  X(transport, "TERN_TRANSPORT", Words, "auto", one_of("auto|self|sm|ucx|ofi"), shared(),          \
    "what messages may travel by: auto chooses for each peer; self (to the own rank, always), sm " \
    "(shared memory), ucx and ofi (UCX and libfabric, also between ranks of one host)")            \
  X(ucx_library, "TERN_UCX_LIBRARY", Text, "", one_of(nullptr), own(),                             \
    "the file of UCX to open instead of libucp.so.0")                                              \
  X(ofi_library, "TERN_OFI_LIBRARY", Text, "", one_of(nullptr), own(),                             \
    "the file of libfabric to open instead of libfabric.so.1")                                     \
  X(ofi_provider, "TERN_OFI_PROVIDER", Text, "", one_of(nullptr), shared(),                        \
    "the provider of libfabric to use, as fi_info names it (tcp, verbs;ofi_rxm); empty: the "      \
    "best that is there")                                                                          \
  X(net_eager, "TERN_NET_EAGER", Size, 131072, between(0, 1048576), own(),                         \
    "messages to other hosts, of one block, up to this many bytes are sent before the receive is " \
    "known")                                                                                       \
  X(net_put, "TERN_NET_PUT", Size, 0, between(0, 1099511627776), own(),                            \
    "messages from other hosts, of one block, from this many bytes on are written to where they "  \
    "belong by their sender's network; 0: by networks that do that by themselves (RDMA)")          \
  X(net_timeout, "TERN_NET_TIMEOUT", Seconds, 60000000, between(1000000, 86400000000), own(),      \
    "a peer of another host whose host or link does not answer for so long is lost: work with "    \
    "it fails")                                                                                    \
  X(sm_ring_bytes, "TERN_SM_RING", Size, 65536, between(4096, 1048576), own(),                     \
    "shared memory: bytes of the ring of one pair of ranks that talk; a power of two")             \
  X(sm_pool_bytes, "TERN_SM_POOL", Size, 8388608, between(1048576, 1073741824), own(),             \
    "shared memory: bytes of payload that one rank may have in flight")                            \
  X(sm_fragment, "TERN_SM_FRAGMENT", Size, 8192, between(4096, 32768), own(),                      \
    "shared memory: bytes of one fragment of a large message that is copied twice")                \
  X(sm_fragments, "TERN_SM_FRAGMENTS", Count, 8, between(2, 128), own(),                           \
    "shared memory: fragments in flight; more would leave the cache")                              \
  X(sm_single_copy, "TERN_SM_SINGLE_COPY", Word, SingleCopy::kAuto,                                \
    one_of("auto|pipeline|pull|both"), own(),                                                      \
    "large messages: auto, pipeline (two copies), pull (receiver reads), both (both ends copy)")   \
  X(sm_pull_limit, "TERN_SM_PULL_LIMIT", Size, 61440, between(0, 1073741824), own(),               \
    "from this many bytes a message that travels alone is copied once, too")                       \
  X(sm_both_limit, "TERN_SM_BOTH_LIMIT", Size, 8192, between(0, 1073741824), own(),                \
    "from this many bytes sender and receiver share the copies of what is copied once")            \
  X(cuda_ipc, "TERN_CUDA_IPC", Switch, 1, between(0, 1), own(),                                    \
    "map the device memory of other ranks of this host and copy it once; 0: through the host")     \
  X(cuda_mail, "TERN_CUDA_MAIL", Switch, 1, between(0, 1), own(),                                  \
    "small messages of device memory: a kernel at each end moves them; 0: copies of the driver, "  \
    "which a GPU that processes share without MPS may begin sooner")                               \
  X(cuda_chunk, "TERN_CUDA_CHUNK", Size, 524288, between(4096, 1073741824), own(),                 \
    "device memory that goes through the host, or a block of its device: bytes of a chunk")        \
  X(cuda_chunks, "TERN_CUDA_CHUNKS", Count, 3, between(1, 64), own(),                              \
    "device memory that goes through the host: chunks of one message at once")                     \
  X(cuda_stage, "TERN_CUDA_STAGE", Size, 268435456, between(0, 1099511627776), own(),              \
    "device data with holes or no handle: bytes that a block of the device is made for")           \
  X(cuda_reduce, "TERN_CUDA_REDUCE", Word, SharedReduction::kSlices,                               \
    one_of("slices|leader"), own(),                                                                \
    "ranks that share a GPU: each reduces a slice of device memory, or rank 0 reduces all")        \
  X(cuda_outputs, "TERN_CUDA_OUTPUTS", Size, 1099511627776, between(0, 1099511627776), own(),      \
    "allreduce of device memory that ranks map: from so many bytes of a rank's slice on a kernel " \
    "writes it to the others' outputs, below that copies do")                                      \
  X(cuda_ipc_cache, "TERN_CUDA_IPC_CACHE", Size, 1099511627776, between(0, 1099511627776), own(),  \
    "bytes of other ranks' device memory that stay mapped for the next message, by default all: "  \
    "a mapping takes addresses, no memory, and ends when the memory is freed")                     \
  X(cuda_ipc_descriptors, "TERN_CUDA_IPC_DESCRIPTORS", Word, DescriptorWay::kAuto,                 \
    one_of("auto|pidfd|socket"), own(),                                                            \
    "descriptors of other ranks' device memory: auto, pidfd (taken; needs the right to trace), "   \
    "socket (sent on request)")                                                                    \
  X(gpu_scratch, "TERN_GPU_SCRATCH", Size, 33554432, between(1048576, 1099511627776), shared(),    \
    "collectives that are put into streams: bytes of device memory that each rank of a "           \
    "communicator gives for what is under way")                                                    \
  X(gpu_engine, "TERN_GPU_ENGINE", Word, GpuEngine::kAuto,                                         \
    one_of("auto|stream|kernel|host"), shared(),                                                  \
    "collectives that devices do alone: auto, stream (copies and operations on words), kernel (one "\
    "kernel, which waits for those of other ranks), host (none: the host takes part in each step)") \
  X(gpu_wire, "TERN_GPU_WIRE", Word, Wire::kAuto, one_of(kWireWords), shared(),                    \
    "what kernels of collectives write to other ranks: auto, simple (data, then a word that says " \
    "so)" TERN_PUSH_WIRES(TERN_WIRE_MEANING) ", multimem (to all at once, where a switch of NVLink " \
    "reduces)")                                                                                    \
  X(gpu_multicast, "TERN_GPU_MULTICAST", Word, GpuMulticast::kAuto, one_of("auto|off"), shared(),  \
    "collectives that devices do alone: auto (a switch of NVLink reduces what is large, where it " \
    "can), off")                                                                                   \
  X(gpu_patience, "TERN_GPU_PATIENCE", Seconds, 30000000, between(0, 86400000000), own(),          \
    "collectives that are put into streams: after so long a stream that waits for another rank's " \
    "says which; 0: never")                                                                        \
  X(stream_chunk, "TERN_STREAM_CHUNK", Size, 1048576, between(4096, 1073741824), own(),            \
    "enqueued operations that the host does: bytes of a part of their data; the least of all "     \
    "ranks counts, and each communicator with a stream pins two of them")                          \
  X(coll_table, "TERN_COLL_TABLE", Text, "", one_of(nullptr), shared(),                            \
    "a file of lines that say which algorithm serves which sizes; tern_coll tune writes one")      \
  X(coll_tune, "TERN_COLL_TUNE", Word, CollTune::kAuto, one_of("off|auto|learn"), shared(),        \
    "whether collectives measure their algorithms while the program runs, and take the quickest: " \
    "off, auto (at a cost of 2 % of the calls at most), learn (at any cost, for a learning run)")  \
  X(coll_learnt, "TERN_COLL_LEARNT", Text, "auto", one_of(nullptr), own(),                         \
    "the file in which jobs keep what collectives have measured, read by mpirun, or else by rank " \
    "0: a path, none, or auto (a file for this machine in ~/.cache/tern; tern_coll show prints "   \
    "it, tern_coll forget removes it)")                                                            \
  X(coll_levels, "TERN_COLL_LEVELS", Text, "", one_of(nullptr), shared(),                          \
    "two-level collectives: how many consecutive ranks share a host, and its parts (8,2), or a "   \
    "machine that ranks fill in turn (pack:2 l3:2 core:4), instead of what the launcher says; or " \
    "parts that ranks are bound to: package, numa, l3, core")                                      \
  X(coll_barrier, "TERN_BARRIER", Word, "auto", algorithm_of("barrier"), shared(),                 \
    "the algorithm of every barrier that it can serve; tern_coll list says what each needs")       \
  X(coll_bcast, "TERN_BCAST", Word, "auto", algorithm_of("bcast"), shared(),                       \
    "the algorithm of every bcast that it can serve; tern_coll list says what each needs")         \
  X(coll_gather, "TERN_GATHER", Word, "auto", algorithm_of("gather"), shared(),                    \
    "the algorithm of every gather that it can serve; tern_coll list says what each needs")        \
  X(coll_scatter, "TERN_SCATTER", Word, "auto", algorithm_of("scatter"), shared(),                 \
    "the algorithm of every scatter that it can serve; tern_coll list says what each needs")       \
  X(coll_allgather, "TERN_ALLGATHER", Word, "auto", algorithm_of("allgather"), shared(),           \
    "the algorithm of every allgather that it can serve; tern_coll list says what each needs")     \
  X(coll_alltoall, "TERN_ALLTOALL", Word, "auto", algorithm_of("alltoall"), shared(),              \
    "the algorithm of every alltoall that it can serve; tern_coll list says what each needs")      \
  X(coll_neighbor_allgather, "TERN_NEIGHBOR_ALLGATHER", Word, "auto",                              \
    algorithm_of("neighbor_allgather"), own(),                                                     \
    "the algorithm of every neighbourhood allgather; tern_coll list says what each needs")         \
  X(coll_neighbor_alltoall, "TERN_NEIGHBOR_ALLTOALL", Word, "auto",                                \
    algorithm_of("neighbor_alltoall"), own(),                                                      \
    "the algorithm of every neighbourhood alltoall; tern_coll list says what each needs")          \
  X(coll_reduce, "TERN_REDUCE", Word, "auto", algorithm_of("reduce"), shared(),                    \
    "the algorithm of every reduce that it can serve; tern_coll list says what each needs")        \
  X(coll_allreduce, "TERN_ALLREDUCE", Word, "auto", algorithm_of("allreduce"), shared(),           \
    "the algorithm of every allreduce that it can serve; tern_coll list says what each needs")     \
  X(coll_reduce_scatter, "TERN_REDUCE_SCATTER", Word, "auto",                                      \
    algorithm_of("reduce_scatter"), shared(),                                                      \
    "the algorithm of every reduce-scatter that it can serve; tern_coll list says what each needs")\
  X(coll_scan, "TERN_SCAN", Word, "auto", algorithm_of("scan"), shared(),                          \
    "the algorithm of every scan that it can serve; tern_coll list says what each needs")          \
  X(coll_exscan, "TERN_EXSCAN", Word, "auto", algorithm_of("exscan"), shared(),                    \
    "the algorithm of every exscan that it can serve; tern_coll list says what each needs")        \
  X(cuda_kernels, "TERN_CUDA_KERNELS", Text, "", one_of(nullptr), own(),                           \
    "a file of GPU kernels (fatbin, cubin or PTX) to load instead of those that Tern was "         \
    "built with; of several, with : between them, the first that suits the GPU and the driver")    \
  X(spin, "TERN_SPIN", Time, 0, between(0, 1000000), own(),                                        \
    "how long a waiting rank polls before it sleeps; 0 chooses by ranks and cores")                \
  X(longest_sleep, "TERN_LONGEST_SLEEP", Time, 1000000, between(0, 60000000), own(),               \
    "a rank that sleeps looks by itself after this time; 0: only when it is rung")                 \
  X(channels, "TERN_CHANNELS", Count, 0, between(0, 8), own(),                                     \
    "with MPI_THREAD_MULTIPLE: how many communicators threads use side by side (1, 2, 4 or 8); "   \
    "0 chooses by cores")                                                                          \
  X(progress, "TERN_PROGRESS", Word, ProgressBy::kAuto, one_of("auto|calls|thread"), own(),        \
    "who moves messages: the calls of MPI alone, or a thread too, while the program computes; "    \
    "auto: a thread from the first window on that others reach by messages")                       \
  X(rma, "TERN_RMA", Word, WindowAccess::kAuto, one_of("auto|copied|messages"), shared(),          \
    "how ranks of one host reach each other's windows: auto (shared memory where the window has "  \
    "it, else copied), copied (by the kernel where it permits that, else by messages), messages; " \
    "all but MPI_Win_allocate_shared's")                                                           \
  X(boot, "TERN_BOOT", Word, "auto", one_of("auto|mpirun|pmix|provided|singleton"), own(),         \
    "how ranks find each other: auto, mpirun, pmix, provided (by MPIX_Boot_provide, which auto "   \
    "prefers), singleton")                                                                         \
  X(initial_errhandler, "TERN_INITIAL_ERRHANDLER", Word, InitialHandler::kFatal,                   \
    one_of("mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return"), own(),                      \
    "set by mpirun -initial-errhandler: the error handler of MPI_COMM_WORLD and MPI_COMM_SELF at " \
    "first, and of calls without an object")                                                       \
  X(memory_alloc_kinds, "TERN_MEMORY_ALLOC_KINDS", Text, "", one_of(nullptr), own(),               \
    "set by mpirun -memory-alloc-kinds: the kinds of memory that the program asks for")            \
  X(boot_fd, "TERN_BOOT_FD", Count, -1, between(-1, 1048576), own(),                               \
    "set by mpirun: the descriptor of its start-up memory")                                        \
  X(boot_pid, "TERN_BOOT_PID", Count, 0, between(0, INT32_MAX), own(),                             \
    "set by mpirun: its process, which has that descriptor, too")
// clang-format on

/// Names that begin with TERN_ and belong to tools, not to the library (no warning about them).
inline constexpr const char* kForeignNames[] = {"TERN_CC", "TERN_CXX", "TERN_FC"};

/// What a parameter may be: numbers from least to most, or words between "|" (null: anything).
struct ParamRange {
  int64_t least = 0, most = 0;
  const char* words = nullptr;
};

/// Whether all ranks must have the same value, or the same of these words ("|" between them).
struct ParamSharing {
  bool shared = false;
  const char* words = nullptr;  // null: the whole value
};

/// The words that name an algorithm of this collective ("reduce_scatter"), with "|" between them:
/// "auto" first. Defined where the algorithms are (coll/algorithms); null for anything else.
[[nodiscard]] const char* algorithm_words(const char* collective) noexcept;

struct ParamRow {
  const char* name;
  const char* kind;      // as in the table
  std::string standard;  // the default, as text
  ParamRange range;
  ParamSharing sharing;
  const char* meaning;
  [[nodiscard]] bool is_number() const noexcept;
  /// "4096 to 1048576", "one of 0, 1, types"; empty where anything goes.
  [[nodiscard]] std::string range_in_words() const;
  /// "must be equal on all ranks"; empty where it need not be.
  [[nodiscard]] std::string sharing_in_words() const;
};

/// Of kind Word: the enum of its default, or text.
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
#define TERN_FIELD(field, name, kind, standard, range, sharing, meaning) \
  TERN_FIELD_##kind(standard) field = standard;
  TERN_PARAMS(TERN_FIELD)
#undef TERN_FIELD
#undef TERN_FIELD_Size
#undef TERN_FIELD_Time
#undef TERN_FIELD_Seconds
#undef TERN_FIELD_Count
#undef TERN_FIELD_Switch
#undef TERN_FIELD_Text
#undef TERN_FIELD_Word
#undef TERN_FIELD_Words

  /// Reads `environment` ("NAME=VALUE", null-terminated; normally ::environ). A wrong value leaves
  /// that parameter at its default; it and every unknown TERN_ name become a sentence in
  /// `complaints`.
  static Params from(const char* const* environment, std::vector<std::string>* complaints);
  /// The same over what is there already.
  void take_environment(const char* const* environment, std::vector<std::string>* complaints);
  /// Lines "NAME = VALUE" and comments from "#" on; `file` names them in source() and complaints.
  void take_file(const std::string& text, const std::string& file,
                 std::vector<std::string>* complaints);

  /// The table, in order.
  static std::vector<ParamRow> rows();

  /// Sets one by name, as text. Throws Error(MPI_ERR_ARG) with the range, or the nearest name.
  void set(const std::string& name, const std::string& value);

  /// The present value as text.
  [[nodiscard]] std::string get(const std::string& name) const;
  /// Where the present value comes from: "default", "environment", "FILE:LINE".
  [[nodiscard]] std::string source(const std::string& name) const;
  /// Whether TERN_CHECK asks for checks of arguments.
  [[nodiscard]] bool checks_arguments() const { return check != "0"; }
  /// Whether TERN_EXPLAIN asks for sentences, not for JSON.
  [[nodiscard]] bool explains_in_words() const { return explain == "1"; }
  /// Whether TERN_CHECK names this word (or all).
  [[nodiscard]] bool checks(const char* word) const;
  /// Whether TERN_TRANSPORT names it; whether it may be used, since it does or says "auto".
  [[nodiscard]] bool names_transport(const char* name) const;
  [[nodiscard]] bool permits_transport(const char* name) const;

  /// A hash of what must be equal on all ranks; a parameter that has its default counts nothing.
  [[nodiscard]] uint32_t shared_hash() const;
  /// For the error of ranks whose hashes differ: the names of these parameters, and their values on
  /// this rank where these are not the defaults.
  [[nodiscard]] std::string shared_in_words() const;

 private:
  void take(const std::string& name, const std::string& value, const std::string& source,
            std::vector<std::string>* complaints);
  std::vector<std::pair<std::string, std::string>> sources_;  // of what is not the default
};

/// The candidate with the least edit distance to `name`; empty if all are far (over 1/3 of its
/// length).
[[nodiscard]] std::string nearest_name(const std::string& name,
                                       const std::vector<std::string>& candidates);

/// "64k" -> 65536. Throws Error(MPI_ERR_ARG) naming `what`.
[[nodiscard]] int64_t parse_size(const std::string& text, const std::string& what);
/// "10ms" -> 10000 (microseconds). Throws Error(MPI_ERR_ARG) naming `what`.
[[nodiscard]] int64_t parse_time_us(const std::string& text, const std::string& what);

}  // namespace tern

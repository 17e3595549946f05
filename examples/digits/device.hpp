// SPDX-License-Identifier: Apache-2.0
// Two CUDA streams: the first computes, the second sums gradients by MPIX_Allreduce_enqueue; events
// order the streams, a graph replays both.
// Why: the example needs no CUDA toolkit. The class calls the driver, and host functions in the
// stream do the arithmetic; a program with kernels launches kernels there.
#pragma once

#include <dlfcn.h>
#include <mpi.h>
#include <mpix.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

// As in cuda.h; all return 0 for success.
struct CudaDriver {
  using Handle = void*;
  int (*init)(unsigned flags);
  int (*count)(int* devices);
  int (*context)(Handle* context, int device);
  int (*use)(Handle context);
  int (*allocate)(uint64_t* address, size_t bytes);
  int (*release)(uint64_t address);
  int (*pin)(void* memory, size_t bytes, unsigned flags);
  int (*unpin)(void* memory);
  int (*make_stream)(Handle* stream, unsigned flags);
  int (*end_stream)(Handle stream);
  int (*wait)(Handle stream);
  int (*make_event)(Handle* event, unsigned flags);
  int (*end_event)(Handle event);
  int (*record)(Handle event, Handle stream);
  int (*come_behind)(Handle stream, Handle event, unsigned flags);
  int (*to_device)(uint64_t to, const void* from, size_t bytes, Handle stream);
  int (*to_host)(void* to, uint64_t from, size_t bytes, Handle stream);
  int (*call)(Handle stream, void (*function)(void*), void* argument);
  int (*begin_capture)(Handle stream, int mode);
  int (*end_capture)(Handle stream, Handle* graph);
  int (*instantiate)(Handle* runnable, Handle graph, unsigned long long flags);
  int (*end_graph)(Handle graph);
  int (*launch)(Handle runnable, Handle stream);
  int (*end_runnable)(Handle runnable);

  // Finds all functions; returns the first missing name, or null.
  const char* find(void* library) {
    const struct {
      const char* name;
      void* into;
    } wanted[] = {
        {"cuInit", &init},
        {"cuDeviceGetCount", &count},
        {"cuDevicePrimaryCtxRetain", &context},
        {"cuCtxSetCurrent", &use},
        {"cuMemAlloc_v2", &allocate},
        {"cuMemFree_v2", &release},
        {"cuMemHostRegister_v2", &pin},
        {"cuMemHostUnregister", &unpin},
        {"cuStreamCreate", &make_stream},
        {"cuStreamDestroy_v2", &end_stream},
        {"cuStreamSynchronize", &wait},
        {"cuEventCreate", &make_event},
        {"cuEventDestroy_v2", &end_event},
        {"cuEventRecord", &record},
        {"cuStreamWaitEvent", &come_behind},
        {"cuMemcpyHtoDAsync_v2", &to_device},
        {"cuMemcpyDtoHAsync_v2", &to_host},
        {"cuLaunchHostFunc", &call},
        {"cuStreamBeginCapture_v2", &begin_capture},
        {"cuStreamEndCapture", &end_capture},
        {"cuGraphInstantiateWithFlags", &instantiate},
        {"cuGraphDestroy", &end_graph},
        {"cuGraphLaunch", &launch},
        {"cuGraphExecDestroy", &end_runnable},
    };
    for (const auto& one : wanted) {
      void* const function = dlsym(library, one.name);
      if (function == nullptr) return one.name;
      *static_cast<void**>(one.into) = function;
    }
    return nullptr;
  }
};

class Streams {
 public:
  // Collective. Null if any rank has no GPU; *why has the reason on these ranks. The
  // ranks of a host take the GPUs in turn.
  static std::unique_ptr<Streams> find(std::string* why) {
    CudaDriver driver{};
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    int gpus = 0;
    if (library == nullptr) {
      *why = "libcuda.so.1 is missing";
    } else if (const char* const missing = driver.find(library)) {
      *why = std::string("libcuda.so.1 has no ") + missing;
    } else if (driver.init(0) != 0 || driver.count(&gpus) != 0 || gpus == 0) {
      *why = "the driver has no GPU";
    }
    int all = why->empty() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return std::unique_ptr<Streams>(all != 0 ? new Streams(driver, gpus) : nullptr);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() {
    MPI_Comm_free(&comm_);
    MPIX_Stream_free(&stream_);
    check(driver_.wait(sums_), "cuStreamSynchronize");
    check(driver_.end_event(computed_), "cuEventDestroy");
    check(driver_.end_event(summed_), "cuEventDestroy");
    check(driver_.end_stream(computes_), "cuStreamDestroy");
    check(driver_.end_stream(sums_), "cuStreamDestroy");
  }

  // Runs function(argument) in stream order.
  void compute(void (*function)(void*), void* argument) {
    check(driver_.call(computes_, function, argument), "cuLaunchHostFunc");
  }
  // Sums a bucket over the ranks after earlier computation, concurrently with later computation.
  void sum(float* bucket, uint64_t on_device, int count) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(float);
    check(driver_.record(computed_, computes_), "cuEventRecord");
    check(driver_.come_behind(sums_, computed_, 0), "cuStreamWaitEvent");
    check(driver_.to_device(on_device, bucket, bytes, sums_), "cuMemcpyHtoDAsync");
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, reinterpret_cast<void*>(on_device), count, MPI_FLOAT,
                           MPI_SUM, comm_);
    check(driver_.to_host(bucket, on_device, bytes, sums_), "cuMemcpyDtoHAsync");
  }
  // Later computation waits for all sums.
  void join() {
    check(driver_.record(summed_, sums_), "cuEventRecord");
    check(driver_.come_behind(computes_, summed_, 0), "cuStreamWaitEvent");
  }
  void wait() { check(driver_.wait(computes_), "cuStreamSynchronize"); }

  // Records the calls of `put` into a graph without running them; replay() runs the graph.
  template <class Put>
  void* capture(Put put) {
    constexpr int kGlobal = 0;
    void *graph = nullptr, *runnable = nullptr;
    check(driver_.begin_capture(computes_, kGlobal), "cuStreamBeginCapture");
    put();
    check(driver_.end_capture(computes_, &graph), "cuStreamEndCapture");
    check(driver_.instantiate(&runnable, graph, 0), "cuGraphInstantiate");
    check(driver_.end_graph(graph), "cuGraphDestroy");
    return runnable;
  }
  void replay(void* runnable) { check(driver_.launch(runnable, computes_), "cuGraphLaunch"); }
  void end(void* runnable) { check(driver_.end_runnable(runnable), "cuGraphExecDestroy"); }

  // Allocates device memory for a bucket and pins the bucket.
  uint64_t add(std::vector<float>& bucket) {
    uint64_t address = 0;
    const size_t bytes = bucket.size() * sizeof(float);
    check(driver_.allocate(&address, bytes), "cuMemAlloc");
    check(driver_.pin(bucket.data(), bytes, 0), "cuMemHostRegister");
    return address;
  }
  void remove(std::vector<float>& bucket, uint64_t address) {
    check(driver_.unpin(bucket.data()), "cuMemHostUnregister");
    check(driver_.release(address), "cuMemFree");
  }

 private:
  Streams(const CudaDriver& driver, int gpus) : driver_(driver) {
    constexpr unsigned kNonBlocking = 1, kNoTiming = 2;
    MPI_Comm host;
    int rank = 0;
    void* context = nullptr;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_free(&host);
    check(driver_.context(&context, rank % gpus), "cuDevicePrimaryCtxRetain");
    check(driver_.use(context), "cuCtxSetCurrent");
    for (void** stream : {&computes_, &sums_})
      check(driver_.make_stream(stream, kNonBlocking), "cuStreamCreate");
    for (void** event : {&computed_, &summed_})
      check(driver_.make_event(event, kNoTiming), "cuEventCreate");
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    MPIX_Info_set_hex(info, "value", &sums_, sizeof sums_);
    MPIX_Stream_create(info, &stream_);
    MPI_Info_free(&info);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, stream_, &comm_);
  }
  static void check(int code, const char* function) {
    if (code == 0) return;
    std::fprintf(stderr, "digits: %s: the CUDA driver returns error %d\n", function, code);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  CudaDriver driver_;
  void *computes_ = nullptr, *sums_ = nullptr, *computed_ = nullptr, *summed_ = nullptr;
  MPIX_Stream stream_ = MPIX_STREAM_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

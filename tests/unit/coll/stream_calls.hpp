// SPDX-License-Identifier: Apache-2.0
// Stream collectives of any row and graphs on the software driver, against a serial reference. Each
// rank has a device.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "tests/unit/coll/cut_rows.hpp"
#include "tests/unit/coll/rows.hpp"
#include "tests/unit/coll/trial.hpp"
#include "tests/unit/cuda/software_driver.hpp"
#include "tests/unit/world.hpp"

namespace tern::coll {

using core::Process;
using enum Collective;

constexpr int kDevices = 17;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline int most_ranks() { return 3; }
constexpr bool kSanitized = true;
#else
inline int most_ranks() { return std::getenv("TEST_LONG") != nullptr ? 17 : 9; }
constexpr bool kSanitized = false;
#endif

inline bool takes_minutes() { return kSanitized && std::getenv("TEST_LONG") == nullptr; }

inline test::World::Settings with_kernels(test::World::Settings settings) {
  settings.emplace_back("TERN_TEST.cuda_kernels", cuda::test::kernel_file());
  return settings;
}

inline const cuda::Driver& driver() { return *cuda::driver(); }

inline void ok(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw Error(MPI_ERR_OTHER, cuda::words_of(what, result));
}

class Gpu {
 public:
  explicit Gpu(int ordinal) {
    CUdevice device = 0;
    ok(driver().cuInit(0), "cuInit");
    ok(driver().cuDeviceGet(&device, ordinal), "cuDeviceGet");
    ok(driver().cuDevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
    ok(driver().cuCtxSetCurrent(context_), "cuCtxSetCurrent");
    ok(driver().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0),
       "cuStreamCreateWithPriority");
  }
  ~Gpu() { (void)driver().cuStreamDestroy_v2(stream); }
  void wait() const { ok(driver().cuStreamSynchronize(stream), "cuStreamSynchronize"); }
  CUstream stream = nullptr;

 private:
  CUcontext context_ = nullptr;
};

/// enqueue() passes no staging memory for pageable data.
inline int enqueue(Coll& coll, const Operation& operation, const Gpu& gpu, bool* taken,
                   std::string* why) {
  cuda::Stream stream;
  stream.handle = gpu.stream;
  return coll.streams().enqueue(operation, stream, taken, why);
}

class Buffer {
 public:
  explicit Buffer(size_t ints) : ints_(ints) {
    ok(driver().cuMemAlloc_v2(&at_, std::max<size_t>(ints, 1) * sizeof(int)), "cuMemAlloc");
  }
  ~Buffer() { (void)driver().cuMemFree_v2(at_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] void* address() const { return reinterpret_cast<void*>(at_); }
  /// The caller keeps `values` until a wait.
  void put(const Gpu& gpu, const std::vector<int>& values) const {
    if (ints_ > 0)
      ok(driver().cuMemcpyHtoDAsync_v2(at_, values.data(), ints_ * sizeof(int), gpu.stream),
         "cuMemcpyHtoDAsync");
  }
  void get(const Gpu& gpu, std::vector<int>* values) const {
    values->assign(ints_, -7);
    if (ints_ > 0)
      ok(driver().cuMemcpyDtoHAsync_v2(values->data(), at_, ints_ * sizeof(int), gpu.stream),
         "cuMemcpyDtoHAsync");
  }

 private:
  CUdeviceptr at_ = 0;
  size_t ints_;
};

class StreamCall {
 public:
  StreamCall(Process& process, const Gpu& gpu, const Algorithm& row, int64_t count, int root,
             bool in_place)
      : process_(process),
        gpu_(gpu),
        row_(row),
        count_(count),
        root_(root),
        in_place_(in_place),
        in_host_(elements(true)),
        out_host_(elements(false), -1),
        in_(in_host_.size()),
        out_(out_host_.size()) {
    for (size_t i = 0; i < in_host_.size(); ++i)
      in_host_[i] = value(rank(), static_cast<int64_t>(i));
    if (row.collective == kBcast) out_host_ = in_host_;
    if (in_place_) fill_in_place();
  }

  void start() {
    in_.put(gpu_, in_host_);
    out_.put(gpu_, out_host_);
    bool taken = false;
    std::string why;
    ASSERT_EQ(enqueue(*process_.channel(0).coll, operation(), gpu_, &taken, &why), MPI_SUCCESS)
        << take_last_error().text;
    ASSERT_TRUE(taken) << row_.name << ": " << why;
    (scatters() && in_place_ && is_root() ? in_ : out_).get(gpu_, &result_);
  }

  void check() {
    for (int64_t i = 0; i < count_ && !testing::Test::HasFailure(); ++i) check_element(i);
  }

 private:
  [[nodiscard]] int rank() const { return process_.world_rank; }
  [[nodiscard]] int ranks() const { return process_.world_size; }
  [[nodiscard]] bool is_root() const { return rank() == root_; }
  [[nodiscard]] bool scatters() const { return row_.collective == kScatter; }

  [[nodiscard]] size_t elements(bool input) const {
    const Collective what = row_.collective;
    const bool many = input ? what == kScatter || what == kAlltoall || what == kReduceScatter
                            : what == kGather || what == kAllgather || what == kAlltoall ||
                                  (what == kReduceScatter && in_place_);
    return static_cast<size_t>(many ? count_ * ranks() : count_);
  }

  void fill_in_place() {
    const auto place = static_cast<size_t>(rank() * count_);
    if (row_.collective == kGather || row_.collective == kAllgather)
      std::copy(in_host_.begin(), in_host_.end(), out_host_.begin() + static_cast<int64_t>(place));
    else if (row_.collective != kScatter && row_.collective != kBcast)
      out_host_ = in_host_;
  }

  [[nodiscard]] Operation operation() {
    Operation made{};
    made.collective = row_.collective;
    made.communicator = process_.world;
    made.root = root_;
    if (reduces(row_.collective)) made.op = process_.handles.find<core::Op>(MPI_SUM);
    if (row_.collective == kBarrier) return made;
    core::Datatype& type = core::predefined_type(process_, MPI_INT);
    const Side in{in_.address(), count_, &type}, out{out_.address(), count_, &type};
    const bool all = !rooted(row_.collective);
    const bool in_place = in_place_ && (all || is_root()) && row_.collective != kBcast;
    made.in_place = in_place;
    if (row_.collective != kBcast && (all || is_root() || !scatters())) made.input = in;
    if (all || is_root() || scatters() || row_.collective == kBcast) made.output = out;
    if (!in_place) return made;
    if (reduces(row_.collective))
      made.input.address = out_.address();
    else if (scatters())
      made.output = {};
    else
      made.input = {};
    return made;
  }

  void expect(int64_t place, int wanted) {
    if (result_[static_cast<size_t>(place)] == wanted) return;
    ADD_FAILURE() << "is " << result_[static_cast<size_t>(place)] << ", not " << wanted << ": "
                  << name_of(row_.collective) << " " << row_.name << (in_place_ ? " in place" : "")
                  << ", rank " << rank() << " of " << ranks() << ", root " << root_ << ", element "
                  << place << " of " << count_;
  }

  void check_element(int64_t i) {
    switch (row_.collective) {
      case kBcast:
        return expect(i, value(root_, i));
      case kScatter: {
        const bool own = in_place_ && is_root();
        return expect(own ? rank() * count_ + i : i, value(root_, rank() * count_ + i));
      }
      case kGather:
      case kAllgather:
        for (int r = 0; r < ranks() && (is_root() || row_.collective == kAllgather); ++r)
          expect(r * count_ + i, value(r, i));
        return;
      case kAlltoall:
        for (int r = 0; r < ranks(); ++r) expect(r * count_ + i, value(r, rank() * count_ + i));
        return;
      case kReduce:
        return is_root() ? expect(i, sum(0, ranks(), i)) : void();
      case kAllreduce:
        return expect(i, sum(0, ranks(), i));
      case kReduceScatter:
        return expect(i, sum(0, ranks(), rank() * count_ + i));
      case kScan:
        return expect(i, sum(0, rank() + 1, i));
      case kExscan:
        return rank() > 0 ? expect(i, sum(0, rank(), i)) : void();
      default:
        return;
    }
  }

  Process& process_;
  const Gpu& gpu_;
  const Algorithm& row_;
  const int64_t count_;
  const int root_;
  const bool in_place_;
  std::vector<int> in_host_, out_host_, result_;
  Buffer in_, out_;
};

inline void prepare(Process& process, const Gpu& gpu) {
  const Buffer any(1);
  std::string why;
  cuda::Device* const device = process.gpus.device_of(cuda::look_up(any.address()), &why);
  ASSERT_NE(device, nullptr) << why;
  const Failure failure = process.channel(0).coll->streams().prepare(*process.world, device);
  ASSERT_FALSE(failure) << failure.text;
  gpu.wait();
}

inline const std::vector<Algorithm>& rows_of_streams() {
  static const std::vector<Algorithm> all = with_cut_rows(rows(true));
  return all;
}

inline bool goes_into_streams(const Algorithm& row, int32_t ranks) {
  Question question{row.collective, ranks, 0};
  question.streams = true;
  // Steps of these rows take several blocks at once, which streams refuse.
  const bool several =
      row.collective == Collective::kReduceScatter &&
      (std::strcmp(row.name, "recursive_halving") == 0 || std::strcmp(row.name, "bine") == 0);
  return has_schedule(row) && can(row, question) && !several;
}

inline unsigned long long calls_of(const char* function) {
  using Calls = unsigned long long (*)(const char*);
  static const auto calls = reinterpret_cast<Calls>(::dlsym(RTLD_DEFAULT, "softcuda_calls"));
  return calls == nullptr ? 0 : calls(function);
}

inline unsigned long long all_calls() {
  using Name = const char* (*)(unsigned);
  static const auto name = reinterpret_cast<Name>(::dlsym(RTLD_DEFAULT, "softcuda_function"));
  unsigned long long sum = 0;
  for (unsigned i = 0; name != nullptr && name(i) != nullptr; ++i) sum += calls_of(name(i));
  return sum;
}

class Graph {
 public:
  template <class Record>
  Graph(const Gpu& gpu, const Record& record) {
    CUgraph graph = nullptr;
    // The capture is thread-local, because other ranks of the process allocate.
    ok(driver().cuStreamBeginCapture_v2(gpu.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
       "cuStreamBeginCapture");
    record();
    ok(driver().cuStreamEndCapture(gpu.stream, &graph), "cuStreamEndCapture");
    ok(driver().cuGraphInstantiateWithFlags(&graph_, graph, 0), "cuGraphInstantiateWithFlags");
    ok(driver().cuGraphDestroy(graph), "cuGraphDestroy");
  }
  ~Graph() { (void)driver().cuGraphExecDestroy(graph_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(const Gpu& gpu) const {
    ok(driver().cuGraphLaunch(graph_, gpu.stream), "cuGraphLaunch");
  }

 private:
  CUgraphExec graph_ = nullptr;
};

}  // namespace tern::coll

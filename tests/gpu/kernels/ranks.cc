// SPDX-License-Identifier: Apache-2.0
// Team creation without messages, and waits for streams.
#include "tests/gpu/kernels/ranks.hpp"

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/params.hpp"
#include "core/op.hpp"
#include "cuda/kernels.hpp"
#include "mpi.h"

namespace tern::kernels_test {
namespace {

class Here final : public pml::MappedPeerMemory {
 public:
  explicit Here(std::byte* at) { address = at; }
};

[[noreturn]] void leave(int status, const char* why) {
  std::printf("%s\n", why);
  std::exit(status);
}

}  // namespace

void must(const char* function, CUresult result) {
  if (result != CUDA_SUCCESS) throw Error(MPI_ERR_OTHER, cuda::words_of(function, result));
}
void must(const std::string& why) {
  if (!why.empty()) throw Error(MPI_ERR_OTHER, why);
}

// With a shared hardware queue, a kernel could wait forever behind another rank's kernel. The
// driver reads the variable before the first context.
Machine::Machine(int most_devices) {
  (void)::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) leave(77, "no libcuda.so.1");
  soft_ = ::dlsym(library, "softcuda_marker") != nullptr;
  const char* const twin = std::getenv("GPU_TWIN");
  if (twin != nullptr && soft_ != (std::strcmp(twin, "soft") == 0))
    leave(1, "libcuda.so.1 is the driver of the other twin");
  driver_ = cuda::driver();
  if (driver_ == nullptr) leave(77, "the driver is too old");
  int count = 0;
  if (driver_->cuInit(0) != CUDA_SUCCESS || driver_->cuDeviceGetCount(&count) != CUDA_SUCCESS ||
      count == 0)
    leave(77, "no device");
  process_.world_size = kMostRanks;
  core::make_predefined_types(process_);
  core::make_predefined_ops(process_);
  process_.gpus.set_kernels_file(Params::from(environ, nullptr).cuda_kernels);
  if (most_devices > 0) count = std::min(count, most_devices);
  for (int ordinal = 0; ordinal < std::min(count, kMostRanks); ++ordinal) add_device(ordinal);
  for (int rank = 0; rank < kMostRanks; ++rank) {
    const cuda::Current current(device_of(rank));
    CUstream& stream = streams_.emplace_back(nullptr);
    must("cuStreamCreateWithPriority",
         driver_->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  }
}

void Machine::add_device(int ordinal) {
  CUdevice device = 0;
  must("cuDeviceGet", driver_->cuDeviceGet(&device, ordinal));
  CUcontext& context = contexts_.emplace_back(nullptr);
  must("cuDevicePrimaryCtxRetain", driver_->cuDevicePrimaryCtxRetain(&context, device));
  must("cuCtxSetCurrent", driver_->cuCtxSetCurrent(context));
  CUdeviceptr& anchor = anchors_.emplace_back(0);
  must("cuMemAlloc", driver_->cuMemAlloc_v2(&anchor, 1));
  std::string why;
  cuda::Device* const made =
      process_.gpus.device_of(cuda::look_up(reinterpret_cast<void*>(anchor)), &why);
  must(why);
  if (made->kernels(&why) == nullptr) must("no kernels: " + why);
  devices_.push_back(made);
}

Machine::~Machine() {
  for (CUstream stream : streams_) (void)driver_->cuStreamDestroy_v2(stream);
  for (CUdeviceptr anchor : anchors_) (void)driver_->cuMemFree_v2(anchor);
  process_.gpus.release();
  core::free_predefined_ops(process_);
  core::free_predefined_types(process_);
}

Ranks::Ranks(Machine& machine, int ranks, size_t scratch)
    : machine_(machine), all_(static_cast<size_t>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank) make_team(rank, scratch);
  open_scratch_to_all_devices();
  for (Rank& rank : all_)
    must(rank.team->map(
        [&](int other) { return std::make_unique<Here>(at(other).team->memory.at(other, 0)); }));
  for (Rank& rank : all_) must(rank.team->memory.write_trial());
  for (Rank& rank : all_) must(rank.team->memory.read_trial());
  share_blocks();
  no_multicast_ = add_multicast();
  for (Rank& rank : all_) rank.team->set_no_multicast(no_multicast_);
}

Ranks::~Ranks() {
  for (Rank& rank : all_) rank.team->memory.unmap();
}

void Ranks::make_team(int number, size_t scratch) {
  core::Process& process = machine_.process();
  const int ranks = count();
  Rank& rank = at(number);
  rank.number = number;
  rank.device = &machine_.device_of(number);
  rank.stream.handle = machine_.stream_of(number);
  rank.communicator = core::Ref<core::Communicator>::adopt(new core::Communicator(
      process, core::Ref<core::Group>::adopt(new core::Group(0, 1, ranks)), number,
      {static_cast<uint64_t>(ranks), 0}, core::Process::kFirstContextIndex));
  std::vector<int> members(static_cast<size_t>(ranks));
  for (int i = 0; i < ranks; ++i) members[static_cast<size_t>(i)] = i;
  rank.team = std::make_unique<coll::GpuTeam>(static_cast<uint64_t>(ranks), std::move(members),
                                              number, *rank.device);
  rank.team->set_lines({});
  must(rank.team->take_scratch({scratch, false, false}));
}

void Ranks::open_scratch_to_all_devices() {
  if (machine_.devices() == 1) return;
  std::vector<CUmemAccessDesc> access;
  for (int i = 0; i < machine_.devices(); ++i) {
    CUmemAccessDesc& one = access.emplace_back();
    one.location = {CU_MEM_LOCATION_TYPE_DEVICE, machine_.device_of(i).ordinal};
    one.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  for (Rank& rank : all_) {
    const cuda::Current current(*rank.device);
    const cuda::Memory memory = cuda::look_up(rank.team->memory.at(rank.number, 0));
    must("cuMemSetAccess",
         machine_.driver().cuMemSetAccess(memory.base, memory.bytes, access.data(), access.size()));
  }
}

// All blocks of a device must be resident together.
void Ranks::share_blocks() {
  const int here = (count() + machine_.devices() - 1) / machine_.devices();
  int parts = coll::kMostPushParts;
  for (Rank& rank : all_) {
    const cuda::Kernels& kernels = *rank.device->kernels();
    parts = std::min(parts, kernels.most_waiting() / here);
  }
  if (parts == 0)
    throw Error(MPI_ERR_OTHER,
                strf("%d ranks do not fit on %d devices together", count(), machine_.devices()));
  parts_ = parts;
  use_blocks(parts);
  for (Rank& rank : all_) rank.team->kernels.set_on_all_ranks(true);
}

void Ranks::use_blocks(int most) {
  const int all = std::min(most, parts_);
  for (Rank& rank : all_)
    rank.team->kernels.set_parts(std::min<int>(all, coll::ScratchLayout::kParts), all);
}

std::string Ranks::add_multicast() {
  const int ranks = count();
  if (ranks > machine_.devices())
    return "ranks share a device, and a multicast object has each device once";
  std::vector<std::unique_ptr<coll::Multicast>> made;
  for (Rank& rank : all_) {
    if (std::string why = coll::Multicast::why_not(*rank.device); !why.empty()) return why;
    made.push_back(std::make_unique<coll::Multicast>(*rank.device));
  }
  Fd descriptor;
  if (std::string why = made[0]->create(ranks, at(0).team->memory.layout().bytes / 4, &descriptor);
      !why.empty())
    return why;
  for (size_t i = 1; i < made.size(); ++i) must(made[i]->join(descriptor, made[0]->bytes()));
  using Step = std::string (coll::Multicast::*)();
  for (const Step step : {&coll::Multicast::add_device, &coll::Multicast::allocate,
                          &coll::Multicast::bind, &coll::Multicast::map})
    for (const auto& one : made)
      if (std::string why = ((*one).*step)(); !why.empty()) return why;
  for (Rank& rank : all_) {
    auto& mine = made[static_cast<size_t>(rank.number)];
    mine->set_blocks(
        std::min(coll::Multicast::kParts, rank.device->kernels()->most_waiting_multicast()));
    rank.team->set_multicast(std::move(mine));
  }
  return {};
}

bool Ranks::idle(Rank& rank) {
  const cuda::Current current(*rank.device);
  const CUresult result = machine_.driver().cuStreamQuery(rank.stream.handle);
  if (result == CUDA_ERROR_LAUNCH_TIMEOUT)
    throw Error(MPI_ERR_OTHER, "TIME OUT: the driver ended a kernel without progress");
  if (result != CUDA_ERROR_NOT_READY) must("cuStreamQuery", result);
  return result == CUDA_SUCCESS;
}

/// seconds_now() counts CPU seconds on the software driver, because other programs compete for the
/// cores.
double Ranks::seconds_now() const noexcept {
  constexpr double kBillion = 1e9, kWallWeighs = 1.0 / 20;
  const double wall = static_cast<double>(now_ns()) / kBillion;
  if (!machine_.is_soft()) return wall;
  timespec used{};
  (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / kBillion +
         wall * kWallWeighs;
}

bool Ranks::wait_until(double seconds) {
  const double begun = seconds_now();
  for (Rank& rank : all_)
    while (!idle(rank)) {
      if (seconds_now() - begun > seconds) return false;
      ::usleep(50);
    }
  return true;
}

std::string Ranks::describe_waits() {
  std::string all;
  for (Rank& rank : all_) {
    std::vector<int> others;
    const uint32_t wait = rank.team->waits.current();
    const std::string what = wait == 0 ? "" : rank.team->waits.describe(wait, &others);
    if (what.empty()) continue;
    all += strf("; rank %d waits for", rank.number);
    for (const int other : others) all += strf(" rank %d", other);
    all += " (" + what + ")";
  }
  return all;
}

std::string Ranks::wait(double seconds) {
  const bool ended = wait_until(seconds);
  const std::string waits = ended ? "" : describe_waits();
  if (!ended) {
    for (Rank& rank : all_) rank.team->reports.end_kernels();
    constexpr double kToLeave = 10;
    if (!wait_until(kToLeave)) {
      std::printf("FAIL: kernels ignore the request to end%s\n", waits.c_str());
      std::fflush(stdout);
      std::_Exit(1);
    }
    return strf("TIME OUT: kernels waited for more than %g s%s", seconds, waits.c_str());
  }
  for (Rank& rank : all_)
    if (std::string why = rank.team->waits.why_given_up(); !why.empty()) return "GIVEN UP: " + why;
  return {};
}

}  // namespace tern::kernels_test

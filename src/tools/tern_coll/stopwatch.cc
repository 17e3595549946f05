// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_coll/stopwatch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace tern::coll_tool {
namespace {

constexpr int kRounds = 5;
constexpr double kRoundUs = 1000;
constexpr size_t kLeastBytes = 8;
constexpr useconds_t kSettleUs = 1000;
constexpr int kLarge = 1 << 20, kTimes = 20;

int calls_of(double each) { return static_cast<int>(std::clamp(kRoundUs / each, 1.0, 1000.0)); }

}  // namespace

Stopwatch::Stopwatch(const MpiLibrary& mpi, const Gpu* gpu, size_t room) : mpi_(mpi), gpu_(gpu) {
  mpi_.Comm_rank(MPI_COMM_WORLD, &rank_);
  mpi_.Comm_size(MPI_COMM_WORLD, &ranks_);
  input_.resize(std::max<size_t>(room, kLarge));
  output_.resize(input_.size());
}

MPI_Comm Stopwatch::communicator_for(const Way& way) {
  MPI_Info info;
  MPI_Comm comm;
  const std::string key = std::string("tern_") + coll::name_of(way.row->collective);
  mpi_.Info_create(&info);
  mpi_.Info_set(info, key.c_str(), way.row->name);
  if (way.wire != Wire::kAuto) mpi_.Info_set(info, "tern_gpu_wire", name_of(way.wire));
  mpi_.Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  mpi_.Info_free(&info);
  if (gpu_ == nullptr) return comm;
  const MPI_Comm on_stream = gpu_->on_stream(comm);
  mpi_.Comm_free(&comm);
  return on_stream;
}

void Stopwatch::call(coll::Collective collective, size_t bytes, MPI_Comm comm) {
  using enum coll::Collective;
  const int block = static_cast<int>(bytes), floats = block / 4;
  const Collectives& by = gpu_ != nullptr ? mpi_.enqueued : mpi_;
  void* const in = gpu_ != nullptr ? gpu_->input() : input_.data();
  void* const out = gpu_ != nullptr ? gpu_->output() : output_.data();
  switch (collective) {
    case kBarrier:
      return (void)by.Barrier(comm);
    case kBcast:
      return (void)by.Bcast(out, block, MPI_BYTE, 0, comm);
    case kGather:
      return (void)by.Gather(in, block, MPI_BYTE, out, block, MPI_BYTE, 0, comm);
    case kScatter:
      return (void)by.Scatter(in, block, MPI_BYTE, out, block, MPI_BYTE, 0, comm);
    case kAllgather:
      return (void)by.Allgather(in, block, MPI_BYTE, out, block, MPI_BYTE, comm);
    case kAlltoall:
      return (void)by.Alltoall(in, block, MPI_BYTE, out, block, MPI_BYTE, comm);
    case kReduce:
      return (void)by.Reduce(in, out, floats, MPI_FLOAT, MPI_SUM, 0, comm);
    case kAllreduce:
      return (void)by.Allreduce(in, out, floats, MPI_FLOAT, MPI_SUM, comm);
    case kReduceScatter:
      return (void)by.Reduce_scatter_block(in, out, floats, MPI_FLOAT, MPI_SUM, comm);
    case kScan:
      return (void)by.Scan(in, out, floats, MPI_FLOAT, MPI_SUM, comm);
    case kExscan:
      return (void)by.Exscan(in, out, floats, MPI_FLOAT, MPI_SUM, comm);
    case kNeighborAllgather:
    case kNeighborAlltoall:
      return;
  }
}

double Stopwatch::slowest(double microseconds) {
  double most = 0;
  mpi_.Allreduce(&microseconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

double Stopwatch::time_of(coll::Collective collective, size_t bytes, MPI_Comm comm, int calls) {
  mpi_.Barrier(MPI_COMM_WORLD);
  const double began = mpi_.Wtime();
  for (int i = 0; i < calls; ++i) call(collective, bytes, comm);
  if (gpu_ != nullptr) gpu_->wait();
  return slowest((mpi_.Wtime() - began) * 1e6 / calls);
}

std::string Stopwatch::wire_of(MPI_Comm comm) {
  MPI_Info info;
  char wire[32] = "";
  int room = sizeof wire, found = 0;
  mpi_.Comm_get_info(comm, &info);
  mpi_.Info_get_string(info, "tern_gpu_wire_taken", &room, wire, &found);
  mpi_.Info_free(&info);
  return wire;
}

// Waits until all ranks have ended the communicator, because the next team takes the freed
// resources.
void Stopwatch::end(MPI_Comm* comm) {
  mpi_.Comm_free(comm);
  if (gpu_ == nullptr) return;
  gpu_->wait();
  (void)::usleep(kSettleUs);
  mpi_.Barrier(MPI_COMM_WORLD);
}

// All ranks keep the same wires.
const std::vector<Way>& Stopwatch::prepare(const std::vector<Way>& ways) {
  for (MPI_Comm& comm : comms_) end(&comm);
  comms_.clear();
  ways_.clear();
  for (const Way& way : ways) {
    MPI_Comm comm = communicator_for(way);
    const bool named = way.wire != Wire::kAuto;
    if (named) (void)time_of(way.row->collective, kLeastBytes, comm, 1);
    if (named && wire_of(comm) != name_of(way.wire)) {
      end(&comm);
      continue;
    }
    ways_.push_back(way);
    if (gpu_ == nullptr)
      comms_.push_back(comm);
    else
      end(&comm);  // many teams at once would not fit the GPU
  }
  return ways_;
}

std::vector<double> Stopwatch::times(size_t bytes) {
  if (gpu_ != nullptr) return times_on_gpu(bytes);
  std::vector<double> best;
  std::vector<int> calls;
  for (size_t i = 0; i < ways_.size(); ++i) {
    const coll::Collective collective = ways_[i].row->collective;
    (void)time_of(collective, bytes, comms_[i], 1);
    best.push_back(time_of(collective, bytes, comms_[i], 2));
    calls.push_back(calls_of(best.back()));
  }
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < ways_.size(); ++i)
      best[i] = std::min(best[i], time_of(ways_[i].row->collective, bytes, comms_[i], calls[i]));
  return best;
}

std::vector<double> Stopwatch::times_on_gpu(size_t bytes) {
  std::vector<double> all;
  std::string by_itself;
  for (const Way& way : ways_) {
    const coll::Collective collective = way.row->collective;
    MPI_Comm comm = communicator_for(way);
    (void)time_of(collective, bytes, comm, 1);
    const std::string taken = wire_of(comm);
    const bool named = way.wire != Wire::kAuto;
    if (!named) by_itself = taken;
    double best = std::numeric_limits<double>::infinity();
    if (!named || (taken == name_of(way.wire) && taken != by_itself)) {
      best = time_of(collective, bytes, comm, 2);
      const int calls = calls_of(best);
      for (int round = 0; round < kRounds; ++round)
        best = std::min(best, time_of(collective, bytes, comm, calls));
    }
    all.push_back(best);
    end(&comm);
  }
  return all;
}

std::vector<int64_t> Stopwatch::hosts() {
  MPI_Comm host;
  mpi_.Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int64_t lowest = rank_;
  mpi_.Bcast(&lowest, 1, MPI_INT64_T, 0, host);
  mpi_.Comm_free(&host);
  std::vector<int64_t> all(static_cast<size_t>(ranks_));
  mpi_.Allgather(&lowest, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
  return all;
}

// Measures half of a round trip between ranks 0 and `other`; the best of several.
double Stopwatch::one_way(int other, int bytes, int rounds) {
  double best = 1e9;
  const bool first = rank_ == 0;
  for (int round = 0; round < rounds && (first || rank_ == other); ++round) {
    const double began = mpi_.Wtime();
    for (const bool sends : {first, !first}) {
      if (sends)
        mpi_.Send(input_.data(), bytes, MPI_BYTE, first ? other : 0, 0, MPI_COMM_WORLD);
      else
        mpi_.Recv(output_.data(), bytes, MPI_BYTE, first ? other : 0, 0, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
    }
    best = std::min(best, (mpi_.Wtime() - began) * 1e6 / 2);
  }
  mpi_.Bcast(&best, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return best;
}

void Stopwatch::measure_link(int other, coll::LinkCost* link) {
  if (other >= ranks_) return;
  link->latency = one_way(other, 8, 1000);
  link->per_second = kLarge / one_way(other, kLarge, 2 * kTimes);
}

coll::Model Stopwatch::figures() {
  coll::Model model;
  const std::vector<int64_t> host = hosts();
  const auto rank_at = [&](auto found) { return static_cast<int>(found - host.begin()); };
  measure_link(rank_at(std::find(host.begin() + 1, host.end(), 0)), &model.within);
  measure_link(
      rank_at(std::find_if(host.begin(), host.end(), [](int64_t one) { return one != 0; })),
      &model.between);
  double reduce = 1e9, copy = 1e9;
  for (int i = 0; i < kTimes; ++i) {
    const double began = mpi_.Wtime();
    mpi_.Reduce_local(input_.data(), output_.data(), kLarge / 4, MPI_FLOAT, MPI_SUM);
    const double middle = mpi_.Wtime();
    std::memcpy(output_.data(), input_.data(), kLarge);
    reduce = std::min(reduce, middle - began);
    copy = std::min(copy, mpi_.Wtime() - middle);
  }
  double figures[] = {reduce, copy};
  mpi_.Bcast(figures, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  model.reduce = kLarge / (figures[0] * 1e6);
  model.copy = kLarge / (figures[1] * 1e6);
  return model;
}

}  // namespace tern::coll_tool

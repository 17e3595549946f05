// SPDX-License-Identifier: Apache-2.0
// Measuring collectives.
#include "tools/tern_coll/stopwatch.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace tern::coll_tool {
namespace {

constexpr int kRounds = 5;
constexpr double kRoundUs = 1000;

}  // namespace

Stopwatch::Stopwatch(const MpiLibrary& mpi) : mpi_(mpi) {
  mpi_.Comm_rank(MPI_COMM_WORLD, &rank_);
  mpi_.Comm_size(MPI_COMM_WORLD, &ranks_);
  input_.resize(kMostBytes * static_cast<size_t>(ranks_));
  output_.resize(input_.size());
}

MPI_Comm Stopwatch::communicator_for(const coll::Algorithm& row) {
  MPI_Info info;
  MPI_Comm comm;
  const std::string key = std::string("tern_") + coll::name_of(row.collective);
  mpi_.Info_create(&info);
  mpi_.Info_set(info, key.c_str(), row.name);
  mpi_.Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  mpi_.Info_free(&info);
  return comm;
}

void Stopwatch::call(coll::Collective collective, size_t bytes, MPI_Comm comm) {
  using enum coll::Collective;
  const int block = static_cast<int>(bytes), floats = block / 4;
  char* const in = input_.data();
  char* const out = output_.data();
  switch (collective) {
    case kBarrier:
      return (void)mpi_.Barrier(comm);
    case kBcast:
      return (void)mpi_.Bcast(out, block, MPI_BYTE, 0, comm);
    case kGather:
      return (void)mpi_.Gather(in, block, MPI_BYTE, out, block, MPI_BYTE, 0, comm);
    case kScatter:
      return (void)mpi_.Scatter(in, block, MPI_BYTE, out, block, MPI_BYTE, 0, comm);
    case kAllgather:
      return (void)mpi_.Allgather(in, block, MPI_BYTE, out, block, MPI_BYTE, comm);
    case kAlltoall:
      return (void)mpi_.Alltoall(in, block, MPI_BYTE, out, block, MPI_BYTE, comm);
    case kReduce:
      return (void)mpi_.Reduce(in, out, floats, MPI_FLOAT, MPI_SUM, 0, comm);
    case kAllreduce:
      return (void)mpi_.Allreduce(in, out, floats, MPI_FLOAT, MPI_SUM, comm);
    case kReduceScatter:
      return (void)mpi_.Reduce_scatter_block(in, out, floats, MPI_FLOAT, MPI_SUM, comm);
    case kScan:
      return (void)mpi_.Scan(in, out, floats, MPI_FLOAT, MPI_SUM, comm);
    case kExscan:
      return (void)mpi_.Exscan(in, out, floats, MPI_FLOAT, MPI_SUM, comm);
    case kNeighborAllgather:
    case kNeighborAlltoall:
      return;  // tune leaves them out
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
  return slowest((mpi_.Wtime() - began) * 1e6 / calls);
}

std::vector<double> Stopwatch::times(const std::vector<const coll::Algorithm*>& rows,
                                     size_t bytes) {
  std::vector<double> best;
  std::vector<MPI_Comm> comms;
  std::vector<int> calls;
  for (const coll::Algorithm* row : rows) {
    comms.push_back(communicator_for(*row));
    (void)time_of(row->collective, bytes, comms.back(), 1);
    best.push_back(time_of(row->collective, bytes, comms.back(), 2));
    calls.push_back(static_cast<int>(std::clamp(kRoundUs / best.back(), 1.0, 1000.0)));
  }
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < rows.size(); ++i)
      best[i] = std::min(best[i], time_of(rows[i]->collective, bytes, comms[i], calls[i]));
  for (MPI_Comm& comm : comms) mpi_.Comm_free(&comm);
  return best;
}

// Half of a round trip between ranks 0 and 1, the best of some.
double Stopwatch::one_way(int bytes, int rounds) {
  double best = 1e9;
  for (int round = 0; round < rounds && rank_ < 2; ++round) {
    const double began = mpi_.Wtime();
    for (int turn = 0; turn < 2; ++turn) {
      if (turn == rank_)
        mpi_.Send(input_.data(), bytes, MPI_BYTE, 1 - rank_, 0, MPI_COMM_WORLD);
      else
        mpi_.Recv(output_.data(), bytes, MPI_BYTE, 1 - rank_, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    best = std::min(best, (mpi_.Wtime() - began) * 1e6 / 2);
  }
  mpi_.Bcast(&best, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return best;
}

coll::Model Stopwatch::figures() {
  constexpr int kLarge = 1 << 20, kTimes = 20;
  coll::Model model;
  model.within.latency = one_way(8, 1000);
  model.within.per_second = kLarge / one_way(kLarge, 2 * kTimes);
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

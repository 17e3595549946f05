// SPDX-License-Identifier: Apache-2.0
// Call: the library's engines enqueue the operation.
#include "base/error.hpp"
#include "coll/engine/pairs.hpp"
#include "coll/gpu/exchange_run.hpp"
#include "coll/gpu/kernel_run.hpp"
#include "coll/gpu/multicast_run.hpp"
#include "coll/gpu/push_run.hpp"
#include "tests/gpu/kernels/call.hpp"

namespace tern::kernels_test {

const coll::Placed* Call::placed(int rank, std::string* why) {
  return team_.at(rank).team->schedules.placed(*shape_.row, shape_.root, why);
}

std::string Call::why_not() {
  const coll::GpuTeam& team = *team_.at(0).team;
  // Some ranks have neither buffers nor a reason, so the first reason counts.
  for (int rank = 0; rank < ranks(); ++rank) {
    const coll::Operation& operation = sides_[static_cast<size_t>(rank)].operation;
    std::string why;
    const char* words = nullptr;
    if (shape_.column == Column::kExchange) {
      if (coll::goes_by_pairs(operation)) continue;
      return "all ranks know the block sizes: use the table's algorithms";
    }
    if (shape_.column == Column::kMultimem && team.multicast() == nullptr)
      return team_.no_multicast();
    const coll::Placed* const placed_here = placed(rank, &why);
    if (placed_here == nullptr) return why;
    if (!placed_here->single_blocks) return "a step takes several blocks at once";
    words = coll::Pieces::why_not(operation);
    if (words != nullptr) return words;
    if (shape_.column == Column::kSimple)
      words = coll::KernelRun::why_not(team, *placed_here, operation);
    else if (shape_.column == Column::kMultimem)
      words = coll::MulticastRun::why_not(operation);
    else if (operation.collective == coll::Collective::kBarrier)
      words = push_of(shape_.column)->no_barrier;
    else
      words = coll::PushRun::why_not(team, *placed_here, operation, push_of(shape_.column)->wire);
    if (words != nullptr) return words;
  }
  return {};
}

void Call::prepare() {
  if (shape_.column != Column::kSimple) return;
  for (int rank = 0; rank < ranks(); ++rank) {
    std::string why;
    const coll::Placed* const mine = placed(rank, &why);
    if (team_.at(rank).team->programs.store(*mine, &why) == nullptr) must(why);
  }
}

void Call::put(int number) {
  if (shape_.of().what == coll::Collective::kBarrier)
    put_barrier(team_.at(number));
  else
    put_operation(team_.at(number));
}

// The second barrier keeps a rank's word until all ranks have read the word.
void Call::put_barrier(Rank& rank) {
  const cuda::Driver& driver = team_.machine().driver();
  const cuda::Current current(*rank.device);
  const auto word = [&](int number) {
    const Side& side = sides_[static_cast<size_t>(number)];
    return coll::device_pointer(side.pinned + side.in.first);
  };
  must("cuStreamWriteValue32",
       driver.cuStreamWriteValue32_v2(rank.stream.handle, word(rank.number), ticket(), 0));
  put_operation(rank);
  const Side& mine = sides_[static_cast<size_t>(rank.number)];
  for (int number = 0; number < ranks(); ++number)
    must("cuMemcpyAsync", driver.cuMemcpyAsync(coll::device_pointer(mine.pinned + mine.out.first) +
                                                   static_cast<size_t>(number) * sizeof(uint32_t),
                                               word(number), sizeof(uint32_t), rank.stream.handle));
  put_operation(rank);
}

void Call::put_operation(Rank& rank) {
  const int number = rank.number;
  coll::GpuTeam& team = *rank.team;
  const coll::Operation& operation = sides_[static_cast<size_t>(number)].operation;
  cuda::Job job(*rank.device, rank.stream);
  const uint64_t timeout = team_.timeout;
  std::string why;
  Failure failure;
  switch (shape_.column) {
    case Column::kLl:
    case Column::kLl128:
    case Column::kBulk:
      failure = coll::PushRun(team, *placed(number, &why), operation, job, timeout,
                              push_of(shape_.column)->wire)
                    .run();
      break;
    case Column::kSimple: {
      const coll::Placed& mine = *placed(number, &why);
      failure =
          coll::KernelRun(team, mine, *team.programs.store(mine, &why), operation, job, timeout)
              .run();
      break;
    }
    case Column::kExchange:
      failure = coll::ExchangeRun(team, operation, job, timeout, team.calls.next_exchange()).run();
      break;
    case Column::kMultimem:
      failure = coll::MulticastRun(team, *placed(number, &why), operation, job, timeout).run();
  }
  if (failure) must(failure.text);
}

}  // namespace tern::kernels_test

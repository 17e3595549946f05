// SPDX-License-Identifier: Apache-2.0
// Streams over several groups of GPUs with peer access ("islands"): creates parts for large
// collectives, each with a shadow communicator and a board.
#include <array>

#include "api/comm/streams.hpp"
#include "base/error.hpp"
#include "coll/coll.hpp"
#include "core/group.hpp"
#include "mpi.h"
#include "stream/proxy.hpp"

namespace tern::api {
namespace {

using core::Communicator;
using stream::CommStream;

using TwoBoards = std::array<stream::Board, 2>;

/// Returns false on all ranks if any rank lacks memory.
bool make_boards(Communicator& comm, cuda::Device& device, size_t chunk, TwoBoards* boards) {
  stream::Proxy& proxy = *comm.process().proxy;
  int64_t made = 0;
  for (stream::Board& board : *boards) {
    if (proxy.boards.make(device, chunk, &board)) break;
    ++made;
  }
  size_t least = 0;
  if (agree_on_least(comm, made, &least) == MPI_SUCCESS && least == boards->size()) return true;
  (void)take_last_error();
  for (size_t i = 0; i < static_cast<size_t>(made); ++i)
    proxy.boards.give_back(device, (*boards)[i]);
  return false;
}

std::shared_ptr<CommStream> make_part(Communicator& comm, const CommStream& whole,
                                      const std::vector<int>& members, int sibling,
                                      const stream::Board& board, cuda::Device* device) {
  core::GroupBuilder group;
  for (const int rank : members) group.add(comm.group().peer_index(rank));
  Communicator& shadow = *derive_shadow(comm, group.finish(), static_cast<uint64_t>(sibling));
  shadow.info = whole.shadow().info;
  shadow.named_by = core::Ref<core::Group>(&comm.group());
  if (device != nullptr) (void)shadow.channel().coll->streams().prepare(shadow, device);
  return std::make_shared<CommStream>(comm, shadow, core::Ref<stream::Stream>(whole.stream()),
                                      whole.chunk(), board, comm.process().proxy);
}

}  // namespace

bool make_islands(Communicator& comm, const std::shared_ptr<CommStream>& whole,
                  const std::vector<int>& islands) {
  Communicator& shadow = whole->shadow();
  const stream::IslandMap map(islands, shadow.rank());
  if (!map.serves() || comm.process().params.gpu_engine == GpuEngine::kHost) return false;
  cuda::Device& device = whole->gpu()->device();
  TwoBoards boards;
  if (!make_boards(shadow, device, whole->chunk(), &boards)) return false;
  const auto own = static_cast<size_t>(map.rank);
  std::shared_ptr<CommStream> here, across;
  try {
    here = make_part(comm, *whole, map.here, 1 + 2 * map.island_of[own], boards[0], &device);
    across = make_part(comm, *whole, map.across, 2 + 2 * map.place_of[own], boards[1], nullptr);
  } catch (const std::bad_alloc&) {  // the ranks agree below
  }
  size_t all_have = 0;
  const bool serves =
      across != nullptr && here->team() != nullptr && here->team()->kernels.on_all_ranks();
  const int code = agree_on_least(shadow, serves ? 1 : 0, &all_have);
  if (code != MPI_SUCCESS) (void)take_last_error();
  if (code != MPI_SUCCESS || all_have == 0) {
    const core::ChannelLock lock(comm.channel().progress);
    for (const auto& part : {here, across})
      if (part != nullptr) part->close();
    return false;
  }
  coll::StreamCollectives::relate(shadow, here->shadow());
  whole->set_islands(std::make_unique<stream::Islands>(*whole, map, here, across));
  for (const auto& part : {here, across}) {
    part->be_part_of(whole);
    comm.process().proxy->add(part);
  }
  return true;
}

}  // namespace tern::api

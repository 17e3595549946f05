// SPDX-License-Identifier: Apache-2.0
// An allgather of few bytes directly over pml, on its internal plane.
#include "api/comm_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "mpi.h"
#include "pml/pml.hpp"

namespace tern::api {

namespace {

using core::Communicator;

int wait_for(Communicator& communicator, core::Request* request) {
  core::Progress& progress = communicator.process().progress;
  {
    const core::ChannelLock lock(progress);
    progress.wait([request] { return request->done(); },
                  [request](WaitReport* report) { request->describe(report); });
  }
  const int code = request->outcome.error;
  request->release();
  if (code == MPI_SUCCESS) return code;
  return fail(code, "a member of %s could not be reached while a communicator was made",
              communicator.name.empty() ? "the parent" : communicator.name.c_str());
}

/// Sends `out` to one member while `in` comes from another.
int exchange(Communicator& communicator, pml::Buffer out, int to, pml::Buffer in, int from,
             int tag) {
  pml::Pml& pml = *communicator.process().pml;
  const auto plane = pml::Plane::kInternal;
  core::Request* request = nullptr;
  int code = pml.irecv(in, {&communicator, from, tag, plane}, &request);
  if (code != MPI_SUCCESS) return code;
  code = pml.send(out, {&communicator, to, tag, plane}, pml::Mode::kStandard);
  const int received = wait_for(communicator, request);
  return code != MPI_SUCCESS ? code : received;
}

}  // namespace

int allgather(Communicator& communicator, void* all, size_t bytes, uint32_t number) {
  const int size = communicator.size(), rank = communicator.rank();
  const int tag = static_cast<int>(number & 0x3fffffff);
  core::Datatype& byte = core::predefined_type(communicator.process(), MPI_BYTE);
  auto* by_rank = static_cast<std::byte*>(all);
  // by_distance[i] is the part of rank + i: the known ones are a prefix, which doubles.
  std::vector<std::byte> by_distance(static_cast<size_t>(size) * bytes);
  const auto offset = [bytes](int ranks) { return static_cast<size_t>(ranks) * bytes; };
  std::memcpy(by_distance.data(), by_rank + offset(rank), bytes);
  for (int known = 1; known < size; known *= 2) {
    const int parts = std::min(known, size - known);
    const auto count = static_cast<MPI_Count>(offset(parts));
    const int code =
        exchange(communicator, {by_distance.data(), count, &byte}, (rank - known + size) % size,
                 {by_distance.data() + offset(known), count, &byte}, (rank + known) % size, tag);
    if (code != MPI_SUCCESS) return code;
  }
  const int wrapped = size - rank;
  std::memcpy(by_rank + offset(rank), by_distance.data(), offset(wrapped));
  std::memcpy(by_rank, by_distance.data() + offset(wrapped), offset(rank));
  return MPI_SUCCESS;
}

}  // namespace tern::api

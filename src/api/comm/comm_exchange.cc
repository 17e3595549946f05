// SPDX-License-Identifier: Apache-2.0
#include "api/comm/comm_exchange.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "core/failed_member.hpp"
#include "mpi.h"
#include "pml/pml.hpp"

namespace tern::api {

namespace {

using core::Communicator;

int wait_for(Communicator& communicator, core::Request* request) {
  core::Progress& progress = communicator.channel().progress;
  {
    const core::ChannelLock lock(progress);
    progress.wait([request] { return request->done(); },
                  [request](WaitReport* report) { request->describe(report); });
  }
  const int code = request->outcome.error;
  request->release();
  if (code == MPI_SUCCESS) return code;
  return fail(code, "cannot reach a member of %s to create a communicator",
              communicator.name.or_words("the parent").c_str());
}

/// A living member that knows a dead member sends nothing.
int post(Communicator& communicator, const pml::Buffer& in, int from, int tag, Needs needs,
         core::Request** request) {
  const core::ChannelLock lock(communicator.channel().progress);
  if (needs == Needs::kAllMembers && communicator.has_failed_member())
    return fail(core::death_in(communicator));
  return communicator.channel().pml->irecv_locked(
      in, {&communicator, from, tag, pml::Plane::kInternal}, request);
}

int exchange(Communicator& communicator, pml::Buffer out, int to, pml::Buffer in, int from, int tag,
             Needs needs = Needs::kAllMembers) {
  core::Request* request = nullptr;
  int code = post(communicator, in, from, tag, needs, &request);
  if (code != MPI_SUCCESS) return code;
  code = communicator.channel().pml->send(out, {&communicator, to, tag, pml::Plane::kInternal},
                                          pml::Mode::kStandard);
  const int received = wait_for(communicator, request);
  return code != MPI_SUCCESS ? code : received;
}

/// Internal tags are below every user tag.
int tag_of(uint64_t number) { return INT_MIN + static_cast<int>(number & 0x3fffffff); }

pml::Buffer data_of(const Words& words, core::Datatype& byte) {
  return {const_cast<uint64_t*>(words.data()),
          static_cast<MPI_Count>(words.size() * sizeof words[0]), &byte};
}

int send_to(Communicator& communicator, const pml::Buffer& out, int to, int tag) {
  return communicator.channel().pml->send(out, {&communicator, to, tag, pml::Plane::kInternal},
                                          pml::Mode::kStandard);
}

int receive_from(Communicator& communicator, const pml::Buffer& in, int from, int tag) {
  core::Request* request = nullptr;
  const int code = post(communicator, in, from, tag, Needs::kAllMembers, &request);
  return code != MPI_SUCCESS ? code : wait_for(communicator, request);
}

}  // namespace

Words pack_text(const std::string& text) {
  Words words{text.size()};
  words.resize(1 + (text.size() + sizeof words[0] - 1) / sizeof words[0]);
  std::memcpy(words.data() + 1, text.data(), text.size());
  return words;
}

std::string unpack_text(const Words& words) {
  return {reinterpret_cast<const char*>(words.data() + 1), words[0]};
}

int broadcast(Communicator& communicator, int root, Words* words, uint64_t number) {
  const int size = communicator.size(), tag = tag_of(number);
  const int place = (communicator.rank() - root + size) % size;
  core::Datatype& byte = core::predefined_type(communicator.process(), MPI_BYTE);
  Words length{words->size()};
  int reach = 1;  // bit of this rank's parent in the tree
  while (reach < size && (place & reach) == 0) reach *= 2;
  if (place != 0) {
    const int from = (place - reach + root) % size;
    int code = receive_from(communicator, data_of(length, byte), from, tag);
    words->resize(length[0]);
    if (code == MPI_SUCCESS && length[0] > 0)
      code = receive_from(communicator, data_of(*words, byte), from, tag);
    if (code != MPI_SUCCESS) return code;
  }
  for (int step = reach / 2; step > 0; step /= 2) {
    if (place + step >= size) continue;
    const int to = (place + step + root) % size;
    int code = send_to(communicator, data_of(length, byte), to, tag);
    if (code == MPI_SUCCESS && !words->empty())
      code = send_to(communicator, data_of(*words, byte), to, tag);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int swap(Communicator& communicator, int with, const Words& mine, Words* theirs, int tag,
         Needs needs) {
  core::Datatype& byte = core::predefined_type(communicator.process(), MPI_BYTE);
  const Words mine_length{mine.size()};
  Words length{0};
  const int code = exchange(communicator, data_of(mine_length, byte), with, data_of(length, byte),
                            with, tag, needs);
  if (code != MPI_SUCCESS) return code;
  theirs->resize(length[0]);
  return exchange(communicator, data_of(mine, byte), with, data_of(*theirs, byte), with, tag,
                  needs);
}

int allgather(Communicator& communicator, void* all, size_t bytes, uint64_t number) {
  const int size = communicator.size(), rank = communicator.rank();
  const int tag = tag_of(number);
  core::Datatype& byte = core::predefined_type(communicator.process(), MPI_BYTE);
  auto* by_rank = static_cast<std::byte*>(all);
  // by_distance[i] is the data of rank + i; the known prefix doubles each round.
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

// SPDX-License-Identifier: Apache-2.0
#include "api/job/job_recording.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "core/communicator.hpp"
#include "core/datatype.hpp"
#include "mpi.h"
#include "pml/pml.hpp"
#include "trace/lines.hpp"
#include "trace/packed.hpp"
#include "trace/recorder.hpp"

namespace tern::api {
namespace {

constexpr int kRounds = 10;
constexpr int kAskTag = INT_MIN + 0x7ffffff0, kAnswerTag = kAskTag + 1, kSampleTag = kAskTag + 2,
              kProfileTag = kAskTag + 3;
constexpr const char* kRecordsKey = "trace.records";  // "11": records, and gathers

}  // namespace

JobRecording::JobRecording(core::Process& process) : process_(process) {
  const std::string words =
      std::string(trace::is_on() ? "1" : "0") + (trace::gathers_profiles() ? "1" : "0");
  process.boot->put(kRecordsKey, words);
}

bool JobRecording::records(int rank) const {
  return process_.boot->get(rank, kRecordsKey).starts_with('1');
}

bool JobRecording::gathers(int rank) const {
  return process_.boot->get(rank, kRecordsKey).ends_with('1');
}

bool JobRecording::has_hosts() const noexcept {
  return process_.boot->local_ranks().size() != static_cast<size_t>(process_.world_size);
}

void JobRecording::begin() {
  if (!trace::is_on() || !has_hosts() || !records(0)) return;
  learn_hosts();
  measure();
}

void JobRecording::end() noexcept {
  if (!trace::is_on()) return;
  try {
    measure();
    if (trace::gathers_profiles() && process_.world_size > 1) gather();
  } catch (const std::exception& error) {
    log_line("the records of this job are incomplete: %s", error.what());
  }
}

void JobRecording::gather() {
  if (process_.world_rank != 0) {
    if (!gathers(0)) return;
    const std::string packed = trace::pack_profile();
    const uint64_t bytes = packed.size();
    if (send(&bytes, sizeof bytes, 0, kProfileTag))
      (void)send(packed.data(), packed.size(), 0, kProfileTag);
    return;
  }
  for (int rank = 1; rank < process_.world_size; ++rank) {
    if (process_.deaths.has(static_cast<uint32_t>(rank)) || !gathers(rank)) continue;
    uint64_t bytes = 0;
    if (!receive(&bytes, sizeof bytes, rank, kProfileTag)) continue;
    std::string packed(std::min(bytes, trace::kMostPackedBytes), '\0');
    if (receive(packed.data(), packed.size(), rank, kProfileTag))
      trace::keep_profile(rank, std::move(packed));
  }
}

void JobRecording::learn_hosts() {
  boot::Boot& boot = *process_.boot;
  const int self = process_.world_rank;
  std::map<int, int> lowest;
  std::vector<int> mates;
  const int here = boot.node(self);
  for (int rank = 0; rank < process_.world_size; ++rank) {
    if (!records(rank)) continue;
    const int node = boot.node(rank);
    lowest.emplace(node, rank);
    if (node == here && rank != self) mates.push_back(rank);
  }
  lowest_ = lowest[here];
  if (self == lowest_ && self != 0) partners_ = std::move(mates);
  if (self != 0) return;
  for (const auto& [node, rank] : lowest)
    if (rank != 0) partners_.push_back(rank);
}

void JobRecording::measure() {
  if (process_.world_rank == 0) return serve();
  if (lowest_ <= 0) return;
  Sample sample{};
  bool found = true;
  if (process_.world_rank == lowest_) {
    found = ask(&sample);
    if (!found) sample.residual_ns = -1;
    for (const int mate : partners_) (void)send(&sample, sizeof sample, mate, kSampleTag);
  } else {
    found = receive(&sample, sizeof sample, lowest_, kSampleTag) && sample.residual_ns >= 0;
  }
  if (!found) return;
  trace::define(trace::line({"clock", std::to_string(sample.local_ns),
                             std::to_string(sample.ahead_ns), std::to_string(sample.residual_ns)}));
}

void JobRecording::serve() {
  for (const int rank : partners_)
    for (int round = 0; round < kRounds; ++round) {
      int64_t time = 0;
      if (!receive(&time, sizeof time, rank, kAskTag)) break;
      time = trace::now();
      if (!send(&time, sizeof time, rank, kAnswerTag)) break;
    }
}

bool JobRecording::ask(Sample* best) {
  int64_t shortest = INT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    int64_t theirs = 0;
    const int64_t begin = trace::now();
    if (!send(&begin, sizeof begin, 0, kAskTag) || !receive(&theirs, sizeof theirs, 0, kAnswerTag))
      return false;
    const int64_t trip = trace::now() - begin;
    if (trip >= shortest) continue;
    shortest = trip;
    *best = {begin + trip / 2, theirs - (begin + trip / 2), trip / 2};
  }
  return true;
}

bool JobRecording::send(const void* data, size_t bytes, int rank, int tag) const noexcept {
  const pml::Buffer buffer{const_cast<void*>(data), static_cast<MPI_Count>(bytes),
                           &core::predefined_type(process_, MPI_BYTE)};
  return process_.world->channel().pml->send(buffer,
                                             {process_.world, rank, tag, pml::Plane::kInternal},
                                             pml::Mode::kStandard) == MPI_SUCCESS;
}

bool JobRecording::receive(void* data, size_t bytes, int rank, int tag) const noexcept {
  const pml::Buffer buffer{data, static_cast<MPI_Count>(bytes),
                           &core::predefined_type(process_, MPI_BYTE)};
  core::Outcome outcome;
  return process_.world->channel().pml->recv(
             buffer, {process_.world, rank, tag, pml::Plane::kInternal}, &outcome) == MPI_SUCCESS;
}

}  // namespace tern::api

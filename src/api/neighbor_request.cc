// SPDX-License-Identifier: Apache-2.0
// How neighbourhood collectives run: all messages at once, on the internal plane.
// Each takes a number when it is called (or made persistent), the same on all ranks; it is part of
// the tag, so that persistent ones may be started in any order.
#include <utility>

#include "api/comm_exchange.hpp"
#include "api/neighbor.hpp"
#include "api/process.hpp"
#include "core/topology.hpp"

namespace tern::api {

using core::Communicator;

Neighborhood::Neighborhood(Communicator& comm) noexcept : comm_(comm) {
  if (comm.topology == nullptr) {
    code_ = fail(MPI_ERR_TOPOLOGY, "%s has no topology, so it has no neighbourhoods",
                 comm.name.empty() ? "comm" : comm.name.c_str());
    return;
  }
  tag_ = kFirstNeighborTag + 2 * static_cast<int>(comm.neighbor_sequence++ & 0x0fffffff);
}

size_t Neighborhood::sources() const noexcept {
  return code_ == MPI_SUCCESS ? comm_.topology->sources().size() : 0;
}

size_t Neighborhood::destinations() const noexcept {
  return code_ == MPI_SUCCESS ? comm_.topology->destinations().size() : 0;
}

// In a grid what goes in the negative direction comes from the positive one; where both neighbours
// are the same process (a period of 1 or 2) the tag tells them apart.
pml::Envelope Neighborhood::next(const std::vector<int>& neighbors, size_t* number, int turned) {
  const bool grid = comm_.topology->cartesian() != nullptr;
  const int direction = grid ? (static_cast<int>(*number) + turned) & 1 : 0;
  return {&comm_, neighbors[(*number)++], tag_ + direction, pml::Plane::kInternal};
}

void Neighborhood::send(const void* address, MPI_Count count, core::Datatype& type) {
  const pml::Envelope to = next(comm_.topology->destinations(), &sent_, 0);
  if (to.rank != MPI_PROC_NULL) sends_.push_back({{const_cast<void*>(address), count, &type}, to});
}

void Neighborhood::receive(void* address, MPI_Count count, core::Datatype& type) {
  const pml::Envelope from = next(comm_.topology->sources(), &received_, 1);
  if (from.rank != MPI_PROC_NULL) receives_.push_back({{address, count, &type}, from});
}

int Neighborhood::post(std::vector<core::Request*>* parts) const {
  pml::Pml& pml = *comm_.process().pml;
  parts->reserve(sends_.size() + receives_.size());
  int code = MPI_SUCCESS;
  core::Request* made = nullptr;
  for (const Message& message : receives_) {
    if (code == MPI_SUCCESS) code = pml.irecv(message.buffer, message.envelope, &made);
    if (code == MPI_SUCCESS) parts->push_back(made);
  }
  for (const Message& message : sends_) {
    if (code == MPI_SUCCESS)
      code = pml.isend(message.buffer, message.envelope, pml::Mode::kStandard, &made);
    if (code == MPI_SUCCESS) parts->push_back(made);
  }
  return code;
}

void Neighborhood::hold(int by) const noexcept {
  for (const auto* messages : {&sends_, &receives_})
    for (const Message& message : *messages) {
      core::Datatype& type = *message.buffer.type;
      if (type.predefined()) continue;
      if (by > 0)
        type.retain();
      else
        type.release();
    }
  comm_.kept += by;
  comm_.pending += by;
  if (comm_.pending == 0 && comm_.freed) comm_.release();
}

namespace {

class NeighborRequest final : public CompoundRequest {
 public:
  explicit NeighborRequest(Neighborhood what)
      : CompoundRequest(&what.communicator()), what_(std::move(what)) {}

  [[nodiscard]] int start() noexcept override {
    restart();
    set_active(true);
    delete std::exchange(error_text, nullptr);
    std::vector<core::Request*> parts;
    int code = MPI_SUCCESS;
    const int thrown = guarded([&] { code = what_.post(&parts); });
    const core::ChannelLock lock(the_process->progress);
    for (core::Request* part : parts) add(part);
    run();
    return thrown != MPI_SUCCESS ? thrown : code;
  }
  void set_persistent() noexcept {
    const core::ChannelLock lock(the_process->progress);
    what_.hold(1);
    persistent_ = true;
    set_active(false);
    complete();
  }
  void destroy() noexcept override {
    if (persistent_) what_.hold(-1);
    CompoundRequest::destroy();
  }

 private:
  Neighborhood what_;
};

bool all_done(const std::vector<core::Request*>& parts) noexcept {
  for (const core::Request* part : parts)
    if (!part->done()) return false;
  return true;
}

}  // namespace

int run(const Neighborhood& what) {
  if (what.code() != MPI_SUCCESS) return what.code();
  std::vector<core::Request*> parts;
  int code = what.post(&parts);
  if (code != MPI_SUCCESS) return code;
  const core::ChannelLock lock(the_process->progress);
  the_process->progress.wait([&parts] { return all_done(parts); },
                             [&parts](WaitReport* report) {
                               for (const core::Request* part : parts)
                                 if (!part->done()) return part->describe(report);
                             });
  for (core::Request* part : parts) {
    if (code == MPI_SUCCESS && part->outcome.error != MPI_SUCCESS)
      code = fail(part->outcome.error, "%s",
                  part->error_text == nullptr ? "the exchange with a neighbour failed"
                                              : part->error_text->c_str());
    part->release();
  }
  return code;
}

int begin(Neighborhood what, MPI_Request* request) {
  if (what.code() != MPI_SUCCESS) return what.code();
  auto* made = new NeighborRequest(std::move(what));
  const int code = made->start();
  *request = reinterpret_cast<MPI_Request>(made->handle());
  return code;
}

int plan(Neighborhood what, MPI_Request* request) {
  if (what.code() != MPI_SUCCESS) return what.code();
  auto* made = new NeighborRequest(std::move(what));
  made->set_persistent();
  *request = reinterpret_cast<MPI_Request>(made->handle());
  return MPI_SUCCESS;
}

}  // namespace tern::api

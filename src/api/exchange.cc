// SPDX-License-Identifier: Apache-2.0
// How exchanges run: all messages at once, on the internal plane.
#include "api/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "api/process.hpp"

namespace tern::api {

void Exchange::send(const pml::Buffer& buffer, int to, int tag) {
  if (to != MPI_PROC_NULL) sends_.push_back({buffer, {comm_, to, tag, pml::Plane::kInternal}});
}

void Exchange::receive(const pml::Buffer& buffer, int from, int tag) {
  if (from != MPI_PROC_NULL)
    receives_.push_back({buffer, {comm_, from, tag, pml::Plane::kInternal}});
}

void Exchange::fold(const pml::Buffer& result, MPI_Count offset, MPI_Count count, core::Op& op,
                    int ranks, int tag) {
  const core::Datatype& type = *result.type;
  const auto extent = type.extent();
  const auto each =
      static_cast<size_t>(std::max<MPI_Count>(0, count * extent) + type.true_extent());
  memory_.reset(new std::byte[each * static_cast<size_t>(ranks)]);
  packed_.reset(new std::byte[result.bytes()]);
  folding_.result = result;
  folding_.op = &op;
  for (int rank = 0; rank < ranks; ++rank) {
    std::byte* at = memory_.get() + static_cast<size_t>(rank) * each - type.true_lb();
    receive({at, count, result.type}, rank, tag);
    folding_.from.push_back(at + offset * extent);
  }
}

// inout = in (op) inout: from the last contribution to the first.
void Exchange::finish() const noexcept {
  if (folding_.from.empty() || folding_.result.count == 0) return;
  const pml::Buffer& into = folding_.result;
  const auto bytes = into.bytes();
  into.type->pack(folding_.from.back(), into.count, 0, packed_.get(), bytes);
  into.type->unpack(into.address, into.count, 0, packed_.get(), bytes);
  for (size_t i = folding_.from.size() - 1; i-- > 0;)
    folding_.op->apply(folding_.from[i], into.address, into.count, *into.type);
}

int Exchange::post(std::vector<core::Request*>* parts) const {
  pml::Pml& pml = *comm_->channel().pml;
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

void Exchange::hold(int by) const noexcept {
  for (const auto* messages : {&sends_, &receives_})
    for (const Message& message : *messages) {
      core::Datatype& type = *message.buffer.type;
      if (type.predefined()) continue;
      if (by > 0)
        type.retain();
      else
        type.release();
    }
  comm_->kept += by;
  comm_->pending += by;
  if (comm_->pending == 0 && comm_->freed) comm_->release();
}

namespace {

class ExchangeRequest final : public CompoundRequest {
 public:
  explicit ExchangeRequest(Exchange what)
      : CompoundRequest(&what.communicator()), what_(std::move(what)) {}

  [[nodiscard]] int start() noexcept override {
    restart();
    set_active(true);
    delete std::exchange(error_text, nullptr);
    std::vector<core::Request*> parts;
    int code = MPI_SUCCESS;
    const int thrown = guarded([&] { code = what_.post(&parts); });
    const core::ChannelLock lock(communicator->channel().progress);
    for (core::Request* part : parts) add(part);
    run();
    return thrown != MPI_SUCCESS ? thrown : code;
  }
  void set_persistent() noexcept {
    const core::ChannelLock lock(communicator->channel().progress);
    what_.hold(1);
    persistent_ = true;
    set_active(false);
    complete();
  }
  void finish() noexcept override { what_.finish(); }
  void destroy() noexcept override {
    if (persistent_) what_.hold(-1);
    CompoundRequest::destroy();
  }

 private:
  Exchange what_;
};

bool all_done(const std::vector<core::Request*>& parts) noexcept {
  for (const core::Request* part : parts)
    if (!part->done()) return false;
  return true;
}

}  // namespace

int run(Exchange what) {
  if (what.code() != MPI_SUCCESS) return what.code();
  std::vector<core::Request*> parts;
  int code = what.post(&parts);
  if (code != MPI_SUCCESS) return code;
  core::Progress& progress = what.communicator().channel().progress;
  const core::ChannelLock lock(progress);
  progress.wait([&parts] { return all_done(parts); },
                [&parts](WaitReport* report) {
                  for (const core::Request* part : parts)
                    if (!part->done()) return part->describe(report);
                });
  for (core::Request* part : parts) {
    if (code == MPI_SUCCESS && part->outcome.error != MPI_SUCCESS)
      code = fail(part->outcome.error, "%s",
                  part->error_text == nullptr ? "a message of the collective failed"
                                              : part->error_text->c_str());
    part->release();
  }
  if (code == MPI_SUCCESS) what.finish();
  return code;
}

int begin(Exchange what, MPI_Request* request) {
  if (what.code() != MPI_SUCCESS) return what.code();
  auto* made = new ExchangeRequest(std::move(what));
  const int code = made->start();
  *request = reinterpret_cast<MPI_Request>(made->handle());
  return code;
}

int plan(Exchange what, MPI_Request* request) {
  if (what.code() != MPI_SUCCESS) return what.code();
  auto* made = new ExchangeRequest(std::move(what));
  made->set_persistent();
  *request = reinterpret_cast<MPI_Request>(made->handle());
  return MPI_SUCCESS;
}

}  // namespace tern::api

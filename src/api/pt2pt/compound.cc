// SPDX-License-Identifier: Apache-2.0
#include "api/pt2pt/compound.hpp"

#include <string>
#include <utility>

#include "api/process.hpp"
#include "core/communicator.hpp"

namespace tern::api {
namespace {

using Running = std::vector<CompoundRequest*>;

Running& running_in(const core::Channel& channel) noexcept {
  return instance().compounds[channel.number];
}

}  // namespace

CompoundRequest::CompoundRequest(core::Communicator* of) {
  communicator = of;
  channel = &of->channel();
  the_process->handles.insert(*this);
}

void CompoundRequest::run() noexcept {
  retain();
  if (try_to_finish()) return release();
  Running& all = running_in(*channel);
  if (all.empty()) channel->progress.add(&CompoundRequest::poll, &all);
  all.push_back(this);
}

int CompoundRequest::poll(void* self) noexcept {
  int events = 0;
  auto& all = *static_cast<Running*>(self);
  core::Progress& progress = all.front()->channel->progress;
  for (size_t i = 0; i < all.size();) {
    CompoundRequest* one = all[i];
    if (!one->try_to_finish()) {
      ++i;
      continue;
    }
    all[i] = all.back();
    all.pop_back();
    one->release();
    ++events;
  }
  if (all.empty()) progress.remove(&all);
  return events;
}

bool CompoundRequest::try_to_finish() noexcept {
  for (const core::Request* part : parts_)
    if (!part->done()) return false;
  core::Outcome whole;
  for (const core::Request* part : parts_)
    if (TERN_UNLIKELY(part->outcome.error != MPI_SUCCESS)) keep_communicator();
  for (core::Request* part : parts_) {
    const int before = whole.error;
    whole = part->outcome;
    if (before != MPI_SUCCESS) whole.error = before;
    if (part->error_text != nullptr && error_text == nullptr)
      error_text = std::exchange(part->error_text, nullptr);
    part->release();
  }
  parts_.clear();
  outcome = whole;
  complete();
  return true;
}

void CompoundRequest::describe(WaitReport* report) const {
  for (const core::Request* part : parts_)
    if (!part->done()) return part->describe(report);
}

void CompoundRequest::destroy() noexcept {
  the_process->handles.erase(*this);
  for (core::Request* part : parts_) part->release();
  delete error_text;
  delete this;
}

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// Buffered messages: a message takes the first gap that fits.
#include "api/pt2pt/send_buffer.hpp"

#include "api/process.hpp"
#include "api/pt2pt/compound.hpp"

namespace tern::api {
namespace {

constexpr size_t kAlign = 16;

size_t rounded(size_t bytes) noexcept { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

void SendBuffer::drop_finished() noexcept {
  size_t kept = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].request->done()) {
      slots_[i].request->release();
      continue;
    }
    if (kept != i) slots_[kept] = std::move(slots_[i]);
    ++kept;
  }
  slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(kept), slots_.end());
}

bool SendBuffer::has_room(size_t bytes) noexcept {
  drop_finished();
  size_t index, from;
  return address_ == MPI_BUFFER_AUTOMATIC || find_room(rounded(bytes), &index, &from);
}

bool SendBuffer::find_room(size_t bytes, size_t* index, size_t* from) const noexcept {
  *from = 0;
  for (*index = 0; *index < slots_.size(); ++*index) {
    if (slots_[*index].from - *from >= bytes) return true;
    *from = slots_[*index].to;
  }
  return bytes_ - *from >= bytes;
}

int SendBuffer::send(const pml::Buffer& data, const pml::Envelope& to) {
  const size_t bytes = data.bytes(), needed = rounded(bytes);
  BufferedSend slot{0, needed, nullptr, nullptr};
  size_t index = slots_.size();
  if (address_ == MPI_BUFFER_AUTOMATIC) {
    slot.own = std::make_unique<std::byte[]>(needed);
  } else if (!find_room(needed, &index, &slot.from)) {
    size_t used = 0;
    for (const BufferedSend& other : slots_) used += other.to - other.from;
    return fail(
        MPI_ERR_BUFFER,
        "a buffered send of %zu bytes does not fit: the attached buffer has %zu bytes, %zu of them "
        "in use; attach a larger buffer (MPI_Buffer_attach) or MPI_BUFFER_AUTOMATIC",
        bytes, bytes_, used);
  }
  slot.to = slot.from + needed;
  std::byte* room = slot.own ? slot.own.get() : static_cast<std::byte*>(address_) + slot.from;
  slots_.reserve(slots_.size() + 1);
  if (const Failure why = core::pack(*the_process, data, 0, room, bytes)) return fail(why);
  const pml::Buffer packed{room, static_cast<MPI_Count>(bytes),
                           &core::predefined_type(*the_process, MPI_PACKED)};
  const int code = to.communicator->channel().pml->isend_locked(packed, to, &slot.request);
  if (code != MPI_SUCCESS) return code;
  slots_.insert(slots_.begin() + static_cast<std::ptrdiff_t>(index), std::move(slot));
  return MPI_SUCCESS;
}

bool SendBuffer::empty() noexcept {
  drop_finished();
  return slots_.empty();
}

bool SendBuffer::sent() noexcept {
  const std::lock_guard<std::mutex> guard(instance().send_buffers.mutex);
  return empty();
}

// The buffer's messages may be in any channel.
void SendBuffer::flush() noexcept {
  core::Progress& progress = the_process->channel(0).progress;
  const core::ChannelLock lock(progress);
  const auto done = [&] {
    progress.poll_others();
    return sent();
  };
  progress.wait(done, [this](WaitReport* report) {
    const std::lock_guard<std::mutex> guard(instance().send_buffers.mutex);
    report->words += "buffered messages to be received: ";
    if (!slots_.empty()) slots_.front().request->describe(report);
  });
}

void SendBuffer::add_to(CompoundRequest& request) {
  drop_finished();
  for (const BufferedSend& slot : slots_) {
    slot.request->retain();
    request.add(slot.request);
  }
}

}  // namespace tern::api

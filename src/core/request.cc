// SPDX-License-Identifier: Apache-2.0
// Request: statuses, and the defaults of its virtual functions.
#include "core/request.hpp"

#include "base/error.hpp"
#include "core/communicator.hpp"
#include "trace/recorder.hpp"

namespace tern::core {
namespace {

// A status has five reserved ints, three of them for bytes and cancel flag.
constexpr int kBytesLow = 0, kBytesHigh = 1, kCancelled = 2;

}  // namespace

void set_status_bytes(MPI_Status& status, MPI_Count bytes) noexcept {
  status.MPI_internal[kBytesLow] = static_cast<int>(bytes & 0xffffffff);
  status.MPI_internal[kBytesHigh] = static_cast<int>(bytes >> 32);
}

MPI_Count status_bytes(const MPI_Status& status) noexcept {
  const auto low = static_cast<uint32_t>(status.MPI_internal[kBytesLow]);
  return (static_cast<MPI_Count>(status.MPI_internal[kBytesHigh]) << 32) |
         static_cast<MPI_Count>(low);
}

void set_status_cancelled(MPI_Status& status, bool cancelled) noexcept {
  status.MPI_internal[kCancelled] = cancelled ? 1 : 0;
}

bool status_cancelled(const MPI_Status& status) noexcept {
  return status.MPI_internal[kCancelled] != 0;
}

void fill_status(MPI_Status* status, const Outcome& outcome, bool with_error) noexcept {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = outcome.source;
  status->MPI_TAG = outcome.tag;
  if (with_error) status->MPI_ERROR = outcome.error;
  set_status_bytes(*status, outcome.bytes);
  set_status_cancelled(*status, outcome.cancelled);
}

void fill_empty_status(MPI_Status* status) noexcept { fill_status(status, Outcome{}, true); }

void Request::keep_communicator() noexcept {
  if (communicator != nullptr) kept_ = Ref<Object>(communicator);
}

Object* Request::raised_on() noexcept { return communicator; }

void Request::record_completion() noexcept {
  if (!traits_.recorded) return;
  trace::Record record{};
  record.kind = notes.done;
  trace::fill(&record, notes);
  if (outcome.cancelled) {
    record.flags |= trace::kCancelled;
    record.number = 0;
  } else if (notes.done == trace::RecordKind::kReceiveDone && notes.peer != trace::kProcNull) {
    record.peer = outcome.source;
    record.tag = outcome.tag;
    record.bytes = static_cast<int64_t>(outcome.bytes);
  }
  if (outcome.error != MPI_SUCCESS) {
    record.flags |= trace::kFailed;
    record.detail = static_cast<uint32_t>(outcome.error);
  }
  const bool receives = notes.done == trace::RecordKind::kReceiveDone;
  const bool met = (notes.flags & trace::kRendezvous) != 0;
  trace::complete(record, receives || met ? notes.matched_ns : 0);
  set_record(0);
}

int Request::start() noexcept {
  return fail(MPI_ERR_REQUEST,
              "the request is not persistent; only requests of MPI_*_init can be started");
}

void Request::describe(WaitReport* report) const { report->words += "an operation"; }

}  // namespace tern::core

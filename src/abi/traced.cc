// SPDX-License-Identifier: Apache-2.0
#include "abi/traced.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "api/errors.hpp"
#include "base/error.hpp"
#include "pml/pml.hpp"

namespace tern::abi {
namespace {

using trace::RecordKind;

/// "3", "0-3,8"; peers of another world: "w9f3c...:0-3", with the hash of the world's job.
class Members {
 public:
  explicit Members(core::Process& process) : process_(process) {}
  void add(uint32_t peer) {
    uint64_t world = 0;
    uint32_t rank = peer;
    if (process_.worlds.is_stranger(peer)) {
      const core::ProcessName name = process_.worlds.name_of(peer);
      world = name.world;
      rank = name.rank;
    }
    if (any_ && world == world_ && rank == last_ + 1) {
      last_ = rank;
      return;
    }
    flush();
    any_ = true;
    world_ = world;
    first_ = last_ = rank;
  }
  [[nodiscard]] std::string finish() {
    flush();
    return std::move(text_);
  }

 private:
  void flush() {
    if (!any_) return;
    if (!text_.empty()) text_ += ',';
    if (world_ != 0) text_ += strf("w%llx:", static_cast<unsigned long long>(world_));
    text_ += first_ == last_ ? std::to_string(first_) : strf("%u-%u", first_, last_);
  }
  core::Process& process_;
  std::string text_;
  bool any_ = false;
  uint64_t world_ = 0;
  uint32_t first_ = 0, last_ = 0;
};

std::string members_of(core::Process& process, const core::Group* group) {
  if (group == nullptr) return "-";
  Members members(process);
  for (int rank = 0; rank < group->size(); ++rank) members.add(group->peer_index(rank));
  return members.finish();
}

bool has_strangers(const core::Process& process, const core::Group* group) {
  for (int rank = 0; group != nullptr && rank < group->size(); ++rank)
    if (process.worlds.is_stranger(group->peer_index(rank))) return true;
  return false;
}

/// Ids of communicators are unique in a process. The key adds the world of communicators within a
/// world, and the rank of communicators of a single process.
std::string key_of(core::Communicator& comm) {
  core::Process& process = comm.process();
  const core::ContextId id = comm.id();
  std::string key = strf("%016llx%08x", static_cast<unsigned long long>(id.creator), id.counter);
  if (has_strangers(process, &comm.group()) || has_strangers(process, comm.remote_group()))
    return key;
  key += strf("-%llx", static_cast<unsigned long long>(process.worlds.own()));
  if (comm.size() == 1 && !comm.inter()) key += strf("-%d", process.world_rank);
  return key;
}

std::string name_of(const core::Communicator& comm, const core::Process& process) {
  if (&comm == process.world) return "MPI_COMM_WORLD";
  if (&comm == process.self) return "MPI_COMM_SELF";
  return comm.name.or_words("");
}

TERN_COLD void define_comm(core::Communicator& comm) noexcept {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (comm.notes.get() != nullptr) return;
  try {
    auto notes = std::make_unique<trace::CommNotes>();
    core::Process& process = comm.process();
    trace::define({key_of(comm), name_of(comm, process), members_of(process, &comm.group()),
                   members_of(process, comm.remote_group())},
                  notes.get());
    comm.notes.set(std::move(notes));
  } catch (const std::exception&) {  // records without a communicator
  }
}

RecordKind done_of(RecordKind start) noexcept {
  switch (start) {
    case RecordKind::kSendStart:
      return RecordKind::kSendDone;
    case RecordKind::kReceiveStart:
      return RecordKind::kReceiveDone;
    case RecordKind::kCollectiveStart:
      return RecordKind::kCollectiveDone;
    default:
      return start;
  }
}

RecordKind start_of(RecordKind done) noexcept {
  switch (done) {
    case RecordKind::kSendDone:
      return RecordKind::kSendStart;
    case RecordKind::kReceiveDone:
      return RecordKind::kReceiveStart;
    case RecordKind::kCollectiveDone:
      return RecordKind::kCollectiveStart;
    default:
      return done;
  }
}

uint64_t next_send(core::Communicator& comm, int dest, int tag) noexcept {
  trace::CommNotes* const notes = comm.notes.get();
  if (notes == nullptr || dest == MPI_PROC_NULL) return 0;
  notes->sending.lock();
  const uint64_t number = notes->sent.next(dest, tag);
  notes->sending.unlock();
  return number;
}

/// The next message or collective of a persistent request. Receives get numbers when they match.
void number_start(trace::RequestNotes& notes) noexcept {
  notes.message = 0;
  if (notes.in == nullptr || notes.partitioned) return;
  if (notes.done == RecordKind::kCollectiveDone) {
    notes.message = notes.in->collectives.fetch_add(1, std::memory_order_relaxed) + 1;
  } else if (notes.done == RecordKind::kSendDone && notes.peer >= 0) {
    notes.in->sending.lock();
    notes.message = notes.in->sent.next(notes.peer, notes.tag);
    notes.in->sending.unlock();
  }
}

core::Request* request_of(MPI_Request handle) noexcept {
  if (api::the_process == nullptr || handle == MPI_REQUEST_NULL) return nullptr;
  return api::the_process->handles.find<core::Request>(handle);
}

/// Keeps the envelope for the completion. Matching may have set `message` of a receive already.
void note(core::Request& request, const trace::Record& record, RecordKind done) noexcept {
  trace::RequestNotes& notes = request.notes;
  notes.done = done;
  notes.comm = record.comm;
  notes.group = record.group;
  notes.peer = record.peer;
  notes.tag = record.tag;
  notes.flags = record.flags;
  notes.bytes = record.bytes;
  if (done != RecordKind::kReceiveDone || record.number != 0) notes.message = record.number;
}

}  // namespace

void Traced::take(core::Communicator* comm) noexcept {
  if (comm == nullptr) return;
  comm_ = comm;
  if (TERN_UNLIKELY(comm->notes.get() == nullptr)) define_comm(*comm);
  if (const trace::CommNotes* const notes = comm->notes.get(); notes != nullptr) {
    open_.record.comm = notes->number;
    open_.record.group = notes->group;
  }
  if (comm->inter()) open_.record.flags |= trace::kStranger;
}

void Traced::on(MPI_Comm comm) noexcept {
  if (api::the_process != nullptr) take(api::the_process->handles.find<core::Communicator>(comm));
}

void Traced::on(MPI_Win win) noexcept {
  if (api::the_process == nullptr) return;
  auto* const window = api::the_process->handles.find<rma::Window>(win);
  if (window != nullptr) take(&window->targets.communicator());
}

void Traced::on(MPI_File file) noexcept {
  if (api::the_process == nullptr) return;
  auto* const found = api::the_process->handles.find<io::File>(file);
  if (found != nullptr) take(&found->communicator());
}

void Traced::on(MPI_Message message) noexcept {
  if (api::the_process == nullptr) return;
  const auto* const found = api::the_process->handles.find<pml::Matched>(message);
  if (found == nullptr) return;
  take(found->from.communicator);
  receive(found->from.rank, found->from.tag);
  open_.record.number = found->number;
}

void Traced::data(const void* buffer, MPI_Count count, MPI_Datatype type) noexcept {
  if (buffer == MPI_IN_PLACE || api::the_process == nullptr) return;
  const auto* const found = api::the_process->handles.find<core::Datatype>(type);
  if (found == nullptr || count < 0) return;
  int64_t& bytes = open_.record.bytes;
  bytes =
      (bytes < 0 ? 0 : bytes) + static_cast<int64_t>(count) * static_cast<int64_t>(found->size());
}

void Traced::send(int dest, int tag) noexcept {
  trace::Record& record = open_.record;
  record.peer = rank_of(dest);
  record.tag = tag;
  if (comm_ != nullptr) record.number = next_send(*comm_, dest, tag);
}

void Traced::receive(int source, int tag) noexcept {
  peer(source);
  this->tag(tag);
  if (source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) open_.record.flags |= trace::kWildcard;
}

void Traced::receive_too(int source, int tag) noexcept {
  open_.part = open_.record;
  trace::Record& part = open_.part;
  part.kind = part.kind == RecordKind::kSend ? RecordKind::kReceive : RecordKind::kReceiveStart;
  part.flags |= trace::kPart;
  part.peer = rank_of(source);
  part.tag = tag == MPI_ANY_TAG ? -1 : tag;
  part.bytes = -1;
  part.number = 0;
  if (source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) part.flags |= trace::kWildcard;
}

void Traced::collective() noexcept {
  trace::CommNotes* const notes = comm_ == nullptr ? nullptr : comm_->notes.get();
  if (notes != nullptr)
    open_.record.number = notes->collectives.fetch_add(1, std::memory_order_relaxed) + 1;
}

void Traced::take_status(trace::Record& record) noexcept {
  if (status_ == nullptr || record.peer == trace::kProcNull) return;
  record.peer = rank_of(status_->MPI_SOURCE);
  record.tag = status_->MPI_TAG;
  record.bytes = static_cast<int64_t>(core::status_bytes(*status_));
}

/// A send that has failed had no message, so the next send takes its number.
void Traced::give_back_number() noexcept {
  trace::Record& record = open_.record;
  const bool sends = record.kind == RecordKind::kSend || record.kind == RecordKind::kSendStart;
  if (!sends || record.number == 0 || comm_ == nullptr || comm_->notes.get() == nullptr) return;
  trace::CommNotes& notes = *comm_->notes.get();
  notes.sending.lock();
  notes.sent.take_back(record.peer, record.tag, record.number);
  notes.sending.unlock();
  record.number = 0;
}

int Traced::end(int code) noexcept {
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) give_back_number();
  if (TERN_LIKELY(code == MPI_SUCCESS)) {
    trace::Record& record = open_.part.function != 0 ? open_.part : open_.record;
    if (record.kind == RecordKind::kReceive) {
      take_status(record);
      const trace::Matched& matched = trace::last_matched();
      if (record.number == 0) record.number = matched.number;
      trace::note_wait(open_, trace::Waited::kSender, record.peer, matched.when_ns);
    } else if (record.kind == RecordKind::kSend && (record.flags & trace::kRendezvous) != 0) {
      trace::note_wait(open_, trace::Waited::kReceiver, record.peer, trace::last_matched().when_ns);
    }
  }
  trace::end(open_, code == MPI_SUCCESS ? MPI_SUCCESS : api::class_of(code));
  return code;
}

int Traced::end_probe(int code, const int* flag) noexcept {
  open_.found_no_match = flag != nullptr && *flag == 0;
  if (code == MPI_SUCCESS && !open_.found_no_match) take_status(open_.record);
  return end(code);
}

int Traced::end_file(int code) noexcept {
  if (code == MPI_SUCCESS && status_ != nullptr)
    open_.record.bytes = static_cast<int64_t>(core::status_bytes(*status_));
  return end(code);
}

int Traced::end_start(int code, const MPI_Request* request) noexcept {
  core::Request* const made =
      code == MPI_SUCCESS && request != nullptr ? request_of(*request) : nullptr;
  if (made != nullptr && !made->notes.shared) {
    trace::Record& record = open_.part.function != 0 ? open_.part : open_.record;
    const bool starts = record.kind != RecordKind::kCall;
    made->set_record(starts && open_.live ? trace::next_request() : 0);
    open_.record.request = made->notes.number;
    if (open_.part.function != 0) open_.part.request = made->notes.number;
    note(*made, record, done_of(record.kind));
  }
  return end(code);
}

int Traced::end_init(int code, const MPI_Request* request, RecordKind done) noexcept {
  core::Request* const made =
      code == MPI_SUCCESS && request != nullptr ? request_of(*request) : nullptr;
  if (made != nullptr) {
    made->set_record(0);
    note(*made, open_.record, done);
    made->notes.in = comm_ == nullptr ? nullptr : comm_->notes.get();
    made->notes.partitioned = partitioned_;
  }
  return end(code);
}

void Traced::start(int count, const MPI_Request* requests) noexcept {
  bool first = true;
  for (int i = 0; requests != nullptr && i < count; ++i) {
    core::Request* const request = request_of(requests[i]);
    if (request == nullptr || !request->persistent() || request->active()) continue;
    trace::RequestNotes& notes = request->notes;
    if (notes.done == RecordKind::kCall) continue;
    number_start(notes);
    request->set_record(open_.live ? trace::next_request() : 0);
    trace::Record record = open_.record;
    record.kind = start_of(notes.done);
    trace::fill(&record, notes);
    if (notes.done == RecordKind::kReceiveDone) record.number = 0;
    if (first) {
      open_.record = record;
    } else {
      record.flags |= trace::kPart;
      trace::complete(record, 0);
    }
    first = false;
  }
}

}  // namespace tern::abi

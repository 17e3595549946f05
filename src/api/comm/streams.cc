// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "stream": MPIX_Stream objects, communicators with a stream, with
// MPICH's names and semantics. See: src/stream/README.md.
#include "api/comm/streams.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/job/membership.hpp"
#include "api/process.hpp"
#include "api/refused_call.hpp"
#include "base/log.hpp"
#include "coll/coll.hpp"
#include "core/error_handler.hpp"
#include "core/op.hpp"
#include "mpix.h"
#include "stream/collective.hpp"
#include "stream/proxy.hpp"

namespace tern::api {
namespace {

using core::Communicator;
using stream::CommStream;
using stream::Stream;

constexpr const char* kHexDigits = "0123456789abcdef";

std::optional<std::vector<unsigned char>> bytes_of_hex(const std::string& text) {
  std::vector<unsigned char> bytes;
  if (text.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    for (size_t j = i; j < i + 2; ++j) {
      const char* const digit = text[j] == '\0' ? nullptr : std::strchr(kHexDigits, text[j]);
      if (digit == nullptr) return std::nullopt;
      value = value * 16 + static_cast<unsigned>(digit - kHexDigits);
    }
    bytes.push_back(static_cast<unsigned char>(value));
  }
  return bytes;
}

int queue_of(const core::Info& info, CUstream* queue) {
  const std::optional<std::string> text = info.get("value");
  if (!text)
    return fail(MPI_ERR_INFO_NOKEY,
                "the info says \"type\"=\"cudaStream_t\", but has no \"value\": "
                "MPIX_Info_set_hex(info, \"value\", &stream, sizeof stream)");
  const auto bytes = bytes_of_hex(*text);
  if (!bytes || bytes->size() != sizeof *queue)
    return fail(MPI_ERR_INFO_VALUE,
                "the \"value\" of the info is \"%s\", not a cudaStream_t of %zu bytes: "
                "MPIX_Info_set_hex(info, \"value\", &stream, sizeof stream)",
                text->c_str(), sizeof *queue);
  std::memcpy(queue, bytes->data(), sizeof *queue);
  return MPI_SUCCESS;
}

std::shared_ptr<CommStream> attach(Communicator& comm, Communicator& shadow, Stream* with,
                                   size_t chunk, const stream::Board& board) {
  const auto state = std::make_shared<CommStream>(comm, shadow, core::Ref<Stream>(with), chunk,
                                                  board, comm.process().proxy);
  comm.stream = std::make_unique<stream::Attached>(state);
  if (state->gpu() != nullptr) comm.process().proxy->add(state);
  return state;
}

void explain(const Communicator& comm, const CommStream& state) {
  if (comm.rank() != 0) return;
  const char* const engine = state.gpu() == nullptr    ? "none"
                             : state.team() != nullptr ? "streams"
                                                       : "proxy";
  std::string text = "enqueued operations complete inside their call: rank 0 has no GPU stream";
  if (state.team() != nullptr)
    text =
        "enqueued collectives run between the devices, through mapped and tested scratch "
        "(TERN_GPU_SCRATCH); the host executes messages";
  else if (state.gpu() != nullptr)
    text = strf(
        "the host executes enqueued operations when the stream reaches them, in chunks of up to "
        "%zu bytes of pinned memory: %s",
        state.chunk(), coll::StreamCollectives::why_no_team(state.shadow()).c_str());
  if (state.islands() != nullptr)
    text +=
        "; large broadcasts and allreduces run between the devices within each group of GPUs "
        "with peer access, and through the host between the groups, each rank with a share";
  comm.process().explain.say("enqueue", {{"engine", engine}, {"chunk", state.chunk()}}, text);
}

}  // namespace

int agree_on_least(Communicator& comm, int64_t mine, size_t* least) {
  int64_t agreed = mine;
  core::Process& process = comm.process();
  coll::Operation operation{};
  operation.collective = coll::Collective::kAllreduce;
  operation.communicator = &comm;
  operation.op = process.handles.find<core::Op>(MPI_MIN);
  core::Datatype& type = core::predefined_type(process, MPI_INT64_T);
  operation.input = {&mine, 1, &type};
  operation.output = {&agreed, 1, &type};
  const int code = comm.channel().coll->run(operation);
  *least = static_cast<size_t>(agreed);
  return code;
}

Communicator* derive_shadow(Communicator& of, core::Ref<core::Group> members, uint64_t sibling) {
  const auto id = core::derive_context(of.id(), core::Derivation::kStream, 0, sibling);
  auto made = core::derive_communicator(of, std::move(members), id);
  made->name.set(of.name.or_words("a communicator with a stream").c_str());
  join(*made);
  return made.leak();
}

bool takes_twin(const Communicator& parent) noexcept {
  const CommStream* const state = stream::of(parent);
  return state != nullptr && coll::StreamCollectives::first_duplicate(state->shadow());
}

int copy_stream(const Communicator& parent, Communicator& made, bool with_twin) {
  CommStream* const state = stream::of(parent);
  if (state == nullptr) return MPI_SUCCESS;
  stream::Board board;
  Failure why;
  if (state->gpu() != nullptr && !state->take_spare(&board))
    why = parent.process().proxy->boards.make(state->gpu()->device(), state->chunk(), &board);
  if (why) return fail(why);
  Communicator& shadow = *derive_shadow(made, core::Ref<core::Group>(&made.group()), 0);
  shadow.info = made.info;
  shadow.topology = made.topology;
  if (with_twin) why = shadow.channel().coll->streams().prepare_duplicate(state->shadow(), shadow);
  explain(made, *attach(made, shadow, state->stream(), state->chunk(), board));
  return fail(why);
}

void end_stream(Communicator& communicator) noexcept {
  CommStream* const state = stream::of(communicator);
  if (state == nullptr) return;
  if (const Failure why = state->earlier_error().taken())
    log_line("freed with an unreported error: %s", why.text.c_str());
  state->put_end();
}

int info_set_hex(core::Info& info, const char* key, const void* value, int value_size) noexcept {
  if (value == nullptr && value_size > 0) return fail(MPI_ERR_ARG, "value is a null pointer");
  return attempt([&] {
    std::string text;
    for (int i = 0; i < value_size; ++i) {
      const unsigned byte = static_cast<const unsigned char*>(value)[i];
      text += kHexDigits[byte / 16];
      text += kHexDigits[byte % 16];
    }
    return info_set(info, key, text.c_str());
  });
}

int stream_create(core::Info* info, MPIX_Stream* out) noexcept {
  return attempt([&] {
    core::Process& process = *the_process;
    const std::optional<std::string> type = info == nullptr ? std::nullopt : info->get("type");
    core::Ref<Stream> made;
    if (!type) {
      made = core::Ref<Stream>::adopt(new Stream(nullptr, nullptr));
    } else if (*type == "cudaStream_t") {
      CUstream queue = nullptr;
      int code = queue_of(*info, &queue);
      if (code == MPI_SUCCESS) code = stream::make_stream(process, queue, &made);
      if (code != MPI_SUCCESS) return code;
    } else {
      return fail(MPI_ERR_INFO_VALUE,
                  "the \"type\" of the info is \"%s\", but must be \"cudaStream_t\"",
                  type->c_str());
    }
    *out = reinterpret_cast<MPIX_Stream>(process.handles.insert(*made));
    made->made_at = core::current_call;
    (void)made.leak();
    return MPI_SUCCESS;
  });
}

int stream_free(MPIX_Stream* handle) noexcept {
  core::Process& process = *the_process;
  Stream& found = *process.handles.find<Stream>(*handle);
  process.handles.erase(found);
  found.release();  // communicators keep a reference
  *handle = MPIX_STREAM_NULL;
  return MPI_SUCCESS;
}

int stream_comm_create(Communicator& comm, Stream* with, MPI_Comm* newcomm) noexcept {
  return attempt([&] {
    int code = require_intra(comm, "comm");
    if (code != MPI_SUCCESS) return code;
    stream::Board board, spare;
    auto chunk = static_cast<size_t>(comm.process().params.stream_chunk);
    code = guarded([&] {
      if (with == nullptr || !with->on_gpu()) return;
      comm.process().gpus.expect_enqueues();
      membership().start_proxy();
      stream::prepare_types(comm.process(), with->device());
      stream::Boards& boards = comm.process().proxy->boards;
      if (Failure why = boards.make(with->device(), chunk, &board)) throw Error(std::move(why));
      (void)boards.make(with->device(), chunk, &spare);
    });
    if (code != MPI_SUCCESS) {
      notify_refusal(comm, CallContext::kCollective, code);
      return code;
    }
    code = agree_on_least(comm, static_cast<int64_t>(chunk), &chunk);
    if (code != MPI_SUCCESS) {
      for (const stream::Board& one : {board, spare})
        if (one.mail.here != nullptr) comm.process().proxy->boards.give_back(with->device(), one);
      return code;
    }
    const auto id =
        core::derive_context(comm.id(), core::Derivation::kDuplicate, comm.next_derivation(), 0);
    core::Ref<Communicator> made =
        core::derive_communicator(comm, core::Ref<core::Group>(&comm.group()), id);
    made->topology = comm.topology;
    Communicator& shadow = *derive_shadow(*made, core::Ref<core::Group>(&made->group()), 0);
    shadow.info = comm.info;
    shadow.topology = comm.topology;
    cuda::Device* const device = with != nullptr && with->on_gpu() ? &with->device() : nullptr;
    std::vector<int> islands;
    const Failure why = shadow.channel().coll->streams().prepare(shadow, device, &islands);
    const auto state = attach(*made, shadow, with, chunk, board);
    state->keep_spare(spare);
    if (why) return fail(why);
    if (!islands.empty()) (void)make_islands(*made, state, islands);
    explain(comm, *state);
    publish(std::move(made), newcomm);
    return MPI_SUCCESS;
  });
}

int find_stream(Communicator& comm, CommStream** found) noexcept {
  *found = stream::of(comm);
  if (*found != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_COMM, "%s has no stream; create a communicator with MPIX_Stream_comm_create",
              comm.name.or_words("this communicator").c_str());
}

int comm_get_stream(Communicator& comm, int idx, MPIX_Stream* out) noexcept {
  CommStream* state = nullptr;
  if (const int code = find_stream(comm, &state); code != MPI_SUCCESS) return code;
  if (idx != 0)
    return fail(MPI_ERR_ARG, "idx is %d, but a communicator has a single stream, number 0", idx);
  const Stream* const found = state->stream();
  *out = found == nullptr ? MPIX_STREAM_NULL : reinterpret_cast<MPIX_Stream>(found->handle());
  return MPI_SUCCESS;
}

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
#include "stream/collective.hpp"

#include <new>
#include <string>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "coll/engine/pairs.hpp"
#include "mpi.h"

namespace tern::stream {
namespace {

std::unique_ptr<Call> make_call(CommStream& on, const coll::Operation& operation,
                                const char* name) {
  if (coll::splits(operation.collective) || operation.collective == coll::Collective::kBarrier)
    return make_vector_call(on, operation, name);
  return coll::goes_by_pairs(operation) ? make_exchange_call(on, operation, name)
                                        : make_blocks_call(on, operation, name);
}

class Refusal final : public Call {
 public:
  Refusal(CommStream& on, const Failure& why, std::optional<coll::CallKind> aliased)
      : Call("a refused collective"), on_(on), shadow_(on.shadow()), aliased_(aliased), why_(why) {}
  int admit(const Capture& capture) noexcept override {
    return capture.active ? fail(why_) : MPI_SUCCESS;
  }
  int begin(int, std::byte*, std::vector<core::Request*>*) override {
    // A later call may run instead of the refused call.
    if (!aliased_) on_.abandon("this rank refused a collective: " + why_.text);
    shadow_.channel().coll->refusals().refuse(shadow_, false, why_, aliased_);
    return MPI_SUCCESS;
  }

 private:
  CommStream& on_;
  core::Communicator& shadow_;
  const std::optional<coll::CallKind> aliased_;
  const Failure why_;
};

void tell(CommStream& on, const Failure& why, std::optional<coll::CallKind> aliased) noexcept {
  try {
    const auto call = std::make_shared<Refusal>(on, why, aliased);
    bool admitted = false;
    if (on.put(call, &admitted) != MPI_SUCCESS && admitted) (void)call->begin(0, nullptr, nullptr);
  } catch (const std::bad_alloc&) {  // other ranks keep waiting; the hang report shows this
  }
}

int enqueue_on_devices(CommStream& on, const coll::Operation& operation, bool* taken) noexcept {
  Calls* const calls = on.calls();
  if (calls == nullptr) return MPI_SUCCESS;
  coll::GpuTeam* const team = on.team();
  if (team == nullptr && on.is_part()) return MPI_SUCCESS;  // a part between islands
  if (calls->fate.dead()) {
    *taken = true;
    return calls->fate.fail();
  }
  core::Communicator& shadow = on.shadow();
  coll::Operation on_shadow = operation;
  on_shadow.communicator = &shadow;
  const auto lock = calls->stop_calls();
  std::string why_not;
  const uint32_t before = team == nullptr ? 0 : team->calls.count();
  cuda::Stream stream;
  stream.handle = on.stream()->queue();
  stream.stage = {calls->board().halves[0], calls->board().bytes[0]};
  const int code = shadow.channel().coll->streams().enqueue(on_shadow, stream, taken, &why_not);
  if (TERN_UNLIKELY(stream.staged) && team->calls.is_captured(stream.handle))
    calls->keep_board();  // the graph may outlive the communicator
  // The stream may have passed the call although a later step failed.
  if (team != nullptr && team->calls.count() != before)
    calls->backlog().count_outstanding(on.stream()->device(), 1);
  else if (*taken && code == MPI_SUCCESS && team->calls.is_captured(stream.handle))
    calls->backlog().count_captured(1);
  core::Process& process = shadow.process();
  if (TERN_UNLIKELY(process.explain.on()) && code == MPI_SUCCESS && !*taken && shadow.rank() == 0)
    process.gpus.tell_choice(process.explain,
                             strf("%s is enqueued for execution by the host: %s",
                                  coll::name_of(operation.collective), why_not.c_str()));
  return code;
}

/// The caller of fail_if_forsaken() holds no lock.
int fail_if_forsaken(const Islands& islands) noexcept {
  {
    core::Progress& progress = islands.here->shadow().channel().progress;
    const core::ChannelLock lock(progress);
    progress.poll();  // the report arrives before wrong data
  }
  return islands.here->team()->abandoned.fail();
}

}  // namespace

void refuse(CommStream& on, int code, std::optional<coll::CallKind> aliased, Tell whom) noexcept {
  LastError last = take_last_error();
  const Failure why{code, std::move(last.text)};
  tell(on, why, aliased);
  if (whom == Tell::kParts && on.islands() != nullptr && !aliased) {
    tell(*on.islands()->here, why, std::nullopt);
    tell(*on.islands()->across, why, std::nullopt);
  }
  (void)fail_on(last.object, code, "%s", why.text.c_str());
}

// The GPU team comes first, with the same answer on all ranks: a team takes a collective only if
// all ranks have GPU streams. Other ranks learn of later failures of this rank.
int enqueue(CommStream& on, const coll::Operation& operation, const char* name) noexcept {
  const Islands* const islands = on.islands();
  int code = on.earlier_error().take();
  if (code != MPI_SUCCESS) {
    if (islands != nullptr) refuse(on, code, std::nullopt);
    return code;
  }
  if (islands != nullptr) code = fail_if_forsaken(*islands);
  bool taken = code != MPI_SUCCESS;
  if (!taken) code = enqueue_on_devices(on, operation, &taken);
  if (code != MPI_SUCCESS && !taken) return code;
  try {
    if (!taken && islands != nullptr && goes_by_islands(operation)) {
      code = on.shadow().channel().coll->streams().fail_if_over(on.shadow());
      if (code == MPI_SUCCESS) {
        code = enqueue_by_islands(*islands, operation, name);
        if (code != MPI_SUCCESS) refuse(on, code, std::nullopt, Tell::kWhole);
        return code;
      }
      taken = true;
    }
    if (!taken) code = on.put(make_call(on, operation, name), &taken);
  } catch (const std::bad_alloc&) {
    code = fail(MPI_ERR_NO_MEM, "no memory to enqueue %s", coll::name_of(operation.collective));
    taken = true;
  } catch (const Error& error) {
    code = fail(error);
    taken = true;
  }
  if (code != MPI_SUCCESS && taken) refuse(on, code, std::nullopt);
  return code;
}

}  // namespace tern::stream

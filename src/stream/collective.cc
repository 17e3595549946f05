// SPDX-License-Identifier: Apache-2.0
#include "stream/collective.hpp"

#include <new>
#include <string>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "coll/engine/pairs.hpp"
#include "mpi.h"
#include "stream/islands.hpp"

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
  Refusal(CommStream& on, int code, std::optional<coll::CallKind> aliased)
      : Call("a collective that was refused"),
        on_(on),
        shadow_(on.shadow()),
        code_(code),
        aliased_(aliased),
        text_(take_last_error().text) {
    (void)fail(code, "%s", text_.c_str());
  }
  int admit(const Capture& capture) noexcept override {
    return capture.active ? code_ : MPI_SUCCESS;
  }
  int begin(int, std::byte*, std::vector<core::Request*>*) override {
    // The next call may make up for it.
    if (!aliased_) on_.forsake("this rank took no part in a collective: " + text_);
    (void)fail(code_, "%s", text_.c_str());
    shadow_.channel().coll->refusals().refuse(shadow_, false, code_, aliased_);
    return MPI_SUCCESS;
  }

 private:
  CommStream& on_;
  core::Communicator& shadow_;
  const int code_;
  const std::optional<coll::CallKind> aliased_;
  const std::string text_;
};

/// To all ranks of the shadow, when the stream comes there.
void tell(CommStream& on, int code, std::optional<coll::CallKind> aliased) noexcept {
  try {
    const auto call = std::make_shared<Refusal>(on, code, aliased);
    const LastError last = take_last_error();
    bool admitted = false;
    if (on.put(call, &admitted) != MPI_SUCCESS && admitted) (void)call->begin(0, nullptr, nullptr);
    (void)fail_on(last.object, code, "%s", last.text.c_str());
  } catch (const std::bad_alloc&) {  // the others wait, which a report tells
  }
}

}  // namespace

void refuse(CommStream& on, int code, std::optional<coll::CallKind> aliased) noexcept {
  tell(on, code, aliased);
  if (on.islands() != nullptr && !aliased) on.islands()->refuse(code);
}

// The engine of streams is asked first: what it says is alike on all ranks, and it takes something
// only where all of them have a GPU's stream. What then fails on this rank alone the others hear
// of.
int enqueue(CommStream& on, const coll::Operation& operation, const char* name) noexcept {
  int code = on.earlier_error();
  if (code != MPI_SUCCESS) {
    if (on.islands() != nullptr) refuse(on, code, std::nullopt);
    return code;
  }
  if (on.islands() != nullptr) code = on.islands()->fail_if_forsaken();
  bool taken = code != MPI_SUCCESS;
  if (!taken) code = on.enqueue_between_streams(operation, &taken);
  if (code != MPI_SUCCESS && !taken) return code;
  try {
    if (!taken && on.islands() != nullptr && Islands::takes(operation)) {
      code = on.shadow().channel().coll->streams().fail_if_over(on.shadow());
      if (code == MPI_SUCCESS) {
        code = on.islands()->enqueue(operation, name);
        if (code != MPI_SUCCESS) tell(on, code, std::nullopt);  // the parts have been told
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

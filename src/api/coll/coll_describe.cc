// SPDX-License-Identifier: Apache-2.0
// Descriptions of collectives: argument errors, and the start of each form.
#include "api/attempt.hpp"
#include "api/coll/coll.hpp"
#include "api/comm/intercomm.hpp"
#include "api/errors.hpp"
#include "api/process.hpp"
#include "api/pt2pt/send_modes.hpp"
#include "api/refused_call.hpp"
#include "coll/algorithms/algorithms.hpp"

namespace tern::api {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;
using core::Datatype;

const Datatype& type_of(const Side& side, int block) noexcept {
  return side.types != nullptr ? *side.types[block] : *side.type;
}

long long bytes_of(const Side& side, int block) noexcept {
  const MPI_Count count = side.counts != nullptr ? side.counts[block] : side.count;
  return static_cast<long long>(count) * type_of(side, block).size();
}

uintptr_t start_of(const Side& side, int block) noexcept {
  const Datatype& type = type_of(side, block);
  const MPI_Aint steps = side.displs != nullptr ? side.displs[block] : block * side.count;
  const MPI_Aint bytes = side.types != nullptr ? steps : steps * type.extent();
  return reinterpret_cast<uintptr_t>(side.address) + static_cast<uintptr_t>(bytes + type.true_lb());
}

bool same_place(const Operation& operation, int input_block, int output_block) noexcept {
  return bytes_of(operation.input, input_block) > 0 &&
         bytes_of(operation.output, output_block) > 0 &&
         start_of(operation.input, input_block) == start_of(operation.output, output_block);
}

int check_between(const Operation& operation) noexcept {
  if (coll::between_groups(operation.collective) == nullptr)
    return fail(MPI_ERR_COMM, "%s is not defined on an inter-communicator",
                coll::name_of(operation.collective));
  if (!operation.in_place) return MPI_SUCCESS;
  return fail(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed on inter-communicators");
}

/// Ranks with MPI_PROC_NULL as root get empty buffers.
Operation between(Operation operation) {
  core::Communicator& comm = *operation.communicator;
  (void)own_side(comm);
  if (!coll::rooted(operation.collective)) return operation;
  if (operation.root == MPI_PROC_NULL) {
    operation.root = -1;
    operation.input =
        operation.output = {nullptr, 0, &core::predefined_type(comm.process(), MPI_BYTE)};
    return operation;
  }
  operation.root = operation.root == MPI_ROOT ? comm.rank() : comm.size() + operation.root;
  return operation;
}

template <class Start>
int started(const Described& what, Form form, Start&& start) noexcept {
  core::Communicator& comm = *what.operation.communicator;
  if (TERN_UNLIKELY(what.code != MPI_SUCCESS)) {
    notify_refusal(comm, form.part(), what.code,
                   what.aliased_call(form.kind == Form::Kind::kBlocking));
    return what.code;
  }
  if (!comm.inter()) return start(*comm.channel().coll, what.operation);
  Operation operation;
  const int code = attempt([&] {
    const int wrong = check_between(what.operation);
    if (wrong == MPI_SUCCESS) operation = between(what.operation);
    return wrong;
  });
  if (code == MPI_SUCCESS) return start(*comm.channel().coll, operation);
  notify_refusal(comm, form.part(), code);
  return code;
}

}  // namespace

namespace {

void notify_refusal_here(core::Communicator& comm, CallContext part, int code,
                         std::optional<coll::CallKind> aliased) {
  switch (part) {
    case CallContext::kCollective:
    case CallContext::kPersistent:
      if (comm.inter()) (void)own_side(comm);
      return comm.channel().coll->refusals().refuse(comm, part == CallContext::kPersistent, code,
                                                    aliased);
    case CallContext::kSplit:
    case CallContext::kSplitType:
      return refuse_split(comm, part == CallContext::kSplitType, code);
    case CallContext::kCreate:
      return refuse_create(comm, code);
    case CallContext::kDerivation:
      (void)comm.next_derivation();
      return;
    case CallContext::kEnqueued:
      return refuse_enqueued(comm, code, aliased);
    case CallContext::kNone:
    case CallContext::kFile:
    case CallContext::kFileView:
      return;
  }
}

}  // namespace

void notify_refusal(core::Communicator& comm, CallContext part, int code,
                    std::optional<coll::CallKind> aliased, core::Object* hearer) noexcept {
  if (ends_the_job(hearer != nullptr ? hearer : &comm)) return;
  const LastError last = take_last_error();
  (void)guarded([&] {
    (void)fail_on(last.object, code, "%s", last.text.c_str());
    notify_refusal_here(comm, part, code, aliased);
  });
  (void)fail_on(last.object, code, "%s", last.text.c_str());
}

Described describe(Collective collective, core::Communicator& comm) noexcept {
  Described what;
  what.operation.collective = collective;
  what.operation.communicator = &comm;
  return what;
}

void check_blocks(Described* what, const Side& side, const char* counts,
                  const char* displs) noexcept {
  if (!what->operation.irregular || !the_process->checks || what->code != MPI_SUCCESS) return;
  what->code = check_counts(side, what->operation.communicator->peer_count(), counts, displs);
}

int check_counts(const Side& side, int blocks, const char* counts, const char* displs) noexcept {
  if (side.counts == nullptr || side.displs == nullptr)
    return fail(MPI_ERR_ARG, "%s is a null pointer", side.counts == nullptr ? counts : displs);
  for (int i = 0; i < blocks; ++i)
    if (side.counts[i] < 0)
      return fail(MPI_ERR_COUNT, "%s[%d] is %lld; a count must not be negative", counts, i,
                  static_cast<long long>(side.counts[i]));
  return MPI_SUCCESS;
}

int find_types(const MPI_Datatype* handles, const MPI_Count* counts, int blocks, const char* name,
               std::vector<Datatype*>* found) {
  if (handles == nullptr) return fail(MPI_ERR_ARG, "%s is a null pointer", name);
  for (int i = 0; i < blocks; ++i) {
    MPI_Datatype handle = handles[i];
    if (handle == MPI_DATATYPE_NULL && counts[i] == 0) handle = MPI_BYTE;
    auto* type = the_process->handles.find<Datatype>(handle);
    if (type == nullptr) return fail(MPI_ERR_TYPE, "%s[%d] is not a datatype", name, i);
    if (!type->committed())
      return fail(MPI_ERR_TYPE, "%s[%d] is not committed; call MPI_Type_commit first", name, i);
    found->push_back(type);
  }
  return MPI_SUCCESS;
}

Described agreed(Described what, int input_block, int output_block) noexcept {
  const Operation& operation = what.operation;
  if (what.code != MPI_SUCCESS || operation.in_place) return what;
  if (operation.communicator->inter()) return what;
  if (same_place(operation, input_block, output_block) || same_place(operation, 0, 0)) {
    what.aliased = true;
    what.code =
        fail(MPI_ERR_BUFFER,
             "sendbuf (%p) and recvbuf (%p) share memory on rank %d; pass MPI_IN_PLACE as %s to "
             "work in place",
             operation.input.address, operation.output.address, operation.communicator->rank(),
             operation.collective == Collective::kScatter ? "recvbuf" : "sendbuf");
    return what;
  }
  const long long sent = bytes_of(operation.input, input_block);
  const long long received = bytes_of(operation.output, output_block);
  if (sent != received)
    what.code = fail(sent > received ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
                     "rank %d sends itself %lld bytes (send count and type) but receives %lld from "
                     "itself (receive count and type); both must be equal",
                     operation.communicator->rank(), sent, received);
  return what;
}

int run(const Described& what) noexcept {
  return started(what, Form{},
                 [](coll::Coll& coll, const Operation& operation) { return coll.run(operation); });
}

int start_unblocked(const Described& what, Form form) noexcept {
  if (form.kind == Form::Kind::kEnqueued) return enqueue(what);
  return started(what, form, [form](coll::Coll& coll, const Operation& operation) {
    core::Request* made = nullptr;
    const int code = form.kind == Form::Kind::kPersistent ? coll.init(operation, &made)
                                                          : coll.start(operation, &made);
    if (code == MPI_SUCCESS) *form.request = reinterpret_cast<MPI_Request>(made->handle());
    return code == MPI_SUCCESS || form.kind == Form::Kind::kPersistent
               ? code
               : give_failed(*operation.communicator, code, form.request);
  });
}

}  // namespace tern::api

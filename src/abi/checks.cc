// SPDX-License-Identifier: Apache-2.0
// Error texts of the argument checks.
#include "abi/checks.hpp"

#include <cinttypes>

#include "core/allocations.hpp"

namespace tern::abi {
namespace {

std::string shown_name(const core::Communicator& comm) {
  return comm.name.or_words("the communicator");
}

const core::Communicator* communicator_of(const Call& call) noexcept {
  const bool is_one = call.at != nullptr && call.at->kind() == core::Kind::kCommunicator;
  return is_one ? static_cast<const core::Communicator*>(call.at) : nullptr;
}

bool counts_from_bottom(const void* buffer, const core::Datatype& type) noexcept {
  return buffer == MPI_BOTTOM && (type.true_lb() >= 4096 || type.true_lb() < 0);
}

core::Apart apart_from_bottom(MPI_Count count, const core::Datatype& type) noexcept {
  return core::places_apart({MPI_BOTTOM, count, const_cast<core::Datatype*>(&type)});
}

int explain_member(const Call& call, int mpi_class, const char* what, int rank, const char* also) {
  const core::Communicator* comm = communicator_of(call);
  if (comm == nullptr) return fail(mpi_class, "%s is %d", what, rank);
  return fail(mpi_class, "%s is %d, but %s has ranks 0..%d%s", what, rank,
              shown_name(*comm).c_str(), comm->peer_count() - 1, also);
}

std::string place(const void* address) {
  const cuda::Memory memory = cuda::look_up(address);
  if (!cuda::on_device(memory.kind)) return "the host";
  return strf("device %d", memory.device);
}

}  // namespace

bool legal_low_address(const void* buffer, MPI_Count count, const core::Datatype& type) noexcept {
  if (type.size() == 0) return true;
  return counts_from_bottom(buffer, type) && apart_from_bottom(count, type).one == nullptr;
}

int null_argument(const char* what) noexcept {
  return fail(MPI_ERR_ARG, "%s is a null pointer: pass the address of a variable", what);
}

int no_status(const char* what) noexcept {
  return fail(MPI_ERR_ARG,
              "%s is MPI_STATUS_IGNORE (a null pointer), but this call needs a status: "
              "pass the address of a variable",
              what);
}

int explain_count(const char* what, MPI_Count value) noexcept {
  return fail(MPI_ERR_COUNT, "%s is %" PRId64 ", but must not be negative", what, value);
}

int explain_bytes(const char* what, MPI_Count value) noexcept {
  return fail(MPI_ERR_SIZE, "%s is %" PRId64 " bytes, but must not be negative", what, value);
}

int explain_tag(const char* what, int tag) noexcept {
  const char* also = tag == MPI_ANY_TAG ? " (MPI_ANY_TAG is for receives)" : "";
  return fail(MPI_ERR_TAG, "%s is %d, but tags are 0..2147483647%s", what, tag, also);
}

int explain_rank(const Call& call, const char* what, int rank) noexcept {
  const bool any_to = rank == MPI_ANY_SOURCE;
  return explain_member(call, MPI_ERR_RANK, what, rank,
                        any_to ? " (MPI_ANY_SOURCE is for receives)" : "");
}

int explain_root(const Call& call, const char* what, int root) noexcept {
  return explain_member(call, MPI_ERR_ROOT, what, root,
                        root == MPI_ROOT || root == MPI_PROC_NULL
                            ? " (MPI_ROOT and MPI_PROC_NULL are for inter-communicators)"
                            : "");
}

int explain_op(const char* what, const core::Op& op) noexcept {
  const bool replace = op.handle() == reinterpret_cast<uintptr_t>(MPI_REPLACE);
  return fail(MPI_ERR_OP, "%s is %s, which is for one-sided communication only", what,
              replace ? "MPI_REPLACE" : "MPI_NO_OP");
}

int explain_buffer(const char* what, const void* buffer, MPI_Count count,
                   const core::Datatype& type) noexcept {
  if (buffer == MPI_IN_PLACE)
    return fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which is not allowed here", what);
  if (counts_from_bottom(buffer, type)) {
    const core::Apart apart = apart_from_bottom(count, type);
    return fail(MPI_ERR_BUFFER,
                "%s is MPI_BOTTOM, and the datatype reaches from %s (%p) to %s (%p); "
                "a buffer must lie on the host or on a single device",
                what, place(apart.one).c_str(), apart.one, place(apart.other).c_str(), apart.other);
  }
  if (buffer == nullptr)
    return fail(MPI_ERR_BUFFER, "%s is a null pointer, but the count is %" PRId64, what, count);
  return fail(MPI_ERR_BUFFER, "%s is %p, which is not a valid address", what, buffer);
}

int not_committed(const char* what, const core::Datatype& type) noexcept {
  const std::string name = type.name.or_words("a derived datatype");
  return fail(MPI_ERR_TYPE, "%s is %s, which is not committed: call MPI_Type_commit first", what,
              name.c_str());
}

}  // namespace tern::abi

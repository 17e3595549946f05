// SPDX-License-Identifier: Apache-2.0
// MPI_Send, MPI_Ssend, MPI_Rsend and their forms, with a body per form. See: src/abi/functions.txt,
// tag @modes.
#pragma once

#include "base/compiler.hpp"
#include "core/channel.hpp"
#include "core/communicator.hpp"
#include "pml/pml.hpp"

namespace tern::api {

/// The code of a transfer with MPI_PROC_NULL: only the end of the communicator is an error.
[[nodiscard]] inline int null_transfer(const core::Communicator& comm) noexcept {
  return TERN_LIKELY(!comm.fate.dead()) ? MPI_SUCCESS : comm.fate.fail();
}

/// Returns a complete request for MPI_PROC_NULL.
[[nodiscard]] int give_null_request(core::Communicator& comm, MPI_Request* request,
                                    bool persistent) noexcept;

inline pml::Buffer buffer_of(const void* address, MPI_Count count, core::Datatype& type) noexcept {
  return {const_cast<void*>(address), count, &type};
}

/// A failed process or a revocation is an error of the completion, not of the start (the pml does
/// the same). Takes over the text of fail(); returns other codes.
[[nodiscard]] TERN_COLD int give_failed(core::Communicator& comm, int code,
                                        MPI_Request* request) noexcept;

inline int give(core::Request* made, int code, MPI_Request* request) noexcept {
  if (code == MPI_SUCCESS) *request = reinterpret_cast<MPI_Request>(made->handle());
  return code;
}

template <pml::Mode kMode>
[[nodiscard, gnu::noinline]] int send_as(const void* buf, MPI_Count count, core::Datatype& type,
                                         int dest, int tag, core::Communicator& comm) noexcept {
  if (TERN_UNLIKELY(dest == MPI_PROC_NULL)) return null_transfer(comm);
  return comm.channel().pml->send(buffer_of(buf, count, type), {&comm, dest, tag}, kMode);
}

template <pml::Mode kMode>
[[nodiscard]] int isend_as(const void* buf, MPI_Count count, core::Datatype& type, int dest,
                           int tag, core::Communicator& comm, MPI_Request* request) noexcept {
  if (TERN_UNLIKELY(dest == MPI_PROC_NULL)) return give_null_request(comm, request, false);
  core::Request* made = nullptr;
  const int code =
      comm.channel().pml->isend(buffer_of(buf, count, type), {&comm, dest, tag}, kMode, &made);
  return give(made, code, request);
}

template <pml::Mode kMode>
[[nodiscard]] int send_init_as(const void* buf, MPI_Count count, core::Datatype& type, int dest,
                               int tag, core::Communicator& comm, MPI_Request* request) noexcept {
  if (dest == MPI_PROC_NULL) return give_null_request(comm, request, true);
  core::Request* made = nullptr;
  const int code =
      comm.channel().pml->send_init(buffer_of(buf, count, type), {&comm, dest, tag}, kMode, &made);
  return give(made, code, request);
}

}  // namespace tern::api

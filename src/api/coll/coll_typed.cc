// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "collective communication" (MPI-5.0 section 6.8): MPI_Alltoallw,
// with a type per block and displacements in bytes.
#include <vector>

#include "api/bodies.hpp"
#include "api/coll/coll.hpp"
#include "api/process.hpp"
#include "api/refused_call.hpp"

namespace tern::api {
namespace {

using coll::Collective;
using coll::Side;
using core::Communicator;
using core::Datatype;

struct Typed {
  const void* buffer;
  const MPI_Count* counts;
  const MPI_Aint* displs;
  const MPI_Datatype* types;
};
struct ArrayNames {
  const char *counts, *displs, *types;
};

struct TypedExchange {
  Described what;
  std::vector<Datatype*> send_types, recv_types;

  TypedExchange(const Typed& out, const Typed& in, Communicator& comm)
      : what(describe(Collective::kAlltoall, comm)) {
    what.operation.irregular = true;
    what.operation.in_place = out.buffer == MPI_IN_PLACE;
    if (!what.operation.in_place)
      take(out, {"sendcounts", "sdispls", "sendtypes"}, &send_types, &what.operation.input);
    take(in, {"recvcounts", "rdispls", "recvtypes"}, &recv_types, &what.operation.output);
    what = agreed(what, comm.rank(), comm.rank());
  }

 private:
  void take(const Typed& from, const ArrayNames& names, std::vector<Datatype*>* types, Side* side) {
    side->address = const_cast<void*>(from.buffer);
    side->counts = from.counts;
    side->displs = from.displs;
    check_blocks(&what, *side, names.counts, names.displs);
    if (what.code != MPI_SUCCESS) return;
    what.code = find_types(from.types, from.counts, what.operation.communicator->peer_count(),
                           names.types, types);
    side->types = types->data();
  }
};

}  // namespace

int alltoallw(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
              const MPI_Datatype* sendtypes, void* recvbuf, const MPI_Count* recvcounts,
              const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, Communicator& comm,
              Form form) noexcept {
  return attempt(comm, form.part(), [&] {
    const TypedExchange exchange({sendbuf, sendcounts, sdispls, sendtypes},
                                 {recvbuf, recvcounts, rdispls, recvtypes}, comm);
    return start(exchange.what, form);
  });
}

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// A device dies after the pack was queued and the RTS sent: both ranks get an error.
// ranks: 2
// configurations: 1 4-peers
#include <unistd.h>

#include "allocators.hpp"

using namespace tern::test;

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (!control().there()) return end() == 0 ? 77 : 1;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  start_cuda();
  constexpr int kCount = 100000;
  MPI_Datatype columns;
  OK(MPI_Type_vector(kCount, 1, 2, MPI_INT, &columns));
  OK(MPI_Type_commit(&columns));
  const Area area = plain(size_t{kCount} * 8);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    control().fault("cuLaunchKernel:1:700:late");
    const int code = MPI_Send(area.address(), 1, columns, 1, 0, MPI_COMM_WORLD);
    CHECK(class_of(code) == MPI_ERR_OTHER);
    CHECK(std::strstr(error_text(code), "CUDA_ERROR_ILLEGAL_ADDRESS") != nullptr);
  } else {
    const int code =
        MPI_Recv(area.address(), kCount, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS);
  }
  OK(MPI_Type_free(&columns));
  OK(MPI_Finalize());
  _exit(0);
}

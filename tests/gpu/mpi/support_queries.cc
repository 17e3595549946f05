// SPDX-License-Identifier: Apache-2.0
// MPIX_Query_cuda_support and its variants, and the memory kinds of the world, of sessions, and of
// communicators.
// ranks: 1 2
// mpirun: -memory-alloc-kinds system,cuda:device,nobodys:kind
#include <string>

#include "memory.hpp"
#include "mpix.h"

using namespace tern::test;

namespace {

std::string kinds_of(MPI_Info info) {
  char value[MPI_MAX_INFO_VAL];
  int length = sizeof value, flag = 0;
  OK(MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &length, value, &flag));
  CHECK(flag == 1);
  OK(MPI_Info_free(&info));
  return value;
}

std::string kinds_of(MPI_Comm comm) {
  MPI_Info info;
  OK(MPI_Comm_get_info(comm, &info));
  return kinds_of(info);
}

void same(const std::string& got, const char* want) {
  if (got != want) FAIL("the kinds are \"%s\", expected \"%s\"", got.c_str(), want);
}

void of_a_session() {
  MPI_Info info, used;
  MPI_Session session;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:managed,mpi:alloc_mem,cuda:lost,system"));
  OK(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Info_free(&info));
  const char* const want = "mpi,system,cuda,cuda:managed,mpi:alloc_mem";
  OK(MPI_Session_get_info(session, &used));
  same(kinds_of(used), want);
  MPI_Group group;
  MPI_Comm comm, copy;
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, "queries", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  OK(MPI_Comm_dup(comm, &copy));
  same(kinds_of(comm), want);
  same(kinds_of(copy), want);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Group_free(&group));
  OK(MPI_Session_finalize(&session));
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_EQ(MPIX_Query_cuda_support(), 1);
  CHECK_EQ(MPIX_Query_hip_support(), 0);
  CHECK_EQ(MPIX_Query_rocm_support(), 0);
  CHECK_EQ(MPIX_Query_ze_support(), 0);
  begin(&argc, &argv);
  start_cuda();
  int supported = -1;
  OK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported));
  CHECK_EQ(supported, 1);
  OK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_HIP, &supported));
  CHECK_EQ(supported, 0);
  same(kinds_of(MPI_COMM_WORLD), "mpi,system,cuda,cuda:device");
  of_a_session();
  return end();
}

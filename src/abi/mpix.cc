// SPDX-License-Identifier: Apache-2.0
// Entry points of mpix.h.
#include "mpix.h"

#include "abi/checks.hpp"
#include "api/comm/comm_interrupt.hpp"
#include "api/job/boot_provide.hpp"
#include "api/pt2pt/continuation.hpp"

using namespace tern;

/// TERN_PROFILED declares the weak name NAME, which tools may interpose.
#define TERN_PROFILED(NAME) __attribute__((weak, alias("P" #NAME))) decltype(P##NAME) NAME

extern "C" {

/// The result means support by the library, not the machine: a program may load the driver later.
int PMPIX_Query_cuda_support(void) { return 1; }
TERN_PROFILED(MPIX_Query_cuda_support);

/// MPICH and Open MPI have these queries for other vendors.
int PMPIX_Query_hip_support(void) { return 0; }
TERN_PROFILED(MPIX_Query_hip_support);
int PMPIX_Query_rocm_support(void) { return 0; }
TERN_PROFILED(MPIX_Query_rocm_support);
int PMPIX_Query_ze_support(void) { return 0; }
TERN_PROFILED(MPIX_Query_ze_support);

int PMPIX_GPU_query_support(int gpu_type, int* is_supported) {
  const abi::Call call{"MPIX_GPU_query_support", api::the_process};
  if (is_supported == nullptr) return call.end(abi::null_argument("is_supported"));
  if (gpu_type < MPIX_GPU_SUPPORT_CUDA || gpu_type > MPIX_GPU_SUPPORT_HIP)
    return call.end(
        fail(MPI_ERR_ARG, "gpu_type is %d, which is not an MPIX_GPU_SUPPORT_ value", gpu_type));
  *is_supported = gpu_type == MPIX_GPU_SUPPORT_CUDA ? PMPIX_Query_cuda_support() : 0;
  return MPI_SUCCESS;
}
TERN_PROFILED(MPIX_GPU_query_support);

int PMPIX_Boot_provide(const MPIX_Boot* boot) {
  const abi::Call call{"MPIX_Boot_provide", api::the_process};
  return api::boot_provide(call.name, boot);
}
TERN_PROFILED(MPIX_Boot_provide);

int PMPIX_Comm_interrupt(MPI_Comm comm) {
  abi::Call call{"MPIX_Comm_interrupt", api::the_process};
  if (call.process == nullptr) return call.end(abi::not_running());
  auto* const found = call.find<core::Communicator>(comm);
  if (found == nullptr) return call.end(abi::bad_handle<core::Communicator>("comm", comm));
  call.at = found;
  return call.end(api::comm_interrupt(*found));
}
TERN_PROFILED(MPIX_Comm_interrupt);

int PMPIX_Continue_init(int max_poll, int flags, MPI_Info info, MPI_Request* cont_req) {
  const abi::Call call{"MPIX_Continue_init", api::the_process};
  if (call.process == nullptr) return call.end(abi::not_running());
  return call.end(api::continue_init(max_poll, flags, info, cont_req));
}
TERN_PROFILED(MPIX_Continue_init);

int PMPIX_Continue(MPI_Request* request, MPIX_Continue_cb_function* cb, void* cb_data, int flags,
                   MPI_Status* status, MPI_Request cont_req) {
  const abi::Call call{"MPIX_Continue", api::the_process};
  if (call.process == nullptr) return call.end(abi::not_running());
  return call.end(api::continue_all(1, request, {cb, cb_data, flags}, status, cont_req));
}
TERN_PROFILED(MPIX_Continue);

int PMPIX_Continueall(int count, MPI_Request requests[], MPIX_Continue_cb_function* cb,
                      void* cb_data, int flags, MPI_Status statuses[], MPI_Request cont_req) {
  const abi::Call call{"MPIX_Continueall", api::the_process};
  if (call.process == nullptr) return call.end(abi::not_running());
  return call.end(api::continue_all(count, requests, {cb, cb_data, flags}, statuses, cont_req));
}
TERN_PROFILED(MPIX_Continueall);

int PMPIX_Continue_get_failed(MPI_Request cont_req, int* count, void** cb_data) {
  const abi::Call call{"MPIX_Continue_get_failed", api::the_process};
  if (call.process == nullptr) return call.end(abi::not_running());
  return call.end(api::continue_get_failed(cont_req, count, cb_data));
}
TERN_PROFILED(MPIX_Continue_get_failed);

}  // extern "C"

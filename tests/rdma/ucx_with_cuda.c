// SPDX-License-Identifier: Apache-2.0
// A stand-in for a UCX with CUDA, over the installed libucp.so.0 (TERN_UCX_LIBRARY): the software
// driver's device memory is host memory with SOFTCUDA_OPEN=on. Every call must name the kind of the
// memory rightly. UCX_CUDA_REFUSES=1: no region of device memory; UCX_CUDA_VERSION: another minor
// version.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucp/api/ucp.h>

static void* real(const char* name) {
  static void* library;
  if (library == NULL) library = dlopen("libucp.so.0", RTLD_NOW);
  void* found = library == NULL ? NULL : dlsym(library, name);
  if (found != NULL) return found;
  fprintf(stderr, "ucx_with_cuda: no %s\n", name);
  abort();
}

static ucs_memory_type_t checked(ucs_memory_type_t type, const void* address) {
  void* (*bytes)(const void*) = (void* (*)(const void*))dlsym(RTLD_DEFAULT, "softcuda_bytes");
  const int on_device = bytes != NULL && bytes(address) != NULL;
  if (on_device == (type == UCS_MEMORY_TYPE_CUDA)) return UCS_MEMORY_TYPE_HOST;
  fprintf(stderr, "ucx_with_cuda: %p is of another kind than %d\n", address, (int)type);
  abort();
}

void ucp_get_version(unsigned* major, unsigned* minor, unsigned* release) {
  const char* version = getenv("UCX_CUDA_VERSION");
  *major = 1, *minor = version == NULL ? 16 : (unsigned)atoi(version), *release = 0;
}

ucs_status_t ucp_context_query(ucp_context_h context, ucp_context_attr_t* attributes) {
  ucs_status_t (*query)(ucp_context_h, ucp_context_attr_t*) = real("ucp_context_query");
  const ucs_status_t status = query(context, attributes);
  if ((attributes->field_mask & UCP_ATTR_FIELD_MEMORY_TYPES) != 0)
    attributes->memory_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
  return status;
}

ucs_status_t ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t* params,
                         ucp_mem_h* memory) {
  ucs_status_t (*map)(ucp_context_h, const ucp_mem_map_params_t*, ucp_mem_h*) = real("ucp_mem_map");
  ucp_mem_map_params_t host = *params;
  host.memory_type = checked(params->memory_type, params->address);
  if (params->memory_type == UCS_MEMORY_TYPE_CUDA && getenv("UCX_CUDA_REFUSES") != NULL)
    return UCS_ERR_IO_ERROR;
  return map(context, &host, memory);
}

void* ucp_put_nbx(ucp_ep_h ep, const void* buffer, size_t count, uint64_t address, ucp_rkey_h key,
                  const ucp_request_param_t* param) {
  void* (*put)(ucp_ep_h, const void*, size_t, uint64_t, ucp_rkey_h, const ucp_request_param_t*) =
      real("ucp_put_nbx");
  ucp_request_param_t host = *param;
  host.memory_type = checked(param->memory_type, buffer);
  return put(ep, buffer, count, address, key, &host);
}

void* ucp_get_nbx(ucp_ep_h ep, void* buffer, size_t count, uint64_t address, ucp_rkey_h key,
                  const ucp_request_param_t* param) {
  void* (*get)(ucp_ep_h, void*, size_t, uint64_t, ucp_rkey_h, const ucp_request_param_t*) =
      real("ucp_get_nbx");
  ucp_request_param_t host = *param;
  host.memory_type = checked(param->memory_type, buffer);
  return get(ep, buffer, count, address, key, &host);
}

// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "info" (MPI-5.0 chapter 10).
#include "core/info.hpp"

#include <algorithm>
#include <cstring>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"

namespace tern::api {
namespace {

int check_key(const char* key) noexcept {
  const size_t length = std::strlen(key);
  if (length == 0 || length > MPI_MAX_INFO_KEY - 1)
    return fail(MPI_ERR_INFO_KEY, "the key has %zu characters, but 1 to %d are allowed", length,
                MPI_MAX_INFO_KEY - 1);
  return MPI_SUCCESS;
}

int check_writable(const core::Info& info) noexcept {
  if (info.predefined()) return fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed or freed");
  return MPI_SUCCESS;
}

void give(core::Info* made, MPI_Info* out) {
  *out = reinterpret_cast<MPI_Info>(any_process().handles.insert(*made));
}

void copy_cut(const std::string& text, char* out, size_t room) noexcept {
  const size_t copied = std::min(text.size(), room);
  std::memcpy(out, text.data(), copied);
  out[copied] = '\0';
}

}  // namespace

int info_create(MPI_Info* info) noexcept {
  return guarded([info] { give(new core::Info, info); });
}

int info_create_env(int, char*[], MPI_Info* info) noexcept {
  return guarded([info] {
    auto* made = new core::Info;
    made->merge(*any_process().handles.find<core::Info>(MPI_INFO_ENV));
    give(made, info);
  });
}

int info_free(MPI_Info* info) noexcept {
  core::Process& process = any_process();
  core::Info& object = *process.handles.find<core::Info>(*info);
  if (const int code = check_writable(object)) return code;
  process.handles.erase(object);
  object.release();
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

int info_dup(core::Info& info, MPI_Info* newinfo) noexcept {
  return guarded([&] {
    auto* made = new core::Info;
    made->merge(info);
    give(made, newinfo);
  });
}

int info_set(core::Info& info, const char* key, const char* value) noexcept {
  if (const int code = check_writable(info)) return code;
  if (const int code = check_key(key)) return code;
  const size_t length = std::strlen(value);
  if (length > MPI_MAX_INFO_VAL - 1)
    return fail(MPI_ERR_INFO_VALUE, "the value of \"%s\" has %zu characters, but %d are allowed",
                key, length, MPI_MAX_INFO_VAL - 1);
  return guarded([&] { info.set(key, value); });
}

int info_delete(core::Info& info, const char* key) noexcept {
  if (const int code = check_writable(info)) return code;
  if (const int code = check_key(key)) return code;
  if (!info.erase(key)) return fail(MPI_ERR_INFO_NOKEY, "the key \"%s\" is not set", key);
  return MPI_SUCCESS;
}

int info_get(core::Info& info, const char* key, int valuelen, char* value, int* flag) noexcept {
  if (const int code = check_key(key)) return code;
  if (valuelen < 0) return fail(MPI_ERR_ARG, "valuelen is %d, but must not be negative", valuelen);
  return guarded([&] {
    const auto found = info.get(key);
    *flag = found ? 1 : 0;
    if (found) copy_cut(*found, value, static_cast<size_t>(valuelen));
  });
}

int info_get_string(core::Info& info, const char* key, int* buflen, char* value,
                    int* flag) noexcept {
  if (const int code = check_key(key)) return code;
  if (*buflen < 0) return fail(MPI_ERR_ARG, "*buflen is %d, but must not be negative", *buflen);
  if (*buflen > 0 && value == nullptr)
    return fail(MPI_ERR_ARG, "value is a null pointer, but *buflen is %d", *buflen);
  return guarded([&] {
    const auto found = info.get(key);
    *flag = found ? 1 : 0;
    if (!found) return;
    if (*buflen > 0) copy_cut(*found, value, static_cast<size_t>(*buflen) - 1);
    *buflen = static_cast<int>(found->size()) + 1;
  });
}

int info_get_valuelen(core::Info& info, const char* key, int* valuelen, int* flag) noexcept {
  if (const int code = check_key(key)) return code;
  return guarded([&] {
    const auto found = info.get(key);
    *flag = found ? 1 : 0;
    if (found) *valuelen = static_cast<int>(found->size());
  });
}

int info_get_nkeys(core::Info& info, int* nkeys) noexcept {
  *nkeys = static_cast<int>(info.count());
  return MPI_SUCCESS;
}

int info_get_nthkey(core::Info& info, int n, char* key) noexcept {
  return attempt([&] {
    const auto found = n < 0 ? std::nullopt : info.key(static_cast<size_t>(n));
    if (!found)
      return fail(MPI_ERR_ARG, "n is %d, but the info object has %zu keys", n, info.count());
    copy_cut(*found, key, MPI_MAX_INFO_KEY - 1);
    return MPI_SUCCESS;
  });
}

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// MPI-5.0 chapter 5: commit, free, sizes, bounds, names, counts, addresses.
#include "core/datatype.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/datatype/datatype.hpp"
#include "core/attribute.hpp"
#include "core/request.hpp"
#include "stream/proxy.hpp"

namespace tern::api {

using core::Datatype;

int give_type(core::Ref<Datatype> type, MPI_Datatype* handle) {
  *handle = reinterpret_cast<MPI_Datatype>(the_process->handles.insert(*type));
  static_cast<void>(type.leak());
  return MPI_SUCCESS;
}

Datatype* find_type(MPI_Datatype handle) noexcept {
  return the_process->handles.find<Datatype>(handle);
}

int no_type(const char* parameter, MPI_Datatype handle) noexcept {
  if (handle == MPI_DATATYPE_NULL) return fail(MPI_ERR_TYPE, "%s is MPI_DATATYPE_NULL", parameter);
  return fail(MPI_ERR_TYPE, "%s is 0x%llx, which is not a datatype (or freed)", parameter,
              static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(handle)));
}

int type_commit(MPI_Datatype* datatype) noexcept {
  Datatype* type = find_type(*datatype);
  if (type == nullptr) return no_type("datatype", *datatype);
  type->commit();
  if (TERN_UNLIKELY(the_process != nullptr && the_process->proxy != nullptr))
    the_process->proxy->boards.prepare(*type);
  return MPI_SUCCESS;
}

int type_free(MPI_Datatype* datatype) noexcept {
  Datatype* type = find_type(*datatype);
  if (type == nullptr) return no_type("datatype", *datatype);
  if (type->predefined() || type->permanent())
    return fail(MPI_ERR_TYPE, "%s is predefined and cannot be freed", type->name.text().c_str());
  const int code = type->attributes.delete_all(type->handle());
  if (code != MPI_SUCCESS) return code;
  the_process->handles.erase(*type);
  type->release();
  *datatype = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

int type_dup(Datatype& oldtype, MPI_Datatype* newtype) noexcept {
  *newtype = MPI_DATATYPE_NULL;  // as in MPI_Comm_dup
  return create_type(newtype, [&]() -> core::Ref<Datatype> {
    core::Ref<Datatype> type = core::TypeBuilder().dup(oldtype);
    const int code = oldtype.attributes.copy_all(oldtype.handle(), type->attributes);
    if (code == MPI_SUCCESS) return type;
    static_cast<void>(type->attributes.delete_all(0));
    throw Error(code, "an attribute copy callback of oldtype failed");
  });
}

int type_size(Datatype& datatype, MPI_Count* size) noexcept {
  *size = datatype.size() < 0 ? MPI_UNDEFINED : datatype.size();
  return MPI_SUCCESS;
}
int type_size_x(Datatype& datatype, MPI_Count* size) noexcept { return type_size(datatype, size); }

int type_get_extent(Datatype& datatype, MPI_Count* lb, MPI_Count* extent) noexcept {
  *lb = datatype.lb();
  *extent = datatype.extent();
  return MPI_SUCCESS;
}
int type_get_extent_x(Datatype& datatype, MPI_Count* lb, MPI_Count* extent) noexcept {
  return type_get_extent(datatype, lb, extent);
}
int type_get_true_extent(Datatype& datatype, MPI_Count* true_lb, MPI_Count* true_extent) noexcept {
  *true_lb = datatype.true_lb();
  *true_extent = datatype.true_extent();
  return MPI_SUCCESS;
}
int type_get_true_extent_x(Datatype& datatype, MPI_Count* true_lb,
                           MPI_Count* true_extent) noexcept {
  return type_get_true_extent(datatype, true_lb, true_extent);
}

int type_get_name(Datatype* datatype, char* type_name, int* resultlen) noexcept {
  *resultlen = datatype == nullptr ? core::copy_name("MPI_DATATYPE_NULL", type_name)
                                   : datatype->name.copy(type_name);
  return MPI_SUCCESS;
}
int type_set_name(Datatype& datatype, const char* type_name) noexcept {
  return guarded([&] {
    datatype.name.set({type_name, strnlen(type_name, MPI_MAX_OBJECT_NAME - 1)});
  });
}

int get_count(const MPI_Status* status, Datatype& datatype, MPI_Count* count) noexcept {
  const MPI_Count bytes = core::status_bytes(*status), size = datatype.size();
  if (size == 0)
    *count = bytes == 0 ? 0 : MPI_UNDEFINED;
  else
    *count = bytes % size == 0 ? bytes / size : MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int get_elements(const MPI_Status* status, Datatype& datatype, MPI_Count* count) noexcept {
  const MPI_Count bytes = core::status_bytes(*status);
  const bool impossible = datatype.size() == 0 && bytes > 0;
  const MPI_Count elements = impossible ? -1 : datatype.elements_in(bytes);
  *count = elements < 0 ? MPI_UNDEFINED : elements;
  return MPI_SUCCESS;
}
int get_elements_x(const MPI_Status* status, Datatype& datatype, MPI_Count* count) noexcept {
  return get_elements(status, datatype, count);
}

int get_address(const void* location, MPI_Aint* address) noexcept {
  *address = reinterpret_cast<MPI_Aint>(location);
  return MPI_SUCCESS;
}
/// Address arithmetic may wrap around.
MPI_Aint aint_add(MPI_Aint base, MPI_Aint disp) noexcept {
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(base) + static_cast<uintptr_t>(disp));
}
MPI_Aint aint_diff(MPI_Aint addr1, MPI_Aint addr2) noexcept {
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(addr1) - static_cast<uintptr_t>(addr2));
}

}  // namespace tern::api

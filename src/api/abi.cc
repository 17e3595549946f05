// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "abi" (MPI-5.0 chapter 20): handles as integers, facts about the
// ABI.
#include <cstring>
#include <vector>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "core/info.hpp"

namespace tern::api {
namespace {

template <class Handle>
int to_int(Handle handle) noexcept {
  return static_cast<int>(reinterpret_cast<uintptr_t>(handle) & 0x7fffffff);
}

template <class Handle>
Handle from_int(int number) noexcept {
  const uintptr_t word = any_process().handles.from_int(number);
  return reinterpret_cast<Handle>(
      word != 0 ? word : static_cast<uintptr_t>(static_cast<unsigned>(number)));
}

int new_info(MPI_Info* out) noexcept {
  return guarded([out] {
    auto* info = new core::Info;
    *out = reinterpret_cast<MPI_Info>(any_process().handles.insert(*info));
  });
}

bool equal(const core::Info& a, const core::Info& b) {
  for (size_t i = 0; i < a.count(); ++i) {
    const std::string key = a.key(i).value_or("");
    if (a.get(key) != b.get(key)) return false;
  }
  return a.count() == b.count();
}

}  // namespace

#define TERN_CONVERSIONS(lower, type, parameter)                           \
  int lower##_toint(type parameter) noexcept { return to_int(parameter); } \
  type lower##_fromint(int parameter) noexcept { return from_int<type>(parameter); }

TERN_CONVERSIONS(comm, MPI_Comm, comm)
TERN_CONVERSIONS(errhandler, MPI_Errhandler, errhandler)
TERN_CONVERSIONS(file, MPI_File, file)
TERN_CONVERSIONS(group, MPI_Group, group)
TERN_CONVERSIONS(info, MPI_Info, info)
TERN_CONVERSIONS(message, MPI_Message, message)
TERN_CONVERSIONS(op, MPI_Op, op)
TERN_CONVERSIONS(request, MPI_Request, request)
TERN_CONVERSIONS(session, MPI_Session, session)
TERN_CONVERSIONS(type, MPI_Datatype, datatype)
TERN_CONVERSIONS(win, MPI_Win, win)
#undef TERN_CONVERSIONS

int abi_get_version(int* abi_major, int* abi_minor) noexcept {
  *abi_major = MPI_ABI_VERSION;
  *abi_minor = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}

int abi_get_info(MPI_Info* info) noexcept {
  const int code = new_info(info);
  if (code != MPI_SUCCESS) return code;
  return guarded([info] {
    core::Info& made = *any_process().handles.find<core::Info>(*info);
    made.set("mpi_aint_size", strf("%zu", sizeof(MPI_Aint)));
    made.set("mpi_count_size", strf("%zu", sizeof(MPI_Count)));
    made.set("mpi_offset_size", strf("%zu", sizeof(MPI_Offset)));
  });
}

int abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) noexcept {
  FortranAbi& fortran = instance().fortran;
  if (logical_size != 1 && logical_size != 2 && logical_size != 4 && logical_size != 8)
    return fail(MPI_ERR_ARG, "logical_size is %d, but must be 1, 2, 4 or 8", logical_size);
  if (logical_true == nullptr || logical_false == nullptr)
    return fail(MPI_ERR_ARG, "the addresses of .TRUE. and .FALSE. must not be null");
  const auto bytes = static_cast<size_t>(logical_size);
  if (fortran.logical_size == logical_size &&
      std::memcmp(&fortran.logical_true, logical_true, bytes) == 0 &&
      std::memcmp(&fortran.logical_false, logical_false, bytes) == 0)
    return MPI_SUCCESS;
  if (fortran.logical_size != 0)
    return fail(MPI_ERR_ABI, "the Fortran logical values are already set to other values");
  std::memcpy(&fortran.logical_true, logical_true, bytes);
  std::memcpy(&fortran.logical_false, logical_false, bytes);
  fortran.logical_size = logical_size;
  return MPI_SUCCESS;
}

int abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false,
                             int* is_set) noexcept {
  const FortranAbi& fortran = instance().fortran;
  *is_set = fortran.logical_size != 0 ? 1 : 0;
  if (fortran.logical_size == 0) return MPI_SUCCESS;
  if (logical_size != fortran.logical_size)
    return fail(MPI_ERR_ARG, "logical_size is %d, but %d was set", logical_size,
                fortran.logical_size);
  std::memcpy(logical_true, &fortran.logical_true, static_cast<size_t>(logical_size));
  std::memcpy(logical_false, &fortran.logical_false, static_cast<size_t>(logical_size));
  return MPI_SUCCESS;
}

int abi_set_fortran_info(core::Info& info) noexcept {
  FortranAbi& fortran = instance().fortran;
  if (fortran.info && equal(*fortran.info, info)) return MPI_SUCCESS;
  if (fortran.info) return fail(MPI_ERR_ABI, "the Fortran details are already set to other values");
  return guarded([&] {
    auto copy = core::Ref<core::Info>::adopt(new core::Info);
    copy->merge(info);
    fortran.info = copy;
  });
}

int abi_get_fortran_info(MPI_Info* info) noexcept {
  const FortranAbi& fortran = instance().fortran;
  *info = MPI_INFO_NULL;
  if (!fortran.info) return MPI_SUCCESS;
  const int code = new_info(info);
  if (code != MPI_SUCCESS) return code;
  return guarded([&] { any_process().handles.find<core::Info>(*info)->merge(*fortran.info); });
}

}  // namespace tern::api

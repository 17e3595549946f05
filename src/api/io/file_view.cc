// SPDX-License-Identifier: Apache-2.0
// Views and file pointers: MPI-5.0 sections 14.3, 14.4.3 and 14.4.4.
#include <cstring>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/datatype/datatype.hpp"
#include "io/file.hpp"

namespace tern::api {
namespace {

using core::Datatype;
using io::File;

/// Derived types are new objects, freed by the user.
MPI_Datatype handle_of(Datatype& type) {
  if (type.predefined() || type.permanent()) return reinterpret_cast<MPI_Datatype>(type.handle());
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  auto copy = core::TypeBuilder::copy(type);
  copy->commit();
  give_type(std::move(copy), &handle);
  return handle;
}

/// With TERN_CHECK=collective: the standard demands equal representations, and equal extents of
/// etypes in the file.
Failure check_view(File& file, Datatype& etype, const char* datarep) {
  if (!file.collectives.checks()) return {};
  io::CheckedCall call;
  call.representation = datarep;
  call.etype_extent = etype.extent();
  try {
    if (const auto found = io::find_representation(datarep); found != nullptr)
      call.etype_extent = found->in_file(etype)->extent();
  } catch (const Error&) {  // of a function of the program
  }
  return file.collectives.check(call);
}

}  // namespace

int file_set_view(File& fh, MPI_Offset disp, Datatype& etype, Datatype& filetype,
                  const char* datarep, core::Info* info) noexcept {
  return attempt([&] {
    if (Failure failed = check_view(fh, etype, datarep)) return fail(failed);
    for (const auto& [name, type] : {std::pair{"etype", &etype}, std::pair{"filetype", &filetype}})
      if (!type->committed())
        return fail(MPI_ERR_TYPE, "%s is not committed; call MPI_Type_commit first", name);
    if (info != nullptr) io::take_hints(fh, *info);
    return fh.set_view(disp, etype, filetype, datarep);
  });
}

int file_get_view(File& fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                  char* datarep) noexcept {
  return attempt([&] {
    const io::View& view = *fh.view();
    *disp = view.disp();
    *etype = handle_of(view.etype());
    *filetype = handle_of(view.filetype());
    const std::string& name = view.representation().name();
    std::memcpy(datarep, name.c_str(), name.size() + 1);
    return MPI_SUCCESS;
  });
}

int file_get_byte_offset(File& fh, MPI_Offset offset, MPI_Offset* disp) noexcept {
  int64_t found = 0;
  const int code = fh.byte_offset(offset, &found);
  *disp = found;
  return code;
}

int file_get_type_extent(File& fh, Datatype& datatype, MPI_Count* extent) noexcept {
  return attempt([&] {
    *extent = fh.view()->representation().in_file(datatype)->extent();
    return MPI_SUCCESS;
  });
}

int file_seek(File& fh, MPI_Offset offset, int whence) noexcept {
  return fh.seek(offset, whence, false);
}

int file_seek_shared(File& fh, MPI_Offset offset, int whence) noexcept {
  return fh.seek(offset, whence, true);
}

int file_get_position(File& fh, MPI_Offset* offset) noexcept {
  if (fh.has(MPI_MODE_SEQUENTIAL))
    return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                "%s is open with MPI_MODE_SEQUENTIAL, which permits shared file pointers only",
                fh.raw().name().c_str());
  *offset = fh.pointers.individual();
  return MPI_SUCCESS;
}

int file_get_position_shared(File& fh, MPI_Offset* offset) noexcept {
  int64_t position = 0;
  const int code = fail(fh.pointers.shared(&position));
  *offset = position;
  return code;
}

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// Data access of files: MPI-5.0 section 14.4.
#include "api/bodies.hpp"
#include "io/file.hpp"

namespace tern::api {
namespace {

using core::Datatype;
using io::File;
using Where = io::Access::Where;

template <bool kWrites>
io::Access access(Where where, bool collective, int64_t offset, const void* buf, MPI_Count count,
                  Datatype& datatype) noexcept {
  return {kWrites, where, collective, offset, {const_cast<void*>(buf), count, &datatype}};
}

int start(File& file, const io::Access& access, MPI_Request* request) noexcept {
  core::Request* made = nullptr;
  const int code = file.start(access, &made);
  if (code == MPI_SUCCESS) *request = reinterpret_cast<MPI_Request>(made->handle());
  return code;
}

}  // namespace

int file_read_at(File& fh, MPI_Offset offset, void* buf, MPI_Count count, Datatype& datatype,
                 MPI_Status* status) noexcept {
  return fh.transfer(access<false>(Where::kExplicit, false, offset, buf, count, datatype), status);
}
int file_iread_at(File& fh, MPI_Offset offset, void* buf, MPI_Count count, Datatype& datatype,
                  MPI_Request* request) noexcept {
  return start(fh, access<false>(Where::kExplicit, false, offset, buf, count, datatype), request);
}
int file_read_at_all(File& fh, MPI_Offset offset, void* buf, MPI_Count count, Datatype& datatype,
                     MPI_Status* status) noexcept {
  return fh.transfer(access<false>(Where::kExplicit, true, offset, buf, count, datatype), status);
}
int file_iread_at_all(File& fh, MPI_Offset offset, void* buf, MPI_Count count, Datatype& datatype,
                      MPI_Request* request) noexcept {
  return start(fh, access<false>(Where::kExplicit, true, offset, buf, count, datatype), request);
}
int file_read_at_all_begin(File& fh, MPI_Offset offset, void* buf, MPI_Count count,
                           Datatype& datatype) noexcept {
  return fh.begin(access<false>(Where::kExplicit, true, offset, buf, count, datatype),
                  "MPI_File_read_at_all");
}
int file_read_at_all_end(File& fh, void* buf, MPI_Status* status) noexcept {
  return fh.end(buf, "MPI_File_read_at_all", status);
}
int file_read(File& fh, void* buf, MPI_Count count, Datatype& datatype,
              MPI_Status* status) noexcept {
  return fh.transfer(access<false>(Where::kIndividual, false, 0, buf, count, datatype), status);
}
int file_iread(File& fh, void* buf, MPI_Count count, Datatype& datatype,
               MPI_Request* request) noexcept {
  return start(fh, access<false>(Where::kIndividual, false, 0, buf, count, datatype), request);
}
int file_read_all(File& fh, void* buf, MPI_Count count, Datatype& datatype,
                  MPI_Status* status) noexcept {
  return fh.transfer(access<false>(Where::kIndividual, true, 0, buf, count, datatype), status);
}
int file_iread_all(File& fh, void* buf, MPI_Count count, Datatype& datatype,
                   MPI_Request* request) noexcept {
  return start(fh, access<false>(Where::kIndividual, true, 0, buf, count, datatype), request);
}
int file_read_all_begin(File& fh, void* buf, MPI_Count count, Datatype& datatype) noexcept {
  return fh.begin(access<false>(Where::kIndividual, true, 0, buf, count, datatype),
                  "MPI_File_read_all");
}
int file_read_all_end(File& fh, void* buf, MPI_Status* status) noexcept {
  return fh.end(buf, "MPI_File_read_all", status);
}
int file_read_shared(File& fh, void* buf, MPI_Count count, Datatype& datatype,
                     MPI_Status* status) noexcept {
  return fh.transfer(access<false>(Where::kShared, false, 0, buf, count, datatype), status);
}
int file_iread_shared(File& fh, void* buf, MPI_Count count, Datatype& datatype,
                      MPI_Request* request) noexcept {
  return start(fh, access<false>(Where::kShared, false, 0, buf, count, datatype), request);
}
int file_read_ordered(File& fh, void* buf, MPI_Count count, Datatype& datatype,
                      MPI_Status* status) noexcept {
  return fh.transfer(access<false>(Where::kShared, true, 0, buf, count, datatype), status);
}
int file_read_ordered_begin(File& fh, void* buf, MPI_Count count, Datatype& datatype) noexcept {
  return fh.begin(access<false>(Where::kShared, true, 0, buf, count, datatype),
                  "MPI_File_read_ordered");
}
int file_read_ordered_end(File& fh, void* buf, MPI_Status* status) noexcept {
  return fh.end(buf, "MPI_File_read_ordered", status);
}
int file_write_at(File& fh, MPI_Offset offset, const void* buf, MPI_Count count, Datatype& datatype,
                  MPI_Status* status) noexcept {
  return fh.transfer(access<true>(Where::kExplicit, false, offset, buf, count, datatype), status);
}
int file_iwrite_at(File& fh, MPI_Offset offset, const void* buf, MPI_Count count,
                   Datatype& datatype, MPI_Request* request) noexcept {
  return start(fh, access<true>(Where::kExplicit, false, offset, buf, count, datatype), request);
}
int file_write_at_all(File& fh, MPI_Offset offset, const void* buf, MPI_Count count,
                      Datatype& datatype, MPI_Status* status) noexcept {
  return fh.transfer(access<true>(Where::kExplicit, true, offset, buf, count, datatype), status);
}
int file_iwrite_at_all(File& fh, MPI_Offset offset, const void* buf, MPI_Count count,
                       Datatype& datatype, MPI_Request* request) noexcept {
  return start(fh, access<true>(Where::kExplicit, true, offset, buf, count, datatype), request);
}
int file_write_at_all_begin(File& fh, MPI_Offset offset, const void* buf, MPI_Count count,
                            Datatype& datatype) noexcept {
  return fh.begin(access<true>(Where::kExplicit, true, offset, buf, count, datatype),
                  "MPI_File_write_at_all");
}
int file_write_at_all_end(File& fh, const void* buf, MPI_Status* status) noexcept {
  return fh.end(buf, "MPI_File_write_at_all", status);
}
int file_write(File& fh, const void* buf, MPI_Count count, Datatype& datatype,
               MPI_Status* status) noexcept {
  return fh.transfer(access<true>(Where::kIndividual, false, 0, buf, count, datatype), status);
}
int file_iwrite(File& fh, const void* buf, MPI_Count count, Datatype& datatype,
                MPI_Request* request) noexcept {
  return start(fh, access<true>(Where::kIndividual, false, 0, buf, count, datatype), request);
}
int file_write_all(File& fh, const void* buf, MPI_Count count, Datatype& datatype,
                   MPI_Status* status) noexcept {
  return fh.transfer(access<true>(Where::kIndividual, true, 0, buf, count, datatype), status);
}
int file_iwrite_all(File& fh, const void* buf, MPI_Count count, Datatype& datatype,
                    MPI_Request* request) noexcept {
  return start(fh, access<true>(Where::kIndividual, true, 0, buf, count, datatype), request);
}
int file_write_all_begin(File& fh, const void* buf, MPI_Count count, Datatype& datatype) noexcept {
  return fh.begin(access<true>(Where::kIndividual, true, 0, buf, count, datatype),
                  "MPI_File_write_all");
}
int file_write_all_end(File& fh, const void* buf, MPI_Status* status) noexcept {
  return fh.end(buf, "MPI_File_write_all", status);
}
int file_write_shared(File& fh, const void* buf, MPI_Count count, Datatype& datatype,
                      MPI_Status* status) noexcept {
  return fh.transfer(access<true>(Where::kShared, false, 0, buf, count, datatype), status);
}
int file_iwrite_shared(File& fh, const void* buf, MPI_Count count, Datatype& datatype,
                       MPI_Request* request) noexcept {
  return start(fh, access<true>(Where::kShared, false, 0, buf, count, datatype), request);
}
int file_write_ordered(File& fh, const void* buf, MPI_Count count, Datatype& datatype,
                       MPI_Status* status) noexcept {
  return fh.transfer(access<true>(Where::kShared, true, 0, buf, count, datatype), status);
}
int file_write_ordered_begin(File& fh, const void* buf, MPI_Count count,
                             Datatype& datatype) noexcept {
  return fh.begin(access<true>(Where::kShared, true, 0, buf, count, datatype),
                  "MPI_File_write_ordered");
}
int file_write_ordered_end(File& fh, const void* buf, MPI_Status* status) noexcept {
  return fh.end(buf, "MPI_File_write_ordered", status);
}

}  // namespace tern::api

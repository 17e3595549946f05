// SPDX-License-Identifier: Apache-2.0
// MPI-5.0 sections 5.2 and 5.3. The packed form is the bare data in type map order; the external
// form is the same in external32.
#include <cstring>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/datatype/datatype.hpp"
#include "core/device_copy.hpp"
#include "core/external32.hpp"

namespace tern::api {
namespace {

using core::Datatype;

/// `size` is the packed size of one element.
int check_packing(const Datatype& type, MPI_Count size, MPI_Count count, MPI_Count room,
                  const char* of, MPI_Count position, MPI_Count* bytes) noexcept {
  if (!type.committed())
    return fail(MPI_ERR_TYPE, "the datatype is not committed; call MPI_Type_commit first");
  if (position < 0 || position > room)
    return fail(MPI_ERR_ARG, "position is %lld, but %s is %lld bytes",
                static_cast<long long>(position), of, static_cast<long long>(room));
  if (__builtin_mul_overflow(count, size, bytes) || *bytes > room - position)
    return fail(MPI_ERR_TRUNCATE,
                "%lld elements of %lld bytes at position %lld do not fit: %s is %lld bytes",
                static_cast<long long>(count), static_cast<long long>(size),
                static_cast<long long>(position), of, static_cast<long long>(room));
  return MPI_SUCCESS;
}

core::Data external_block(const void* buffer, MPI_Count position, MPI_Count bytes) noexcept {
  return {const_cast<char*>(static_cast<const char*>(buffer)) + position, bytes,
          &core::predefined_type(*the_process, MPI_BYTE)};
}

int check_representation(const char* datarep) noexcept {
  if (std::strcmp(datarep, "external32") == 0) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "datarep is \"%s\", but must be \"external32\"", datarep);
}

}  // namespace

int pack(const void* inbuf, MPI_Count incount, Datatype& datatype, void* outbuf, MPI_Count outsize,
         MPI_Count* position, core::Communicator&) noexcept {
  MPI_Count bytes = 0;
  const int code =
      check_packing(datatype, datatype.size(), incount, outsize, "outsize", *position, &bytes);
  if (code != MPI_SUCCESS) return code;
  const Failure why =
      core::pack(*the_process, {const_cast<void*>(inbuf), incount, &datatype}, 0,
                 static_cast<char*>(outbuf) + *position, static_cast<size_t>(bytes));
  if (why) return fail(why);
  *position += bytes;
  return MPI_SUCCESS;
}

int unpack(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
           MPI_Count outcount, Datatype& datatype, core::Communicator&) noexcept {
  MPI_Count bytes = 0;
  const int code =
      check_packing(datatype, datatype.size(), outcount, insize, "insize", *position, &bytes);
  if (code != MPI_SUCCESS) return code;
  const Failure why =
      core::unpack(*the_process, {outbuf, outcount, &datatype}, 0,
                   static_cast<const char*>(inbuf) + *position, static_cast<size_t>(bytes));
  if (why) return fail(why);
  *position += bytes;
  return MPI_SUCCESS;
}

int pack_size(MPI_Count incount, Datatype& datatype, core::Communicator&,
              MPI_Count* size) noexcept {
  if (__builtin_mul_overflow(incount, datatype.size(), size)) *size = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int pack_external(const char* datarep, const void* inbuf, MPI_Count incount, Datatype& datatype,
                  void* outbuf, MPI_Count outsize, MPI_Count* position) noexcept {
  MPI_Count bytes = 0;
  int code = check_representation(datarep);
  if (code != MPI_SUCCESS) return code;
  code = check_packing(datatype, core::external32_size(datatype), incount, outsize, "outsize",
                       *position, &bytes);
  if (code != MPI_SUCCESS) return code;
  return attempt([&] {
    core::OnHost data(*the_process, {const_cast<void*>(inbuf), incount, &datatype});
    core::OnHost packed(*the_process, external_block(outbuf, *position, bytes));
    if (const Failure why = data.download()) return fail(why);
    core::pack_external32(datatype, data.here().address, incount, packed.here().address);
    if (const Failure why = packed.upload()) return fail(why);
    *position += bytes;
    return MPI_SUCCESS;
  });
}

int unpack_external(const char* datarep, const void* inbuf, MPI_Count insize, MPI_Count* position,
                    void* outbuf, MPI_Count outcount, Datatype& datatype) noexcept {
  MPI_Count bytes = 0;
  int code = check_representation(datarep);
  if (code != MPI_SUCCESS) return code;
  code = check_packing(datatype, core::external32_size(datatype), outcount, insize, "insize",
                       *position, &bytes);
  if (code != MPI_SUCCESS) return code;
  return attempt([&] {
    core::OnHost packed(*the_process, external_block(inbuf, *position, bytes));
    core::OnHost data(*the_process, {outbuf, outcount, &datatype});
    if (const Failure why = packed.download()) return fail(why);
    if (const Failure why = data.download()) return fail(why);  // the download preserves the gaps
    core::unpack_external32(datatype, data.here().address, outcount, packed.here().address);
    if (const Failure why = data.upload()) return fail(why);
    *position += bytes;
    return MPI_SUCCESS;
  });
}

int pack_external_size(const char* datarep, MPI_Count incount, Datatype& datatype,
                       MPI_Count* size) noexcept {
  const int code = check_representation(datarep);
  if (code != MPI_SUCCESS) return code;
  if (__builtin_mul_overflow(incount, core::external32_size(datatype), size)) *size = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // namespace tern::api

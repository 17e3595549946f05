// SPDX-License-Identifier: Apache-2.0
#include "api/job/leaks.hpp"

#include <map>
#include <string>
#include <utility>

#include "base/call_site.hpp"
#include "base/log.hpp"
#include "io/file.hpp"

namespace tern::api {
namespace {

using core::Kind;

struct Tracked {
  Kind kind;
  const char *one, *many, *cure;
};
constexpr Tracked kTracked[] = {
    {Kind::kRequest, "request", "requests", "MPI_Wait, MPI_Test or MPI_Request_free"},
    {Kind::kMessage, "message", "messages", "MPI_Mrecv"},
    {Kind::kCommunicator, "communicator", "communicators", "MPI_Comm_free"},
    {Kind::kDatatype, "datatype", "datatypes", "MPI_Type_free"},
    {Kind::kGroup, "group", "groups", "MPI_Group_free"},
    {Kind::kOp, "operation", "operations", "MPI_Op_free"},
    {Kind::kErrorHandler, "error handler", "error handlers", "MPI_Errhandler_free"},
    {Kind::kWindow, "window", "windows", "MPI_Win_free"},
    {Kind::kStream, "stream", "streams", "MPIX_Stream_free"},
    {Kind::kInfo, "info object", "info objects", "MPI_Info_free"},
};

void report(const core::Process& process, const Tracked& tracked) {
  std::map<std::pair<std::string, const void*>, size_t> made;
  for (const core::Object* object : process.handles.live(tracked.kind))
    if (object->made_at.call != nullptr) ++made[{object->made_at.call, object->made_at.site}];
  for (const auto& [where, count] : made)
    log_line("not freed until MPI ended: %zu %s made by %s at %s; %s is missing", count,
             count == 1 ? tracked.one : tracked.many, where.first.c_str(),
             call_site_in_words(where.second).c_str(), tracked.cure);
}

}  // namespace

void end_files(const core::Process& process) noexcept {
  try {
    for (core::Object* object : process.handles.live(Kind::kFile)) {
      auto& file = static_cast<io::File&>(*object);
      file.abandon();
      log_line("%s is still open when MPI ends, opened at %s; MPI_File_close is missing",
               file.raw().name().c_str(), call_site_in_words(object->made_at.site).c_str());
    }
  } catch (const std::bad_alloc&) {
    log_line("no memory for the report of open files");
  }
}

void report_leaks(const core::Process& process) noexcept {
  if (!process.params.checks("leaks")) return;
  try {
    for (const Tracked& tracked : kTracked) report(process, tracked);
  } catch (const std::bad_alloc&) {
    log_line("no memory for the report of objects not freed");
  }
}

}  // namespace tern::api

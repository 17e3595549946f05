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

class Report {
 public:
  void add(const core::CallPlace& place) {
    if (place.call != nullptr) ++made_[{place.call, place.site}];
  }
  /// `until`: the end of the objects' use.
  void print(const Tracked& tracked, const std::string& until) const {
    for (const auto& [where, count] : made_) {
      const auto& [call, site] = where;
      log_line("not freed until %s: %zu %s made by %s at %s; %s is missing", until.c_str(), count,
               count == 1 ? tracked.one : tracked.many, call.c_str(),
               call_site_in_words(site).c_str(), cure(tracked, call).c_str());
    }
  }

 private:
  /// A split collective call of a file has a request without a handle of the program.
  static std::string cure(const Tracked& tracked, const std::string& call) {
    const size_t begin = call.find("_begin");
    return begin == std::string::npos ? tracked.cure : call.substr(0, begin) + "_end";
  }
  std::map<std::pair<std::string, const void*>, size_t> made_;
};

void report(const core::Process& process, const Tracked& tracked) {
  Report found;
  for (const core::Object* object : process.handles.live(tracked.kind)) found.add(object->made_at);
  found.print(tracked, "MPI ended");
}

}  // namespace

void report_requests(const core::Process& process, const io::File& file) noexcept {
  if (!process.params.checks("leaks")) return;
  try {
    Report found;
    for (const core::CallPlace& place : io::FileRequest::live_of(file)) found.add(place);
    found.print(kTracked[0], "MPI_File_close of " + file.raw().name());
  } catch (const std::bad_alloc&) {
    log_line("no memory for the report of requests of a file");
  }
}

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

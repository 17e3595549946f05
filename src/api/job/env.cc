// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "environment" (MPI-5.0 chapters 9 and 11).
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/job/membership.hpp"
#include "api/job/parent.hpp"
#include "api/memory_kinds.hpp"
#include "api/process.hpp"
#include "base/log.hpp"
#include "core/communicator.hpp"
#include "core/info.hpp"
#include "tern_config.h"
#include "trace/recorder.hpp"

namespace tern::api {
namespace {

using core::ThreadLevel;

struct LevelName {
  int constant;
  ThreadLevel level;
};
constexpr LevelName kLevels[] = {
    {MPI_THREAD_SINGLE, ThreadLevel::kSingle},
    {MPI_THREAD_FUNNELED, ThreadLevel::kFunneled},
    {MPI_THREAD_SERIALIZED, ThreadLevel::kSerialized},
    {MPI_THREAD_MULTIPLE, ThreadLevel::kMultiple},
};

int constant_of(ThreadLevel level) noexcept {
  for (const LevelName& row : kLevels)
    if (row.level == level) return row.constant;
  return MPI_THREAD_SINGLE;
}

int start_world(int required) noexcept {
  WorldState& world = instance().world;
  if (world.started)
    return fail(MPI_ERR_OTHER, "MPI was already initialised%s; initialise only once",
                world.ended ? " and finalised" : "");
  const ThreadLevel* granted = nullptr;
  for (const LevelName& row : kLevels)
    if (row.constant == required) granted = &row.level;
  if (granted == nullptr)
    return fail(MPI_ERR_ARG,
                "required is %d, but must be MPI_THREAD_SINGLE, FUNNELED, SERIALIZED "
                "or MULTIPLE",
                required);
  const int code = guarded([&] { membership().start(*granted, Membership::User::kWorld); });
  if (code != MPI_SUCCESS) return code;
  world.main_thread = std::this_thread::get_id();
  world.started = true;
  return meet_parent();
}

double seconds(const timespec& time) noexcept {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void give_string(const std::string& text, char* out, int limit, int* length) noexcept {
  const size_t copied = std::min(text.size(), static_cast<size_t>(limit - 1));
  std::memcpy(out, text.data(), copied);
  out[copied] = '\0';
  *length = static_cast<int>(copied);
}

}  // namespace

int init(int*, char***) noexcept { return start_world(MPI_THREAD_SINGLE); }

int init_thread(int*, char***, int required, int* provided) noexcept {
  const int code = start_world(required);
  if (code == MPI_SUCCESS) *provided = constant_of(the_process->threads.level);
  return code;
}

int initialized(int* flag) noexcept {
  *flag = instance().world.started ? 1 : 0;
  return MPI_SUCCESS;
}

int finalized(int* flag) noexcept {
  *flag = was_finalized() ? 1 : 0;
  return MPI_SUCCESS;
}

int finalize() noexcept {
  WorldState& world = instance().world;
  if (!world.started || world.ended)
    return fail(MPI_ERR_OTHER,
                world.ended ? "MPI is already finalised" : "MPI was not initialised by MPI_Init");
  return guarded([] {
    membership().end_world();
    membership().stop(Membership::User::kWorld);
  });
}

int query_thread(int* provided) noexcept {
  *provided = constant_of(the_process->threads.level);
  return MPI_SUCCESS;
}

int is_thread_main(int* flag) noexcept {
  *flag = instance().world.main_thread == std::this_thread::get_id() ? 1 : 0;
  return MPI_SUCCESS;
}

int abort(core::Communicator& comm, int errorcode) noexcept {
  const std::string call = strf("MPI_Abort on %s", comm.name.or_words("a communicator").c_str());
  log_line("%s with code %d", call.c_str(), errorcode);
  abort_job(&comm.process(), errorcode, call.c_str());
}

int get_version(int* version, int* subversion) noexcept {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}

int get_library_version(char* version, int* resultlen) noexcept {
  give_string("Tern MPI " PACKAGE_VERSION ", MPI 5.0, ABI 1.0", version,
              MPI_MAX_LIBRARY_VERSION_STRING, resultlen);
  return MPI_SUCCESS;
}

int get_processor_name(char* name, int* resultlen) noexcept {
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, sizeof host - 1) != 0) return fail(MPI_ERR_OTHER, "the host has no name");
  give_string(host, name, MPI_MAX_PROCESSOR_NAME, resultlen);
  return MPI_SUCCESS;
}

int pcontrol(const int level) noexcept {
  trace::pause(level == 0);
  return MPI_SUCCESS;
}

int trace_begin(const char* name) noexcept {
  trace::region(trace::RecordKind::kRegionBegin, name);
  return MPI_SUCCESS;
}

int trace_end(const char* name) noexcept {
  trace::region(trace::RecordKind::kRegionEnd, name);
  return MPI_SUCCESS;
}

double wtime() noexcept {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return seconds(now);
}

double wtick() noexcept {
  timespec step;
  ::clock_getres(CLOCK_MONOTONIC, &step);
  return seconds(step);
}

int alloc_mem(MPI_Aint size, core::Info* info, void* baseptr) noexcept {
  return attempt([&] {
    const core::Info none;
    const core::Info& wishes = info == nullptr ? none : *info;
    size_t alignment = 64;
    if (const auto least = wishes.get("mpi_minimum_memory_alignment"); least)
      alignment = std::max(alignment, std::strtoul(least->c_str(), nullptr, 10));
    void* memory = nullptr;
    const int code = alloc_kind(wishes.get("mpi_memory_alloc_kinds").value_or("mpi"),
                                std::max<size_t>(static_cast<size_t>(size), 1), alignment, &memory);
    if (code == MPI_SUCCESS) *static_cast<void**>(baseptr) = memory;
    return code;
  });
}

int free_mem(void* base) noexcept {
  int code = MPI_SUCCESS;
  if (!free_kind(base, &code)) std::free(base);
  return code;
}

}  // namespace tern::api

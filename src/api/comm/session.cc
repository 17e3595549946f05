// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "session" (MPI-5.0 section 11.3). Opening a session waits for no
// process; creating a communicator waits until its members have entered the job. A communicator
// made from a session's group derives its id from the id of the world, so the members exchange no
// message for the id.
#include "core/session.hpp"

#include <strings.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/job/membership.hpp"
#include "api/memory_kinds.hpp"
#include "api/process.hpp"
#include "api/pt2pt/send_buffer.hpp"
#include "base/digest.hpp"
#include "boot/boot.hpp"
#include "core/communicator.hpp"
#include "core/group.hpp"

namespace tern::api {
namespace {

constexpr size_t kSelfSet = 1;

/// Returns the standard's sets first, in a fixed order. Throws Error.
std::vector<boot::ProcessSet> process_sets() {
  static std::mutex mutex;  // a Boot answers one query at a time
  const std::lock_guard lock(mutex);
  const core::Process& process = any_process();
  std::vector<int> world(static_cast<size_t>(process.world_size));
  std::iota(world.begin(), world.end(), 0);
  std::vector<boot::ProcessSet> sets{{"mpi://WORLD", std::move(world)},
                                     {"mpi://SELF", {process.world_rank}}};
  for (boot::ProcessSet& set : process.boot->process_sets()) sets.push_back(std::move(set));
  return sets;
}

size_t find_set(const std::vector<boot::ProcessSet>& sets, const char* name) noexcept {
  const auto named = [name](const boot::ProcessSet& set) {
    return ::strcasecmp(set.name.c_str(), name) == 0;
  };
  return static_cast<size_t>(std::find_if(sets.begin(), sets.end(), named) - sets.begin());
}

int unknown_set(const char* name) {
  std::string all;
  for (const boot::ProcessSet& set : process_sets()) all += (all.empty() ? "" : ", ") + set.name;
  return fail(MPI_ERR_ARG, "no process set \"%s\" exists; known are %s", name, all.c_str());
}

const char* name_of(core::ThreadLevel level) noexcept {
  switch (level) {
    case core::ThreadLevel::kSingle:
      return "MPI_THREAD_SINGLE";
    case core::ThreadLevel::kFunneled:
      return "MPI_THREAD_FUNNELED";
    case core::ThreadLevel::kSerialized:
      return "MPI_THREAD_SERIALIZED";
    case core::ThreadLevel::kMultiple:
      return "MPI_THREAD_MULTIPLE";
  }
  return "";
}

constexpr core::ThreadLevel kLevels[] = {core::ThreadLevel::kSingle, core::ThreadLevel::kFunneled,
                                         core::ThreadLevel::kSerialized,
                                         core::ThreadLevel::kMultiple};

int wanted_level(const core::Info* info, core::ThreadLevel* wanted) {
  const auto wish = info == nullptr ? std::nullopt : info->get("thread_level");
  *wanted = core::ThreadLevel::kMultiple;
  if (!wish) return MPI_SUCCESS;
  for (const core::ThreadLevel level : kLevels) {
    if (*wish != name_of(level)) continue;
    *wanted = level;
    return MPI_SUCCESS;
  }
  return fail(MPI_ERR_INFO_VALUE,
              "the info key thread_level is \"%s\", but must be MPI_THREAD_SINGLE, _FUNNELED, "
              "_SERIALIZED or _MULTIPLE",
              wish->c_str());
}

void give_info(core::Ref<core::Info> made, MPI_Info* out) {
  any_process().handles.insert(*made);
  *out = reinterpret_cast<MPI_Info>(made.leak()->handle());
}

}  // namespace

int check_stringtag(const char* stringtag) noexcept {
  const size_t length = ::strnlen(stringtag, MPI_MAX_STRINGTAG_LEN);
  if (length < MPI_MAX_STRINGTAG_LEN) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "stringtag has more than the %d characters of MPI_MAX_STRINGTAG_LEN - 1",
              MPI_MAX_STRINGTAG_LEN - 1);
}

core::Ref<core::Communicator> from_group(const core::Group& group, const char* stringtag,
                                         core::Derivation why) {
  core::Communicator& world = *the_process->world;
  for (int rank = 0; the_process->worlds.any() && rank < group.size(); ++rank)
    if (the_process->worlds.is_stranger(group.peer_index(rank)))
      throw Error(MPI_ERR_GROUP,
                  strf("rank %d of group is of another world; communicators with other "
                       "worlds come from MPI_Intercomm_merge",
                       rank));
  membership().await(group);
  const uint64_t members = core::digest_members(world, group, 0) ^ digest_text(stringtag);
  const uint64_t counted = members + static_cast<uint64_t>(why);
  const auto id = core::derive_context(world.id(), why, world.next_creation(counted), members);
  auto made =
      core::derive_communicator(world, core::Ref<core::Group>::adopt(new core::Group(group)), id);
  made->session = group.session;
  return made;
}

int session_init(core::Info* info, core::ErrorHandler& errhandler, MPI_Session* session) noexcept {
  if (!errhandler.fits(core::Kind::kSession))
    return fail(MPI_ERR_ERRHANDLER, "errhandler was not made for a session");
  core::ThreadLevel level = core::ThreadLevel::kMultiple;
  const int wrong = attempt([&] { return wanted_level(info, &level); });
  if (wrong != MPI_SUCCESS) return wrong;
  return guarded([&] {
    auto made = core::Ref<core::Session>::adopt(new core::Session);
    made->error_handler = core::Ref<core::ErrorHandler>(&errhandler);
    made->info = core::Ref<core::Info>::adopt(new core::Info);
    if (info != nullptr) made->info->merge(*info);
    const auto kinds = made->info->get("mpi_memory_alloc_kinds");
    made->memory_kinds = supported_kinds(kinds.value_or(any_process().params.memory_alloc_kinds));
    membership().start(level, Membership::User::kSession);
    any_process().handles.insert(*made);
    *session = reinterpret_cast<MPI_Session>(made.leak()->handle());
  });
}

int session_finalize(MPI_Session* session) noexcept {
  core::Session& object = *any_process().handles.find<core::Session>(*session);
  *session = MPI_SESSION_NULL;
  end_send_buffer(&object);
  any_process().handles.erase(object);
  object.release();
  return guarded([] { membership().stop(Membership::User::kSession); });
}

int session_get_num_psets(core::Session&, core::Info*, int* npset_names) noexcept {
  return guarded([&] { *npset_names = static_cast<int>(process_sets().size()); });
}

int session_get_nth_pset(core::Session&, core::Info*, int n, int* pset_len,
                         char* pset_name) noexcept {
  return attempt([&] {
    const std::vector<boot::ProcessSet> sets = process_sets();
    if (n < 0 || static_cast<size_t>(n) >= sets.size())
      return fail(MPI_ERR_ARG, "n is %d, but the job has %zu process sets", n, sets.size());
    if (*pset_len > 0 && pset_name == nullptr)
      return fail(MPI_ERR_ARG, "pset_name is a null pointer, but *pset_len is %d", *pset_len);
    const std::string& name = sets[static_cast<size_t>(n)].name;
    if (*pset_len > 0) {
      const size_t copied = std::min(name.size(), static_cast<size_t>(*pset_len) - 1);
      std::memcpy(pset_name, name.data(), copied);
      pset_name[copied] = '\0';
    }
    *pset_len = static_cast<int>(name.size()) + 1;
    return MPI_SUCCESS;
  });
}

int session_get_info(core::Session& session, MPI_Info* info_used) noexcept {
  return guarded([&] {
    auto made = core::Ref<core::Info>::adopt(new core::Info);
    made->merge(*session.info);
    made->set("thread_level", name_of(any_process().threads.level));
    made->set("mpi_memory_alloc_kinds", session.memory_kinds);
    give_info(std::move(made), info_used);
  });
}

int session_get_pset_info(core::Session&, const char* pset_name, MPI_Info* info) noexcept {
  return attempt([&] {
    const std::vector<boot::ProcessSet> sets = process_sets();
    const size_t set = find_set(sets, pset_name);
    if (set == sets.size()) return unknown_set(pset_name);
    auto made = core::Ref<core::Info>::adopt(new core::Info);
    made->set("mpi_size", strf("%zu", sets[set].ranks.size()));
    give_info(std::move(made), info);
    return MPI_SUCCESS;
  });
}

core::Ref<core::Group> group_of_set(const char* name) {
  const std::vector<boot::ProcessSet> sets = process_sets();
  const size_t set = find_set(sets, name);
  if (set == sets.size()) return {};
  core::GroupBuilder builder;
  for (const int rank : sets[set].ranks) builder.add(static_cast<uint32_t>(rank));
  return builder.finish();
}

int number_of_set(const char* name) {
  const std::vector<boot::ProcessSet> sets = process_sets();
  const size_t set = find_set(sets, name);
  if (set == sets.size()) return -1;
  return static_cast<int>(set != kSelfSet ? set : sets.size()) +
         (set == kSelfSet ? any_process().world_rank : 0);
}

int group_from_session_pset(core::Session& session, const char* pset_name,
                            MPI_Group* newgroup) noexcept {
  return attempt([&] {
    core::Ref<core::Group> made = group_of_set(pset_name);
    if (!made) return unknown_set(pset_name);
    made->session = core::Ref<core::Object>(&session);
    *newgroup = reinterpret_cast<MPI_Group>(any_process().handles.insert(*made));
    (void)made.leak();
    return MPI_SUCCESS;
  });
}

int comm_create_from_group(core::Group& group, const char* stringtag, core::Info* info,
                           core::ErrorHandler& errhandler, MPI_Comm* newcomm) noexcept {
  core::Communicator& world = *the_process->world;
  *newcomm = MPI_COMM_NULL;
  if (!errhandler.fits(core::Kind::kCommunicator))
    return fail(MPI_ERR_ERRHANDLER, "errhandler was not made for a communicator");
  if (group.size() == 0) return MPI_SUCCESS;
  if (group.rank_of(world.group().peer_index(world.rank())) == MPI_UNDEFINED)
    return fail(MPI_ERR_GROUP, "the calling process is not a member of the group (of %d)",
                group.size());
  if (const int code = check_stringtag(stringtag); code != MPI_SUCCESS) return code;
  return attempt([&] {
    auto made = from_group(group, stringtag, core::Derivation::kFromGroup);
    made->error_handler = core::Ref<core::ErrorHandler>(&errhandler);
    const int code = set_hints(*made, info);
    if (code == MPI_SUCCESS) publish(std::move(made), newcomm);
    return code;
  });
}

}  // namespace tern::api

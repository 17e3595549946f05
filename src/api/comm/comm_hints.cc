// SPDX-License-Identifier: Apache-2.0
// The hints of communicators: MPI-5.0 section 7.4.4.
#include <iterator>
#include <optional>
#include <string_view>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/memory_kinds.hpp"
#include "api/process.hpp"
#include "base/wire.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/coll.hpp"
#include "core/session.hpp"
#include "stream/comm_stream.hpp"

namespace tern::api {

namespace {

struct Hint {
  const char* key;
  const char* standard;
  bool settable;
};
constexpr Hint kHints[] = {
    {"mpi_assert_allow_overtaking", "false", true},
    {"mpi_assert_exact_length", "false", true},
    {"mpi_assert_no_any_source", "false", true},
    {"mpi_assert_no_any_tag", "false", true},
    {"mpi_assert_strict_persistent_collective_ordering", "false", true},
    {"tern_any_order", "false", true},
};

/// The keys tern_allreduce etc. name algorithms.
void take_algorithms(const core::Info& info, core::Info* wanted, Failure* wrong) {
  for (int i = 0; i < coll::kCollectives; ++i) {
    const auto collective = static_cast<coll::Collective>(i);
    const std::string key = std::string("tern_") + coll::name_of(collective);
    const auto value = info.get(key);
    if (!value) continue;
    if (coll::find_algorithm(collective, value->c_str()) != nullptr) {
      wanted->set(key, *value);
      continue;
    }
    std::string names;
    for (const coll::Algorithm& row : coll::algorithms(collective))
      names += (names.empty() ? "" : ", ") + std::string(row.name);
    *wrong = failure(MPI_ERR_INFO_VALUE, "the hint %s is \"%s\"; allowed are %s", key.c_str(),
                     value->c_str(), names.c_str());
  }
}

void take_wire(const core::Info& info, core::Info* wanted, Failure* wrong) {
  constexpr const char* kKey = "tern_gpu_wire";
  const auto value = info.get(kKey);
  if (!value) return;
  if (find_wire(*value)) return wanted->set(kKey, *value);
  std::string names;
  for (const char* name : kWireNames) names += (names.empty() ? "" : ", ") + std::string(name);
  *wrong = failure(MPI_ERR_INFO_VALUE, "the hint %s is \"%s\"; allowed are %s", kKey,
                   value->c_str(), names.c_str());
}

constexpr const char* kRangeKey = "mpi_error_range";
constexpr const char* kRanges[] = {"local", "group", "universe"};  // by ErrorRange

std::optional<core::ErrorRange> range_in(const core::Info& info) {
  const auto value = info.get(kRangeKey);
  for (size_t i = 0; value && i < std::size(kRanges); ++i)
    if (*value == kRanges[i]) return static_cast<core::ErrorRange>(i);
  return std::nullopt;
}

void take_range(const core::Info& info, core::Info* wanted, Failure* wrong) {
  const auto value = info.get(kRangeKey);
  if (!value) return;
  if (range_in(info)) return wanted->set(kRangeKey, *value);
  *wrong = failure(MPI_ERR_INFO_VALUE,
                   "the hint %s is \"%s\"; allowed are \"local\", \"group\" or \"universe\"",
                   kRangeKey, value->c_str());
}

Failure read_hints(const core::Info& info, core::Info* wanted) {
  for (const Hint& hint : kHints) {
    const auto value = hint.settable ? info.get(hint.key) : std::nullopt;
    if (!value) continue;
    if (*value != "true" && *value != "false")
      return failure(MPI_ERR_INFO_VALUE, "the hint %s is \"%s\"; allowed are \"true\" or \"false\"",
                     hint.key, value->c_str());
    wanted->set(hint.key, *value);
  }
  Failure wrong;
  take_algorithms(info, wanted, &wrong);
  take_wire(info, wanted, &wrong);
  take_range(info, wanted, &wrong);
  return wrong;
}

}  // namespace

Failure check_hints(const core::Info* info) {
  core::Info wanted;
  return info == nullptr ? Failure{} : read_hints(*info, &wanted);
}

int set_hints(core::Communicator& communicator, const core::Info* info) {
  if (info == nullptr) return MPI_SUCCESS;
  core::Info wanted;
  if (const Failure wrong = read_hints(*info, &wanted)) return fail(wrong);
  if (!communicator.info) communicator.info = core::Ref<core::Info>::adopt(new core::Info);
  communicator.info->merge(wanted);
  core::FaultWatch* const watch = communicator.process().deaths.watch;
  if (const auto range = range_in(wanted); range && watch != nullptr)
    watch->set_range(communicator, *range);
  return MPI_SUCCESS;
}

int comm_set_info(core::Communicator& comm, core::Info* info) noexcept {
  return attempt([&] {
    const int code = set_hints(comm, info);
    if (comm.process().deaths.watch != nullptr) comm.process().deaths.watch->admit(comm, nullptr);
    return code;
  });
}

int comm_get_info(core::Communicator& comm, MPI_Info* info_used) noexcept {
  return attempt([&] {
    auto used = core::Ref<core::Info>::adopt(new core::Info);
    for (const Hint& hint : kHints)
      if (*hint.standard != '\0') used->set(hint.key, hint.standard);
    const auto* session = static_cast<const core::Session*>(comm.session.get());
    const std::string& asked = any_process().params.memory_alloc_kinds;
    used->set("mpi_memory_alloc_kinds",
              session != nullptr ? session->memory_kinds : supported_kinds(asked));
    if (comm.info) used->merge(*comm.info);
    const stream::CommStream* const on = stream::of(comm);
    const char* const taken =
        on == nullptr ? nullptr : coll::StreamCollectives::wire_taken(on->shadow());
    if (taken != nullptr) used->set("tern_gpu_wire_taken", taken);
    *info_used = reinterpret_cast<MPI_Info>(any_process().handles.insert(*used));
    (void)used.leak();
    return MPI_SUCCESS;
  });
}

}  // namespace tern::api

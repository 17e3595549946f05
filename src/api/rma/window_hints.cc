// SPDX-License-Identifier: Apache-2.0
// The hints of windows: MPI-5.0 sections 12.2.1, 12.2.3 and 12.2.7.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/memory_kinds.hpp"
#include "api/process.hpp"
#include "api/rma/window.hpp"

namespace tern::api {
namespace {

enum class Values : uint8_t { kSwitch, kNumber, kOrders, kOps };

struct Hint {
  const char* key;
  const char* standard;  // null: reported only if set
  Values values;
  bool at_creation;
};
constexpr Hint kHints[] = {
    {"no_locks", "false", Values::kSwitch, true},
    {"accumulate_ordering", "rar,raw,war,waw", Values::kOrders, true},
    {"accumulate_ops", "same_op_no_op", Values::kOps, true},
    {"same_size", "false", Values::kSwitch, true},
    {"same_disp_unit", "false", Values::kSwitch, true},
    {"alloc_shared_noncontig", nullptr, Values::kSwitch, true},
    {"mpi_minimum_memory_alignment", nullptr, Values::kNumber, true},
    {"mpi_accumulate_granularity", nullptr, Values::kNumber, true},
};

bool is_orders(const std::string& text) {
  if (text == "none") return true;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (word != "rar" && word != "raw" && word != "war" && word != "waw") return false;
    at = end + 1;
  }
  return true;
}

bool is_number(const std::string& text) {
  char* end = nullptr;
  return !text.empty() && std::strtoll(text.c_str(), &end, 10) >= 0 && *end == '\0';
}

bool fits(Values values, const std::string& text) {
  switch (values) {
    case Values::kSwitch:
      return text == "true" || text == "false";
    case Values::kNumber:
      return is_number(text);
    case Values::kOrders:
      return is_orders(text);
    case Values::kOps:
      return text == "same_op" || text == "same_op_no_op";
  }
  return false;
}

const char* legal_words(Values values) noexcept {
  switch (values) {
    case Values::kSwitch:
      return "\"true\" or \"false\"";
    case Values::kNumber:
      return "a number of 0 or more";
    case Values::kOrders:
      return "\"none\", or some of rar, raw, war and waw with commas";
    case Values::kOps:
      return "\"same_op\" or \"same_op_no_op\"";
  }
  return "";
}

Failure check(const Hint& hint, const std::string& value) {
  if (fits(hint.values, value)) return {};
  return failure(MPI_ERR_INFO_VALUE, "the hint %s is \"%s\"; allowed are %s", hint.key,
                 value.c_str(), legal_words(hint.values));
}

}  // namespace

Failure check_window_hints(const core::Info* info, rma::Wanted* wanted) {
  for (const Hint& hint : kHints) {
    const auto value = info == nullptr ? std::nullopt : info->get(hint.key);
    if (!value) continue;
    if (Failure wrong = check(hint, *value)) return wrong;
    const std::string key = hint.key;
    if (key == "alloc_shared_noncontig" && *value == "true") wanted->contiguous = false;
    if (key != "mpi_minimum_memory_alignment") continue;
    constexpr size_t kMost = size_t{1} << 30;
    const auto asked = static_cast<size_t>(std::strtoll(value->c_str(), nullptr, 10));
    while (wanted->alignment < std::min(asked, kMost))
      wanted->alignment = std::max<size_t>(1, wanted->alignment * 2);
  }
  return {};
}

int set_hints(rma::Window& window, const core::Info* info) {
  if (info == nullptr) return MPI_SUCCESS;
  core::Info wanted;
  for (const Hint& hint : kHints)
    if (const auto value = info->get(hint.key); value) wanted.set(hint.key, *value);
  if (!window.info) window.info = core::Ref<core::Info>::adopt(new core::Info);
  window.info->merge(wanted);
  window.locks.no_locks = window.info->get("no_locks") == "true";
  return MPI_SUCCESS;
}

/// All hints concern creation, so later values have no effect.
int win_set_info(rma::Window&, core::Info* info) noexcept {
  return attempt([&] {
    rma::Wanted ignored;
    return fail(check_window_hints(info, &ignored));
  });
}

int win_get_info(rma::Window& win, MPI_Info* info_used) noexcept {
  return attempt([&] {
    auto used = core::Ref<core::Info>::adopt(new core::Info);
    for (const Hint& hint : kHints)
      if (hint.standard != nullptr) used->set(hint.key, hint.standard);
    if (win.targets.flavor == MPI_WIN_FLAVOR_SHARED) used->set("alloc_shared_noncontig", "false");
    used->set("mpi_memory_alloc_kinds", supported_kinds(any_process().params.memory_alloc_kinds));
    if (win.info) used->merge(*win.info);
    *info_used = reinterpret_cast<MPI_Info>(any_process().handles.insert(*used));
    (void)used.leak();
    return MPI_SUCCESS;
  });
}

}  // namespace tern::api

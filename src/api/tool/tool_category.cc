// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "tool" (MPI_T, MPI-5.0 section 15.3.9): categories.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "api/bodies.hpp"
#include "api/tool/tool.hpp"

namespace tern::api {
namespace {

struct Category {
  const char* name;
  const char* meaning;
};
constexpr Category kCategories[] = {
    {"start", "start of a rank, checks and reports"},
    {"transport", "transports: movement of bytes between ranks"},
    {"protocol", "messages: protocols and queues"},
    {"file", "transfers of files, by way"},
    {"rma", "window operations, by path to the target"},
    {"progress", "polling, yielding and sleeping in waits"},
};
constexpr size_t kCount = std::size(kCategories);
constexpr const char* kEventCategory = "protocol";

/// Parameters without such a prefix belong to "start".
struct Prefix {
  std::string_view prefix, category;
};
constexpr Prefix kPrefixes[] = {{"TERN_SM_", "transport"},        {"TERN_EAGER_", "protocol"},
                                {"TERN_UNEXPECTED_", "protocol"}, {"TERN_SPIN", "progress"},
                                {"TERN_PROGRESS", "progress"},    {"TERN_CHANNELS", "progress"},
                                {"TERN_HANG", "progress"}};

std::string_view category_of(const ParamRow& row) noexcept {
  const std::string_view name = row.name;
  for (const Prefix& one : kPrefixes)
    if (name.substr(0, one.prefix.size()) == one.prefix) return one.category;
  return kCategories[0].name;
}
std::string_view category_of(const PerformanceVariable& row) noexcept { return row.category; }

template <class Rows>
int members(const Rows& rows, int category, int room, int* indices) noexcept {
  int found = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (category_of(rows[i]) != kCategories[category].name) continue;
    if (found < room) indices[found] = static_cast<int>(i);
    ++found;
  }
  return found;
}

int has_event(int category) noexcept {
  return std::strcmp(kCategories[category].name, kEventCategory) == 0 ? 1 : 0;
}

int check_list(int category, int len, const int* indices) noexcept {
  const int code = check_index(category, kCount);
  if (code != MPI_SUCCESS) return code;
  return len > 0 && indices == nullptr ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

}  // namespace

int t_category_get_num(int* num_cat) noexcept {
  const int code = check_out(num_cat);
  if (code == MPI_SUCCESS) *num_cat = static_cast<int>(kCount);
  return code;
}

int t_category_changed(int* update_number) noexcept {
  const int code = check_out(update_number);
  if (code == MPI_SUCCESS) *update_number = 0;
  return code;
}

int t_category_get_index(const char* name, int* cat_index) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || cat_index == nullptr) return MPI_T_ERR_INVALID;
  for (size_t i = 0; i < kCount; ++i) {
    if (std::strcmp(kCategories[i].name, name) != 0) continue;
    *cat_index = static_cast<int>(i);
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                        int* num_cvars, int* num_pvars, int* num_categories) noexcept {
  const int code = check_index(cat_index, kCount);
  if (code != MPI_SUCCESS) return code;
  give(kCategories[cat_index].name, name, name_len);
  give(kCategories[cat_index].meaning, desc, desc_len);
  give_value(num_cvars, members(control_variables(), cat_index, 0, nullptr));
  give_value(num_pvars, members(performance_variables(), cat_index, 0, nullptr));
  give_value(num_categories, 0);
  return MPI_SUCCESS;
}

int t_category_get_num_events(int cat_index, int* num_events) noexcept {
  const int code = check_index(cat_index, kCount);
  if (code == MPI_SUCCESS) give_value(num_events, has_event(cat_index));
  return code;
}

int t_category_get_cvars(int cat_index, int len, int* indices) noexcept {
  const int code = check_list(cat_index, len, indices);
  if (code == MPI_SUCCESS) members(control_variables(), cat_index, len, indices);
  return code;
}

int t_category_get_pvars(int cat_index, int len, int* indices) noexcept {
  const int code = check_list(cat_index, len, indices);
  if (code == MPI_SUCCESS) members(performance_variables(), cat_index, len, indices);
  return code;
}

int t_category_get_events(int cat_index, int len, int* indices) noexcept {
  const int code = check_list(cat_index, len, indices);
  if (code == MPI_SUCCESS && len > 0 && has_event(cat_index) != 0) indices[0] = 0;
  return code;
}

int t_category_get_categories(int cat_index, int len, int* indices) noexcept {
  return check_list(cat_index, len, indices);
}

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "tool" (MPI_T, MPI-5.0 sections 15.3.4 to 15.3.6): control variables
// are Tern's parameters.
#include "api/tool/tool.hpp"

#include <algorithm>
#include <cstring>

#include "api/bodies.hpp"

namespace tern::api {
namespace {

constexpr int kTextRoom = 1024;  // a TERN_COLL with all collectives fits

/// A handle is a row's address, so garbage is detected.
const ParamRow* row_at(const void* handle) noexcept {
  for (const ParamRow& row : control_variables())
    if (handle == &row) return &row;
  return nullptr;
}

template <class Handle>
Handle handle_of(const ParamRow& row) noexcept {
  return reinterpret_cast<Handle>(const_cast<ParamRow*>(&row));
}

bool is_text(const ParamRow& row) { return !row.is_number() && words_of(row).empty(); }

MPI_Datatype type_of(const ParamRow& row) {
  return is_text(row) ? MPI_CHAR : row.is_number() ? MPI_COUNT : MPI_INT;
}

int place_of(const std::vector<std::string>& words, const std::string& word) noexcept {
  return static_cast<int>(std::find(words.begin(), words.end(), word) - words.begin());
}

}  // namespace

void give(const char* text, char* out, int* length) noexcept {
  const int needed = static_cast<int>(std::strlen(text)) + 1;
  if (length == nullptr) return;
  if (out != nullptr && *length > 0) {
    const int copied = std::min(needed, *length) - 1;
    std::memcpy(out, text, static_cast<size_t>(copied));
    out[copied] = '\0';
  }
  *length = needed;
}

const std::vector<ParamRow>& control_variables() {
  static const std::vector<ParamRow> table = Params::rows();
  return table;
}

std::vector<std::string> words_of(const ParamRow& row) {
  std::vector<std::string> words;
  if (std::strcmp(row.kind, "Word") != 0 || row.range.words == nullptr ||
      std::strchr(row.range.words, '*') != nullptr)
    return words;
  for (const char* at = row.range.words;;) {
    const size_t length = std::strcspn(at, "|");
    words.emplace_back(at, length);
    if (at[length] == '\0') return words;
    at += length + 1;
  }
}

MPI_T_enum enum_of(const ParamRow& row) {
  return words_of(row).empty() ? MPI_T_ENUM_NULL : handle_of<MPI_T_enum>(row);
}

int t_init_thread(int required, int* provided) noexcept {
  ++instance().tool.users;
  give_value(provided, required);
  return MPI_SUCCESS;
}

int t_finalize() noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (--instance().tool.users > 0) return MPI_SUCCESS;
  forget_events();
  const std::lock_guard<std::mutex> lock(instance().tool.mutex);
  instance().tool.sessions.clear();
  return MPI_SUCCESS;
}

int t_cvar_get_num(int* num_cvar) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  give_value(num_cvar, control_variables().size());
  return MPI_SUCCESS;
}

int t_cvar_get_index(const char* name, int* cvar_index) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || cvar_index == nullptr) return MPI_T_ERR_INVALID;
  for (const ParamRow& row : control_variables()) {
    if (std::strcmp(row.name, name) != 0) continue;
    *cvar_index = static_cast<int>(&row - control_variables().data());
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* scope) noexcept {
  const int code = check_index(cvar_index, control_variables().size());
  if (code != MPI_SUCCESS) return code;
  const ParamRow& row = control_variables()[static_cast<size_t>(cvar_index)];
  give(row.name, name, name_len);
  give(row.meaning, desc, desc_len);
  give_value(verbosity, MPI_T_VERBOSITY_TUNER_BASIC);
  if (datatype != nullptr) *datatype = type_of(row);
  if (enumtype != nullptr) *enumtype = enum_of(row);
  give_value(bind, MPI_T_BIND_NO_OBJECT);
  give_value(scope, MPI_T_SCOPE_READONLY);
  return MPI_SUCCESS;
}

int t_cvar_handle_alloc(int cvar_index, void*, MPI_T_cvar_handle* handle, int* count) noexcept {
  const int code = check_index(cvar_index, control_variables().size());
  if (code != MPI_SUCCESS) return code;
  const ParamRow& row = control_variables()[static_cast<size_t>(cvar_index)];
  if (handle != nullptr) *handle = handle_of<MPI_T_cvar_handle>(row);
  give_value(count, is_text(row) ? kTextRoom : 1);
  return MPI_SUCCESS;
}

int t_cvar_handle_free(MPI_T_cvar_handle* handle) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (handle == nullptr || row_at(*handle) == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int t_cvar_read(MPI_T_cvar_handle handle, void* buf) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  const ParamRow* row = row_at(handle);
  if (row == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  const std::string text = any_process().params.get(row->name);
  if (is_text(*row)) {
    int room = kTextRoom;
    give(text.c_str(), static_cast<char*>(buf), &room);
  } else if (row->is_number()) {
    *static_cast<MPI_Count*>(buf) = std::strtoll(text.c_str(), nullptr, 10);
  } else {
    *static_cast<int*>(buf) = place_of(words_of(*row), text);
  }
  return MPI_SUCCESS;
}

int t_cvar_write(MPI_T_cvar_handle handle, const void*) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  return row_at(handle) == nullptr ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_CVAR_SET_NEVER;
}

int t_enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  const ParamRow* row = row_at(enumtype);
  if (row == nullptr || words_of(*row).empty()) return MPI_T_ERR_INVALID_HANDLE;
  give_value(num, words_of(*row).size());
  give(row->name, name, name_len);
  return MPI_SUCCESS;
}

int t_enum_get_item(MPI_T_enum enumtype, int index, int* value, char* name,
                    int* name_len) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  const ParamRow* row = row_at(enumtype);
  if (row == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  const std::vector<std::string> words = words_of(*row);
  if (words.empty()) return MPI_T_ERR_INVALID_HANDLE;
  if (check_index(index, words.size()) != MPI_SUCCESS) return MPI_T_ERR_INVALID_ITEM;
  give_value(value, index);
  give(words[static_cast<size_t>(index)].c_str(), name, name_len);
  return MPI_SUCCESS;
}

}  // namespace tern::api

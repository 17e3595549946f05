// SPDX-License-Identifier: Apache-2.0
// Bodies of the chapter "tool" (MPI_T): Tern's parameters as control variables; nothing else is
// offered yet.
// Why: tools and users read the parameters in effect by the standard's own interface.
// See: MPI-5.0 chapter 15; base/params.hpp (the table).
#include <algorithm>
#include <atomic>
#include <cstring>

#include "api/bodies.hpp"
#include "api/process.hpp"

namespace tern::api {
namespace {

std::atomic<int>& users() noexcept { return instance().tool_users; }
bool ready() noexcept { return users().load() > 0; }

const std::vector<ParamRow>& rows() {
  static const std::vector<ParamRow> table = Params::rows();
  return table;
}

/// A handle is the address of the row: nothing to free, and garbage is recognised.
MPI_T_cvar_handle handle_of(size_t index) noexcept {
  return reinterpret_cast<MPI_T_cvar_handle>(const_cast<ParamRow*>(&rows()[index]));
}
const ParamRow* row_of(MPI_T_cvar_handle handle) noexcept {
  for (const ParamRow& row : rows())
    if (reinterpret_cast<const void*>(handle) == &row) return &row;
  return nullptr;
}

/// The interface's way to give strings: *length is the room, then the length with the end; null
/// asks only.
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

template <class Value>
void give_value(Value* out, Value value) noexcept {
  if (out != nullptr) *out = value;
}

bool is_text(const ParamRow& row) noexcept { return !row.is_number(); }
constexpr int kTextRoom = 256;

int none_of(int index) noexcept {
  (void)index;
  return ready() ? MPI_T_ERR_INVALID_INDEX : MPI_T_ERR_NOT_INITIALIZED;
}
int none_named(const char* name) noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  return name == nullptr ? MPI_T_ERR_INVALID : MPI_T_ERR_INVALID_NAME;
}
int zero(int* count) noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (count == nullptr) return MPI_T_ERR_INVALID;
  *count = 0;
  return MPI_SUCCESS;
}

}  // namespace

int t_init_thread(int required, int* provided) noexcept {
  ++users();
  give_value(provided, required);
  return MPI_SUCCESS;
}

int t_finalize() noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  --users();
  return MPI_SUCCESS;
}

int t_cvar_get_num(int* num_cvar) noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  give_value(num_cvar, static_cast<int>(rows().size()));
  return MPI_SUCCESS;
}

int t_cvar_get_index(const char* name, int* cvar_index) noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || cvar_index == nullptr) return MPI_T_ERR_INVALID;
  for (size_t i = 0; i < rows().size(); ++i) {
    if (std::strcmp(rows()[i].name, name) != 0) continue;
    *cvar_index = static_cast<int>(i);
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* scope) noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (cvar_index < 0 || static_cast<size_t>(cvar_index) >= rows().size())
    return MPI_T_ERR_INVALID_INDEX;
  const ParamRow& row = rows()[static_cast<size_t>(cvar_index)];
  give(row.name, name, name_len);
  give(row.meaning, desc, desc_len);
  give_value(verbosity, static_cast<int>(MPI_T_VERBOSITY_TUNER_BASIC));
  give_value(datatype, is_text(row) ? MPI_CHAR : MPI_COUNT);
  give_value(enumtype, MPI_T_ENUM_NULL);
  give_value(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
  give_value(scope, static_cast<int>(MPI_T_SCOPE_READONLY));
  return MPI_SUCCESS;
}

int t_cvar_handle_alloc(int cvar_index, void*, MPI_T_cvar_handle* handle, int* count) noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (cvar_index < 0 || static_cast<size_t>(cvar_index) >= rows().size())
    return MPI_T_ERR_INVALID_INDEX;
  const size_t index = static_cast<size_t>(cvar_index);
  give_value(handle, handle_of(index));
  give_value(count, is_text(rows()[index]) ? kTextRoom : 1);
  return MPI_SUCCESS;
}

int t_cvar_handle_free(MPI_T_cvar_handle* handle) noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (handle == nullptr || row_of(*handle) == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int t_cvar_read(MPI_T_cvar_handle handle, void* buf) noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  const ParamRow* row = row_of(handle);
  if (row == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  const std::string text = any_process().params.get(row->name);
  if (is_text(*row)) {
    int room = kTextRoom;
    give(text.c_str(), static_cast<char*>(buf), &room);
  } else {
    *static_cast<MPI_Count*>(buf) = std::strtoll(text.c_str(), nullptr, 10);
  }
  return MPI_SUCCESS;
}

int t_cvar_write(MPI_T_cvar_handle handle, const void*) noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  return row_of(handle) == nullptr ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_CVAR_SET_NEVER;
}

// No performance variables, categories, events or sources.
int t_pvar_get_num(int* num_pvar) noexcept { return zero(num_pvar); }
int t_category_get_num(int* num_cat) noexcept { return zero(num_cat); }
int t_category_changed(int* update_number) noexcept { return zero(update_number); }
int t_event_get_num(int* num_events) noexcept { return zero(num_events); }
int t_source_get_num(int* num_sources) noexcept { return zero(num_sources); }
int t_pvar_get_index(const char* name, int, int*) noexcept { return none_named(name); }
int t_category_get_index(const char* name, int*) noexcept { return none_named(name); }
int t_event_get_index(const char* name, int*) noexcept { return none_named(name); }
int t_category_get_num_events(int cat_index, int*) noexcept { return none_of(cat_index); }
int t_category_get_cvars(int cat_index, int, int*) noexcept { return none_of(cat_index); }
int t_category_get_pvars(int cat_index, int, int*) noexcept { return none_of(cat_index); }
int t_category_get_events(int cat_index, int, int*) noexcept { return none_of(cat_index); }
int t_category_get_categories(int cat_index, int, int*) noexcept { return none_of(cat_index); }
int t_category_get_info(int cat_index, char*, int*, char*, int*, int*, int*, int*) noexcept {
  return none_of(cat_index);
}
int t_pvar_get_info(int pvar_index, char*, int*, int*, int*, MPI_Datatype*, MPI_T_enum*, char*,
                    int*, int*, int*, int*, int*) noexcept {
  return none_of(pvar_index);
}

/// A session is needed to ask for variables; it holds none.
int t_pvar_session_create(MPI_T_pvar_session* pe_session) noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (pe_session == nullptr) return MPI_T_ERR_INVALID;
  *pe_session = reinterpret_cast<MPI_T_pvar_session>(&instance());
  return MPI_SUCCESS;
}
int t_pvar_session_free(MPI_T_pvar_session* pe_session) noexcept {
  if (!ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (pe_session == nullptr || reinterpret_cast<Instance*>(*pe_session) != &instance())
    return MPI_T_ERR_INVALID_SESSION;
  *pe_session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "attribute". See: MPI-5.0 section 7.7 and, for the deprecated names,
// chapter 16.
#include "core/attribute.hpp"

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "core/communicator.hpp"
#include "core/datatype.hpp"
#include "mpix.h"
#include "rma/window.hpp"

namespace tern::api {
namespace {

using core::Keyval;
using core::Kind;

template <class CopyFunction, class DeleteFunction>
int create_keyval(Kind kind, CopyFunction* copy, DeleteFunction* erase, int* keyval,
                  void* extra) noexcept {
  return guarded([&] {
    *keyval = instance().keyvals.add({kind, reinterpret_cast<Keyval::Copy*>(copy),
                                      reinterpret_cast<Keyval::Delete*>(erase), extra});
  });
}

struct KeyvalNames {
  const char *parameter, *noun;
};

KeyvalNames names_of(Kind kind) noexcept {
  if (kind == Kind::kDatatype) return {"type_keyval", "datatype"};
  if (kind == Kind::kWindow) return {"win_keyval", "window"};
  return {"comm_keyval", "communicator"};
}

int invalid(int keyval, Kind kind) noexcept {
  const KeyvalNames names = names_of(kind);
  if (keyval == MPI_KEYVAL_INVALID)
    return fail(MPI_ERR_KEYVAL, "%s is MPI_KEYVAL_INVALID", names.parameter);
  if (keyval < core::Keyvals::kFirst)
    return fail(MPI_ERR_KEYVAL, "%s is %d, which is not an attribute key for users to set or free",
                names.parameter, keyval);
  return fail(MPI_ERR_KEYVAL,
              "%s is %d, which is not an attribute key of a %s (freed, or never created)",
              names.parameter, keyval, names.noun);
}

int free_keyval(int* keyval, Kind kind) noexcept {
  if (!instance().keyvals.erase(*keyval, kind)) return invalid(*keyval, kind);
  *keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

template <class Owner>
int set_attribute(Owner& owner, int keyval, void* value) noexcept {
  auto key = instance().keyvals.find(keyval, Owner::kKind);
  if (key == nullptr) return invalid(keyval, Owner::kKind);
  int code = MPI_SUCCESS;
  const int failed =
      guarded([&] { code = owner.attributes.set(std::move(key), keyval, value, owner.handle()); });
  return failed != MPI_SUCCESS ? failed : code;
}

template <class Owner>
int get_attribute(Owner& owner, int keyval, void* value, int* flag) noexcept {
  *flag = 0;
  if (instance().keyvals.find(keyval, Owner::kKind) == nullptr)
    return invalid(keyval, Owner::kKind);
  *flag = owner.attributes.get(keyval, static_cast<void**>(value)) ? 1 : 0;
  return MPI_SUCCESS;
}

template <class Owner>
int delete_attribute(Owner& owner, int keyval) noexcept {
  if (instance().keyvals.find(keyval, Owner::kKind) == nullptr)
    return invalid(keyval, Owner::kKind);
  return owner.attributes.erase(keyval, owner.handle());
}

int* predefined(int keyval, bool* known) noexcept {
  PredefinedAttributes& own = instance().attributes;
  *known = true;
  switch (keyval) {
    case MPI_TAG_UB:
      return &own.tag_ub;
    case MPI_IO:
      return &own.io;
    case MPI_HOST:
      return &own.host;
    case MPI_WTIME_IS_GLOBAL:
      return &own.wtime_is_global;
    case MPI_APPNUM:
      return own.appnum >= 0 ? &own.appnum : nullptr;
    case MPI_UNIVERSE_SIZE:
      return own.universe_size > 0 ? &own.universe_size : nullptr;
    case MPIX_FT:
      own.ft = instance().process.deaths.tolerated() ? 1 : 0;
      return &own.ft;
    case MPI_LASTUSEDCODE:
      own.last_used_code = instance().error_codes.last();
      return &own.last_used_code;
    default:
      *known = false;
      return nullptr;
  }
}

/// MPI_WIN_BASE's value is the address itself.
void* predefined(rma::Window& win, int keyval) noexcept {
  switch (keyval) {
    case MPI_WIN_BASE:
      return win.base;
    case MPI_WIN_SIZE:
      return &win.bytes;
    case MPI_WIN_DISP_UNIT:
      return &win.disp_unit;
    case MPI_WIN_CREATE_FLAVOR:
      return &win.flavor_value;
    case MPI_WIN_MODEL:
      return &win.model;
    default:
      return nullptr;
  }
}

}  // namespace

int comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* erase,
                       int* comm_keyval, void* extra_state) noexcept {
  return create_keyval(Kind::kCommunicator, copy, erase, comm_keyval, extra_state);
}
int keyval_create(MPI_Copy_function* copy, MPI_Delete_function* erase, int* keyval,
                  void* extra_state) noexcept {
  return create_keyval(Kind::kCommunicator, copy, erase, keyval, extra_state);
}
int type_create_keyval(MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* erase,
                       int* type_keyval, void* extra_state) noexcept {
  return create_keyval(Kind::kDatatype, copy, erase, type_keyval, extra_state);
}
int win_create_keyval(MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* erase,
                      int* win_keyval, void* extra_state) noexcept {
  return create_keyval(Kind::kWindow, copy, erase, win_keyval, extra_state);
}

int comm_free_keyval(int* comm_keyval) noexcept {
  return free_keyval(comm_keyval, Kind::kCommunicator);
}
int keyval_free(int* keyval) noexcept { return comm_free_keyval(keyval); }
int type_free_keyval(int* type_keyval) noexcept {
  return free_keyval(type_keyval, Kind::kDatatype);
}
int win_free_keyval(int* win_keyval) noexcept { return free_keyval(win_keyval, Kind::kWindow); }

int comm_set_attr(core::Communicator& comm, int comm_keyval, void* attribute_val) noexcept {
  return set_attribute(comm, comm_keyval, attribute_val);
}
int attr_put(core::Communicator& comm, int keyval, void* attribute_val) noexcept {
  return comm_set_attr(comm, keyval, attribute_val);
}
int type_set_attr(core::Datatype& datatype, int type_keyval, void* attribute_val) noexcept {
  return set_attribute(datatype, type_keyval, attribute_val);
}

int win_set_attr(rma::Window& win, int win_keyval, void* attribute_val) noexcept {
  return set_attribute(win, win_keyval, attribute_val);
}

int comm_get_attr(core::Communicator& comm, int comm_keyval, void* attribute_val,
                  int* flag) noexcept {
  bool known = false;
  int* value = predefined(comm_keyval, &known);
  if (comm.session && comm_keyval != MPI_TAG_UB) value = nullptr;
  if (!known) return get_attribute(comm, comm_keyval, attribute_val, flag);
  *flag = value != nullptr ? 1 : 0;
  if (value != nullptr) *static_cast<void**>(attribute_val) = value;
  return MPI_SUCCESS;
}
int attr_get(core::Communicator& comm, int keyval, void* attribute_val, int* flag) noexcept {
  return comm_get_attr(comm, keyval, attribute_val, flag);
}
int type_get_attr(core::Datatype& datatype, int type_keyval, void* attribute_val,
                  int* flag) noexcept {
  return get_attribute(datatype, type_keyval, attribute_val, flag);
}
int win_get_attr(rma::Window& win, int win_keyval, void* attribute_val, int* flag) noexcept {
  if (win_keyval < MPI_WIN_BASE || win_keyval > MPI_WIN_MODEL)
    return get_attribute(win, win_keyval, attribute_val, flag);
  *static_cast<void**>(attribute_val) = predefined(win, win_keyval);
  *flag = 1;
  return MPI_SUCCESS;
}

int comm_delete_attr(core::Communicator& comm, int comm_keyval) noexcept {
  return delete_attribute(comm, comm_keyval);
}
int attr_delete(core::Communicator& comm, int keyval) noexcept {
  return comm_delete_attr(comm, keyval);
}
int win_delete_attr(rma::Window& win, int win_keyval) noexcept {
  return delete_attribute(win, win_keyval);
}
int type_delete_attr(core::Datatype& datatype, int type_keyval) noexcept {
  return delete_attribute(datatype, type_keyval);
}

}  // namespace tern::api

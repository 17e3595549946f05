// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "errhandler" (MPI-5.0 sections 9.3 to 9.5). See: src/abi/raise.cc
// (delivery).
#include <algorithm>
#include <cstring>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "core/communicator.hpp"
#include "core/error_handler.hpp"
#include "core/session.hpp"
#include "io/file.hpp"
#include "rma/window.hpp"

namespace tern::api {
namespace {

using core::ErrorHandler;

int still_has_string(const char* what, int number) noexcept {
  return fail(MPI_ERR_ARG, "%s %d still has a string: call MPI_Remove_error_string first", what,
              number);
}

template <class Function>
int create(Function* function, MPI_Errhandler* out) noexcept {
  if (function == nullptr) return fail(MPI_ERR_ARG, "the error handler function is a null pointer");
  return guarded([&] {
    auto* handler = new ErrorHandler(function);
    *out = reinterpret_cast<MPI_Errhandler>(any_process().handles.insert(*handler));
  });
}

/// A handler still in use after MPI_Errhandler_free gets a new handle.
int give(core::Ref<ErrorHandler>& handler, MPI_Errhandler* out) noexcept {
  if (!handler)
    handler = core::Ref<ErrorHandler>(
        &core::predefined_error_handler(any_process(), MPI_ERRORS_ARE_FATAL));
  ErrorHandler& object = *handler;
  return guarded([&] {
    if (!object.predefined()) {
      if (object.handle() == 0) any_process().handles.insert(object);
      object.add_user();
      object.retain();
    }
    *out = reinterpret_cast<MPI_Errhandler>(object.handle());
  });
}

template <class Owner>
int set(Owner& owner, ErrorHandler& handler, const char* noun) noexcept {
  if (!handler.fits(Owner::kKind))
    return fail(MPI_ERR_ERRHANDLER, "the error handler was not made for a %s", noun);
  owner.error_handler = core::Ref<ErrorHandler>(&handler);
  return MPI_SUCCESS;
}

int unknown_code(int code) noexcept {
  return fail(MPI_ERR_ARG, "%d is not a valid error class or code", code);
}

bool known(int code) noexcept { return standard_class(code) || instance().error_codes.added(code); }

int call(core::Object& object, const char* name, int code) noexcept {
  if (!known(code)) return unknown_code(code);
  const std::string own = instance().error_codes.text(code);
  const std::string text = own.empty() ? class_sentence(class_of(code)) : own;
  return request_call(deliver(&any_process(), &object, code, strf("%s: %s", name, text.c_str())));
}

}  // namespace

int comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* out) noexcept {
  return create(function, out);
}
int file_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* out) noexcept {
  return create(function, out);
}
int session_create_errhandler(MPI_Session_errhandler_function* function,
                              MPI_Errhandler* out) noexcept {
  return create(function, out);
}
int win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* out) noexcept {
  return create(function, out);
}

int comm_get_errhandler(core::Communicator& comm, MPI_Errhandler* errhandler) noexcept {
  return give(comm.error_handler, errhandler);
}
int session_get_errhandler(core::Session& session, MPI_Errhandler* errhandler) noexcept {
  return give(session.error_handler, errhandler);
}
int win_get_errhandler(rma::Window& win, MPI_Errhandler* errhandler) noexcept {
  return give(win.error_handler, errhandler);
}
int file_get_errhandler(io::File* file, MPI_Errhandler* errhandler) noexcept {
  return give(file == nullptr ? instance().file_handler : file->error_handler, errhandler);
}
int file_set_errhandler(io::File* file, ErrorHandler& errhandler) noexcept {
  if (!errhandler.fits(core::Kind::kFile))
    return fail(MPI_ERR_ERRHANDLER, "the error handler was not made for a file");
  (file == nullptr ? instance().file_handler : file->error_handler) =
      core::Ref<ErrorHandler>(&errhandler);
  return MPI_SUCCESS;
}
int comm_set_errhandler(core::Communicator& comm, ErrorHandler& errhandler) noexcept {
  return set(comm, errhandler, "communicator");
}
int session_set_errhandler(core::Session& session, ErrorHandler& errhandler) noexcept {
  return set(session, errhandler, "session");
}
int win_set_errhandler(rma::Window& win, ErrorHandler& errhandler) noexcept {
  return set(win, errhandler, "window");
}
int comm_call_errhandler(core::Communicator& comm, int errorcode) noexcept {
  return call(comm, "MPI_Comm_call_errhandler", errorcode);
}
int file_call_errhandler(io::File* fh, int errorcode) noexcept {
  core::Object* const object = fh != nullptr ? static_cast<core::Object*>(fh) : file_null_handler();
  return call(*object, "MPI_File_call_errhandler", errorcode);
}
int session_call_errhandler(core::Session& session, int errorcode) noexcept {
  return call(session, "MPI_Session_call_errhandler", errorcode);
}
int win_call_errhandler(rma::Window& win, int errorcode) noexcept {
  return call(win, "MPI_Win_call_errhandler", errorcode);
}

int errhandler_free(MPI_Errhandler* errhandler) noexcept {
  core::Process& process = any_process();
  ErrorHandler& object = *process.handles.find<ErrorHandler>(*errhandler);
  if (!object.predefined()) {
    if (object.drop_user()) process.handles.erase(object);
    object.release();
  }
  *errhandler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

int error_class(int errorcode, int* errorclass) noexcept {
  if (!known(errorcode)) return unknown_code(errorcode);
  *errorclass = class_of(errorcode);
  return MPI_SUCCESS;
}

int error_string(int errorcode, char* string, int* resultlen) noexcept {
  if (!known(errorcode)) return unknown_code(errorcode);
  std::string text = instance().error_codes.text(errorcode);
  if (standard_class(errorcode)) {
    const std::string last = remembered_error(errorcode);
    const char* name = error_class_name(errorcode);
    text = !last.empty() ? last
                         : strf("%s: %s", name == nullptr ? "MPI_T error" : name,
                                class_sentence(errorcode).c_str());
  }
  const size_t copied = std::min<size_t>(text.size(), MPI_MAX_ERROR_STRING - 1);
  std::memcpy(string, text.data(), copied);
  string[copied] = '\0';
  *resultlen = static_cast<int>(copied);
  return MPI_SUCCESS;
}

int add_error_class(int* errorclass) noexcept {
  return guarded([&] { *errorclass = instance().error_codes.add_class(); });
}

int add_error_code(int errorclass, int* errorcode) noexcept {
  if (!known(errorclass)) return unknown_code(errorclass);
  if (class_of(errorclass) != errorclass)
    return fail(MPI_ERR_ARG, "errorclass is %d, an error code of class %d", errorclass,
                class_of(errorclass));
  return guarded([&] { *errorcode = instance().error_codes.add_code(errorclass); });
}

int add_error_string(int errorcode, const char* string) noexcept {
  if (std::strlen(string) > MPI_MAX_ERROR_STRING - 1)
    return fail(MPI_ERR_ARG, "the string has %zu characters, but %d are allowed",
                std::strlen(string), MPI_MAX_ERROR_STRING - 1);
  if (!instance().error_codes.set_text(errorcode, string))
    return fail(MPI_ERR_ARG, "%d was not made by MPI_Add_error_class or MPI_Add_error_code",
                errorcode);
  return MPI_SUCCESS;
}

int remove_error_class(int errorclass) noexcept {
  ErrorCodes& codes = instance().error_codes;
  if (!codes.added(errorclass) || codes.class_of(errorclass) != errorclass)
    return fail(MPI_ERR_ARG, "%d was not made by MPI_Add_error_class", errorclass);
  if (codes.has_codes(errorclass))
    return fail(MPI_ERR_ARG, "class %d still has codes: remove the codes first", errorclass);
  if (!codes.text(errorclass).empty()) return still_has_string("class", errorclass);
  codes.remove(errorclass);
  return MPI_SUCCESS;
}

int remove_error_code(int errorcode) noexcept {
  ErrorCodes& codes = instance().error_codes;
  if (!codes.added(errorcode) || codes.class_of(errorcode) == errorcode)
    return fail(MPI_ERR_ARG, "%d was not made by MPI_Add_error_code", errorcode);
  if (!codes.text(errorcode).empty()) return still_has_string("code", errorcode);
  codes.remove(errorcode);
  return MPI_SUCCESS;
}

int remove_error_string(int errorcode) noexcept {
  if (!instance().error_codes.remove_text(errorcode))
    return fail(MPI_ERR_ARG, "no string was added to %d", errorcode);
  return MPI_SUCCESS;
}

}  // namespace tern::api

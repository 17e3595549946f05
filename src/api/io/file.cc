// SPDX-License-Identifier: Apache-2.0
// Files: opening, closing, sizes and hints (MPI-5.0 sections 14.2 and 14.6).
#include "io/file.hpp"

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/comm/group.hpp"
#include "api/job/leaks.hpp"
#include "api/process.hpp"
#include "api/refused_call.hpp"
#include "io/open.hpp"

namespace tern::api {

using io::File;

void notify_refusal(File& file, bool meets, int code) noexcept {
  if (ends_the_job(&file) || !(meets || file.collectives.checks())) return;
  const LastError last = take_last_error();
  file.refuse(failure(code, "rank %d: %s", file.communicator().rank(), last.text.c_str()));
  (void)fail_on(last.object, code, "%s", last.text.c_str());
}

int file_open(core::Communicator& comm, const char* filename, int amode, core::Info* info,
              MPI_File* fh) noexcept {
  *fh = MPI_FILE_NULL;
  return attempt([&] {
    if (const int code = require_intra(comm, "comm"); code != MPI_SUCCESS) return code;
    core::Ref<File> made;
    const int code = io::open(comm, filename, amode, info, &made);
    if (code != MPI_SUCCESS) return code;
    made->error_handler = instance().file_handler;
    *fh = reinterpret_cast<MPI_File>(any_process().handles.insert(*made));
    (void)made.leak();
    return static_cast<int>(MPI_SUCCESS);
  });
}

int file_close(MPI_File* fh) noexcept {
  core::Process& process = *the_process;
  auto* const found = process.handles.find<File>(*fh);
  report_requests(process, *found);
  const int code = found->close();
  if (!found->closed()) return code;
  *fh = MPI_FILE_NULL;
  process.handles.erase(*found);
  auto ended = core::Ref<core::Object>::adopt(found);
  if (code == MPI_SUCCESS) return code;
  keep_until_delivered(std::move(ended));
  return fail_on(found, code, "%s", take_last_error().text.c_str());
}

int file_delete(const char* filename, core::Info*) noexcept { return fail(io::remove(filename)); }

int file_get_amode(File& fh, int* amode) noexcept {
  *amode = fh.amode();
  return MPI_SUCCESS;
}

int file_get_group(File& fh, MPI_Group* group) noexcept {
  return attempt([&] {
    auto copy = core::Ref<core::Group>::adopt(new core::Group(fh.communicator().group()));
    copy->session = fh.communicator().session;
    publish(std::move(copy), group);
    return MPI_SUCCESS;
  });
}

int file_get_info(File& fh, MPI_Info* info_used) noexcept {
  return attempt([&] {
    core::Ref<core::Info> used = fh.hints.used();
    *info_used = reinterpret_cast<MPI_Info>(any_process().handles.insert(*used));
    (void)used.leak();
    return MPI_SUCCESS;
  });
}

int file_set_info(File& fh, core::Info* info) noexcept {
  return attempt([&] {
    if (Failure failed = fh.collectives.check({})) return fail(failed);
    if (info != nullptr) io::take_hints(fh, *info);
    return static_cast<int>(MPI_SUCCESS);
  });
}

int file_get_size(File& fh, MPI_Offset* size) noexcept {
  int64_t bytes = 0;
  const int code = fail(fh.raw().size(&bytes));
  *size = bytes;
  return code;
}

int file_set_size(File& fh, MPI_Offset size) noexcept {
  return fh.set_size(size, File::Size::kExactly);
}

int file_preallocate(File& fh, MPI_Offset size) noexcept {
  return fh.set_size(size, File::Size::kAtLeast);
}

int file_sync(File& fh) noexcept { return fh.sync(); }

int file_set_atomicity(File& fh, int flag) noexcept { return fh.set_atomicity(flag != 0); }

int file_get_atomicity(File& fh, int* flag) noexcept {
  *flag = fh.atomic() ? 1 : 0;
  return MPI_SUCCESS;
}

}  // namespace tern::api

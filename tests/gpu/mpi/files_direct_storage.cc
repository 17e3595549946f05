// SPDX-License-Identifier: Apache-2.0
// GPUDirect Storage (TERN_IO_DIRECT_STORAGE): blocking transfers of device memory from 1 MiB on,
// whose whole blocks go through libcufile. All bytes of file and memory are compared, with edges,
// at the end of the file, behind late copies of the program, and after failures of libcufile, which
// fall back to host memory with one sentence. Nonblocking transfers make no call of libcufile.
// ranks: 1 2
// configurations: 1 2-apart jitter
// env: TERN_IO_DIRECT_STORAGE=1 TERN_TEST=io_nvidia_fs=/proc/self
// timeout: 120
// variant: absent
//   Without the kernel module.
//   ranks: 1
//   configurations: 1
//   env: TERN_IO_DIRECT_STORAGE=1 TERN_TEST=io_nvidia_fs=/nowhere
// variant: closed
//   The library's driver cannot be opened.
//   ranks: 1
//   configurations: 1
//   env: TERN_IO_DIRECT_STORAGE=1 TERN_TEST=io_nvidia_fs=/proc/self
//   env: SOFTCUDA_CUFILE=cuFileDriverOpen:5007
// variant: off
//   ranks: 1
//   configurations: 1
//   env: TERN_IO_DIRECT_STORAGE=0 TERN_TEST=io_nvidia_fs=/proc/self
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "allocators.hpp"
#include "said.hpp"
#include "tests/softcuda/control.h"

using namespace tern::test;

namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kAround = 64, kMegabyte = 1 << 20;

/// The software libcufile, or null functions.
struct Soft {
  decltype(&softcuda_cufile) want = nullptr;
  decltype(&softcuda_cufile_calls) calls = nullptr;
  decltype(&softcuda_cufile_handles) handles = nullptr;
  Soft() {
    if (!control().there()) return;
    void* const library = dlopen("libcufile.so.0", RTLD_NOW);
    CHECK(library != nullptr);
    want = reinterpret_cast<decltype(want)>(dlsym(library, "softcuda_cufile"));
    calls = reinterpret_cast<decltype(calls)>(dlsym(library, "softcuda_cufile_calls"));
    handles = reinterpret_cast<decltype(handles)>(dlsym(library, "softcuda_cufile_handles"));
    CHECK(want != nullptr && calls != nullptr && handles != nullptr);
  }
  [[nodiscard]] unsigned long long moves() const {
    return calls == nullptr ? 0 : calls("cuFileRead") + calls("cuFileWrite");
  }
};

bool in_use = false;  // the software libcufile is to be called
std::string name;
int raw = -1;
MPI_File file = MPI_FILE_NULL;

void open_file() {
  char path[] = "/tmp/files_direct_storage.XXXXXX";
  const int made = mkstemp(path);
  CHECK(made >= 0);
  close(made);
  name = path;
  raw = open(path, O_RDWR);
  CHECK(raw >= 0);
  OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &file));
}

void close_file() {
  OK(MPI_File_close(&file));
  close(raw);
}

Bytes in_file(size_t at, size_t bytes) {
  Bytes got(bytes);
  const ssize_t done = pread(raw, got.data(), bytes, static_cast<off_t>(at));
  got.resize(done < 0 ? 0 : static_cast<size_t>(done));
  return got;
}

void same(const Bytes& got, const Bytes& want, const char* words) {
  CHECK_EQ(got.size(), want.size());
  const auto wrong = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
  if (wrong != static_cast<long>(got.size()))
    FAIL("%s: byte %ld of %zu is %d, expected %d", words, wrong, got.size(),
         got[static_cast<size_t>(wrong)], want[static_cast<size_t>(wrong)]);
}

enum class Form { kAt, kAtAll, kAtomic, kNonblocking, kSplit };

int transfer(Form form, bool writes, size_t at, void* memory, size_t bytes) {
  const auto offset = static_cast<MPI_Offset>(at);
  const int count = static_cast<int>(bytes);
  MPI_Status status;
  MPI_Request request;
  if (form == Form::kAtomic) OK(MPI_File_set_atomicity(file, 1));
  switch (form) {
    case Form::kAt:
    case Form::kAtomic:
      OK(writes ? MPI_File_write_at(file, offset, memory, count, MPI_BYTE, &status)
                : MPI_File_read_at(file, offset, memory, count, MPI_BYTE, &status));
      break;
    case Form::kAtAll:
      OK(writes ? MPI_File_write_at_all(file, offset, memory, count, MPI_BYTE, &status)
                : MPI_File_read_at_all(file, offset, memory, count, MPI_BYTE, &status));
      break;
    case Form::kNonblocking:
      OK(writes ? MPI_File_iwrite_at(file, offset, memory, count, MPI_BYTE, &request)
                : MPI_File_iread_at(file, offset, memory, count, MPI_BYTE, &request));
      OK(MPI_Wait(&request, &status));
      break;
    case Form::kSplit:
      if (writes) {
        OK(MPI_File_write_at_all_begin(file, offset, memory, count, MPI_BYTE));
        OK(MPI_File_write_at_all_end(file, memory, &status));
      } else {
        OK(MPI_File_read_at_all_begin(file, offset, memory, count, MPI_BYTE));
        OK(MPI_File_read_at_all_end(file, memory, &status));
      }
  }
  if (form == Form::kAtomic) OK(MPI_File_set_atomicity(file, 0));
  int moved = -1;
  OK(MPI_Get_count(&status, MPI_BYTE, &moved));
  return moved;
}

unsigned seed = 1;

/// Writes and reads `bytes`, with other data around them in memory and file.
void there_and_back(Form form, Kind kind, size_t at, size_t bytes) {
  const Area from(kind, bytes + 2 * kAround), to(kind, bytes + 2 * kAround);
  Bytes data = bytes_of(bytes + 2 * kAround, seed++);
  const Bytes under = bytes_of(at + bytes + 9000, seed++);
  OK(MPI_File_set_size(file, 0));
  CHECK_EQ(pwrite(raw, under.data(), under.size(), 0), under.size());
  from.put(data);
  CHECK_EQ(transfer(form, true, at, from.address(kAround), bytes), bytes);
  Bytes want = under;
  std::copy(data.begin() + kAround, data.end() - kAround, want.begin() + static_cast<long>(at));
  same(in_file(0, want.size() + 1), want, "written");
  // Bytes in the page cache, which are not in storage yet.
  const Bytes change = bytes_of(5000, seed++);
  CHECK_EQ(pwrite(raw, change.data(), change.size(), static_cast<off_t>(at + bytes / 3)),
           change.size());
  std::copy(change.begin(), change.end(), data.begin() + static_cast<long>(kAround + bytes / 3));
  Bytes around = bytes_of(bytes + 2 * kAround, seed++);
  to.put(around);
  CHECK_EQ(transfer(form, false, at, to.address(kAround), bytes), bytes);
  std::copy(data.begin() + kAround, data.end() - kAround, around.begin() + kAround);
  same(to.get(around.size()), around, "read");
}

/// Reads across the end of the file, and behind the end.
void end_of_file(size_t size, size_t at, size_t bytes) {
  const Bytes all = bytes_of(size, seed++);
  OK(MPI_File_set_size(file, 0));
  CHECK_EQ(pwrite(raw, all.data(), size, 0), size);
  const Area to(Kind::kDevice, bytes);
  Bytes want = bytes_of(bytes, seed++);
  to.put(want);
  const size_t left = at < size ? std::min(bytes, size - at) : 0;
  CHECK_EQ(transfer(Form::kAt, false, at, to.address(), bytes), left);
  if (left > 0) std::copy_n(all.begin() + static_cast<long>(at), left, want.begin());
  same(to.get(bytes), want, "the end of the file");
}

unsigned long long counted() {
  int index = -1, count = 0;
  unsigned long long value = 0;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  int provided = 0;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_get_index("file_gpudirect", MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count));
  // Counters count from their start on.
  OK(MPI_T_pvar_start(session, handle));
  there_and_back(Form::kAt, Kind::kDevice, 0, 2 * kMegabyte);
  OK(MPI_T_pvar_read(session, handle, &value));
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  return value;
}

void all_places(const Soft& soft) {
  for (const Kind kind : {Kind::kDevice, Kind::kOtherDevice, Kind::kPool, Kind::kMapped})
    for (const Form form : {Form::kAt, Form::kAtAll, Form::kAtomic}) {
      if (kind != Kind::kDevice && form != Form::kAt) continue;
      for (const size_t at : {size_t{0}, size_t{1000}, size_t{3 * 4096}})
        for (const size_t bytes : {2 * kMegabyte, 3 * kMegabyte + 12345}) {
          const auto before = soft.moves();
          there_and_back(form, kind, at, bytes);
          CHECK_EQ(soft.moves() - before, in_use ? 2 : 0);
        }
    }
  // No whole blocks of 1 MiB, other memory, other calls.
  const auto before = soft.moves();
  there_and_back(Form::kAt, Kind::kDevice, 1000, kMegabyte + 100);
  for (const Kind kind : {Kind::kHost, Kind::kPinned, Kind::kManaged})
    there_and_back(Form::kAt, kind, 1000, 2 * kMegabyte);
  for (const Form form : {Form::kNonblocking, Form::kSplit})
    there_and_back(form, Kind::kDevice, 0, 2 * kMegabyte);
  CHECK_EQ(soft.moves(), before);
  for (const size_t at : {size_t{0}, size_t{5000}, 3 * kMegabyte})
    for (const size_t size : {2 * kMegabyte + 10000, 3 * kMegabyte, size_t{100}})
      end_of_file(size, at, 3 * kMegabyte);
}

/// Failures of calls, said once.
void failures(const Soft& soft) {
  for (const char* wish : {"5010", "1", "short", "5013"}) {
    open_file();
    const Heard heard;
    const std::string row = wish;
    soft.want(("cuFileWrite:" + row + ",cuFileRead:" + row).c_str());
    for (int turn = 0; turn < 2; ++turn) there_and_back(Form::kAt, Kind::kDevice, 7, 3 * kMegabyte);
    soft.want("");
    const std::string text = heard.text();
    for (const char* function : {"cuFileWrite", "cuFileRead"}) {
      const size_t first = text.find(function);
      CHECK(first != std::string::npos && text.find(function, first + 1) == std::string::npos);
    }
    close_file();
  }
  open_file();
  const Heard heard;
  soft.want("cuFileHandleRegister:5008");
  const auto before = soft.moves();
  for (int turn = 0; turn < 2; ++turn) there_and_back(Form::kAt, Kind::kDevice, 0, 2 * kMegabyte);
  CHECK_EQ(soft.moves(), before);
  CHECK(heard.has("cuFileHandleRegister: error 5008"));
  soft.want("");
  close_file();
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  const Soft soft;
  const std::string asks = getenv("TERN_IO_DIRECT_STORAGE"), test = getenv("TERN_TEST");
  const char* const fails = getenv("SOFTCUDA_CUFILE");
  const bool is_absent = test.find("/nowhere") != std::string::npos;
  open_file();
  const int direct = open(name.c_str(), O_RDONLY | O_DIRECT);
  in_use = soft.want != nullptr && asks == "1" && !is_absent && fails == nullptr && direct >= 0;
  close(direct);
  {
    const Heard heard;
    CUcontext before = nullptr, after = nullptr;
    CU(cuCtxGetCurrent(&before));
    all_places(soft);
    CU(cuCtxGetCurrent(&after));
    CHECK(before == after);
    if (is_absent) CHECK(heard.has("the kernel module nvidia-fs is not loaded (/nowhere"));
    if (soft.want != nullptr && fails != nullptr) CHECK(heard.has("cuFileDriverOpen: error 5007"));
    if (in_use || asks == "0") CHECK_EQ(heard.text().size(), 0);
  }
  if (in_use) {
    CHECK_EQ(counted(), 2);
    CHECK_EQ(soft.calls("cuFileHandleRegister"), 1);
    CHECK_EQ(soft.handles(), 1);
  }
  close_file();
  if (in_use) {
    CHECK_EQ(soft.handles(), 0);
    failures(soft);
    CHECK_EQ(soft.handles(), 0);
    CHECK_EQ(soft.calls("cuFileDriverOpen"), 1);
  }
  return end();
}

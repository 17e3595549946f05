// SPDX-License-Identifier: Apache-2.0
// Files with buffers of every kind of memory: all data access functions, buffers with holes,
// several chunks, representations, and transfers under way together. The file's bytes, read with
// pread, and all bytes around a buffer are compared.
// ranks: 1 2 3
// configurations: 1 2-apart jitter
// full-configurations: 12.0 in-turn
// timeout: 120
// variant: exchange
//   ranks: 2 3
//   env: TERN_IO=exchange TERN_IO_BUFFER=65536
// variant: chunks
//   Many chunks of a transfer.
//   ranks: 2
//   env: TERN_TEST=cuda_chunk=65536
// variant: plain
//   ranks: 2
//   env: TERN_IO=plain
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "memory.hpp"

using namespace tern::test;

namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kAround = 64;

std::string name;
int raw = -1;
MPI_File file = MPI_FILE_NULL;

void open_file() {
  char path[] = "/tmp/files.XXXXXX";
  if (rank == 0) {
    const int made = mkstemp(path);
    CHECK(made >= 0);
    close(made);
  }
  OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
  name = path;
  raw = open(path, O_RDWR);
  CHECK(raw >= 0);
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &file));
}

void close_file() {
  OK(MPI_File_close(&file));
  close(raw);
}

Bytes in_file(size_t at, size_t bytes) {
  Bytes got(bytes);
  size_t done = 0;
  while (done < bytes) {
    const ssize_t some = pread(raw, got.data() + done, bytes - done, static_cast<off_t>(at + done));
    if (some <= 0) break;
    done += static_cast<size_t>(some);
  }
  got.resize(done);
  return got;
}

void same(const Bytes& got, const Bytes& want, const char* words, Kind kind) {
  CHECK_EQ(got.size(), want.size());
  const auto wrong = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
  if (wrong != static_cast<long>(got.size()))
    FAIL("%s, %s memory: byte %ld of %zu is %d, expected %d", words, name_of(kind), wrong,
         got.size(), got[static_cast<size_t>(wrong)], want[static_cast<size_t>(wrong)]);
}

/// Memory of a kind, with known bytes around the middle.
struct Buffer {
  Kind kind;
  size_t bytes;
  Area area;
  Bytes before;
  Buffer(Kind of, size_t size, unsigned seed)
      : kind(of),
        bytes(size),
        area(of, size + 2 * kAround),
        before(bytes_of(size + 2 * kAround, seed)) {
    area.put(before);
  }
  [[nodiscard]] void* at() const { return area.address(kAround); }
  [[nodiscard]] Bytes middle() const { return {before.begin() + kAround, before.end() - kAround}; }
  /// The first bytes of the middle have changed, and no other bytes.
  void check(const Bytes& data, const char* words) const {
    Bytes want = before;
    std::copy(data.begin(), data.end(), want.begin() + kAround);
    same(area.get(want.size()), want, words, kind);
  }
};

void check_count(const MPI_Status& status, size_t bytes) {
  int count = -1;
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, bytes);
}

/// A way to call data access: all call with explicit offset, or at a pointer set to the offset.
struct Form {
  const char* words;
  void (*write)(MPI_Offset at, void* from, int count, MPI_Datatype type, MPI_Status* status);
  void (*read)(MPI_Offset at, void* to, int count, MPI_Datatype type, MPI_Status* status);
};

#define STARTED(call)               \
  do {                              \
    MPI_Request request;            \
    OK(call);                       \
    OK(MPI_Wait(&request, status)); \
  } while (0)
#define FORM_ARGUMENTS MPI_Offset at, void *memory, int count, MPI_Datatype type, MPI_Status *status
#define AT_FORM(way)                                                                             \
  {                                                                                              \
    "MPI_File_" #way,                                                                            \
        [](FORM_ARGUMENTS) { OK(MPI_File_write_##way(file, at, memory, count, type, status)); }, \
        [](FORM_ARGUMENTS) { OK(MPI_File_read_##way(file, at, memory, count, type, status)); }   \
  }
#define SEEK OK(MPI_File_seek(file, at, MPI_SEEK_SET))

const Form kForms[] = {
    AT_FORM(at),
    AT_FORM(at_all),
    {"iat",
     [](FORM_ARGUMENTS) { STARTED(MPI_File_iwrite_at(file, at, memory, count, type, &request)); },
     [](FORM_ARGUMENTS) { STARTED(MPI_File_iread_at(file, at, memory, count, type, &request)); }},
    {"iat_all",
     [](FORM_ARGUMENTS) {
       STARTED(MPI_File_iwrite_at_all(file, at, memory, count, type, &request));
     },
     [](FORM_ARGUMENTS) {
       STARTED(MPI_File_iread_at_all(file, at, memory, count, type, &request));
     }},
    {"at_all_begin",
     [](FORM_ARGUMENTS) {
       OK(MPI_File_write_at_all_begin(file, at, memory, count, type));
       OK(MPI_File_write_at_all_end(file, memory, status));
     },
     [](FORM_ARGUMENTS) {
       OK(MPI_File_read_at_all_begin(file, at, memory, count, type));
       OK(MPI_File_read_at_all_end(file, memory, status));
     }},
    {"individual",
     [](FORM_ARGUMENTS) {
       SEEK;
       OK(MPI_File_write(file, memory, count, type, status));
     },
     [](FORM_ARGUMENTS) {
       SEEK;
       OK(MPI_File_read(file, memory, count, type, status));
     }},
    {"all",
     [](FORM_ARGUMENTS) {
       SEEK;
       OK(MPI_File_write_all(file, memory, count, type, status));
     },
     [](FORM_ARGUMENTS) {
       SEEK;
       OK(MPI_File_read_all(file, memory, count, type, status));
     }},
    {"i",
     [](FORM_ARGUMENTS) {
       SEEK;
       STARTED(MPI_File_iwrite(file, memory, count, type, &request));
     },
     [](FORM_ARGUMENTS) {
       SEEK;
       STARTED(MPI_File_iread(file, memory, count, type, &request));
     }},
    {"iall",
     [](FORM_ARGUMENTS) {
       SEEK;
       STARTED(MPI_File_iwrite_all(file, memory, count, type, &request));
     },
     [](FORM_ARGUMENTS) {
       SEEK;
       STARTED(MPI_File_iread_all(file, memory, count, type, &request));
     }},
    {"all_begin",
     [](FORM_ARGUMENTS) {
       SEEK;
       OK(MPI_File_write_all_begin(file, memory, count, type));
       OK(MPI_File_write_all_end(file, memory, status));
     },
     [](FORM_ARGUMENTS) {
       SEEK;
       OK(MPI_File_read_all_begin(file, memory, count, type));
       OK(MPI_File_read_all_end(file, memory, status));
     }},
};

/// Each rank has a part of the file of its own.
void one_form(const Form& form, Kind kind, size_t bytes) {
  const size_t part = bytes + 100, at = static_cast<size_t>(rank) * part;
  const int count = static_cast<int>(bytes);
  MPI_Status status;
  const Buffer from(kind, bytes, static_cast<unsigned>(rank));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  form.write(static_cast<MPI_Offset>(at), from.at(), count, MPI_BYTE, &status);
  check_count(status, bytes);
  from.check({}, form.words);
  same(in_file(at, bytes), from.middle(), form.words, kind);
  const Buffer to(kind, bytes, 50);
  form.read(static_cast<MPI_Offset>(at), to.at(), count, MPI_BYTE, &status);
  check_count(status, bytes);
  to.check(from.middle(), form.words);
}

/// Data of 20 bytes in 32 in memory, and a view of `block` bytes in each rank's turn.
void holes(const Form& form, Kind kind, int rows, int block) {
  constexpr int kWidth = 20, kEvery = 32;
  const auto data = static_cast<size_t>(rows * kWidth), span = static_cast<size_t>(rows * kEvery);
  MPI_Datatype memory, bytes, tile;
  OK(MPI_Type_vector(rows, kWidth, kEvery, MPI_BYTE, &memory));
  OK(MPI_Type_contiguous(block, MPI_BYTE, &bytes));
  OK(MPI_Type_create_resized(bytes, 0, block * size, &tile));
  OK(MPI_Type_commit(&memory));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, block * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
  const Buffer from(kind, span, static_cast<unsigned>(rank + 9));
  const Bytes whole = from.middle();
  Bytes packed;
  for (int row = 0; row < rows; ++row)
    packed.insert(packed.end(), whole.begin() + row * kEvery,
                  whole.begin() + row * kEvery + kWidth);
  MPI_Status status;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  form.write(0, from.at(), 1, memory, &status);
  check_count(status, data);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const Bytes all = in_file(0, (data + static_cast<size_t>(block)) * static_cast<size_t>(size));
  Bytes mine;
  for (size_t i = 0; i < data; ++i) {
    const auto width = static_cast<size_t>(block);
    const size_t place =
        (i / width * static_cast<size_t>(size) + static_cast<size_t>(rank)) * width + i % width;
    CHECK(place < all.size());
    mine.push_back(all[place]);
  }
  same(mine, packed, form.words, kind);
  const Buffer to(kind, span, 33);
  Bytes want = to.middle();
  for (int row = 0; row < rows; ++row)
    std::copy(packed.begin() + row * kWidth, packed.begin() + (row + 1) * kWidth,
              want.begin() + row * kEvery);
  form.read(0, to.at(), 1, memory, &status);
  check_count(status, data);
  to.check(want, form.words);
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_Type_free(&memory));
  OK(MPI_Type_free(&bytes));
  OK(MPI_Type_free(&tile));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void shared_pointer(Kind kind) {
  constexpr int kBytes = 70000;
  const Buffer from(kind, kBytes, static_cast<unsigned>(rank + 3));
  MPI_Status status;
  for (int form = 0; form < 2; ++form) {
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    if (form == 0) {
      OK(MPI_File_write_ordered(file, from.at(), kBytes, MPI_BYTE, &status));
    } else {
      OK(MPI_File_write_ordered_begin(file, from.at(), kBytes, MPI_BYTE));
      OK(MPI_File_write_ordered_end(file, from.at(), &status));
    }
    check_count(status, kBytes);
    same(in_file(static_cast<size_t>(rank) * kBytes, kBytes), from.middle(), "ordered", kind);
    const Buffer to(kind, kBytes, 3);
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    OK(MPI_File_read_ordered(file, to.at(), kBytes, MPI_BYTE, &status));
    check_count(status, kBytes);
    to.check(from.middle(), "ordered");
  }
  // All ranks write equal data, because the order is open.
  const Buffer equal(kind, kBytes, 88), got(kind, kBytes, 89);
  OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  MPI_Request request;
  OK(MPI_File_write_shared(file, equal.at(), kBytes, MPI_BYTE, &status));
  check_count(status, kBytes);
  OK(MPI_File_iwrite_shared(file, equal.at(), kBytes, MPI_BYTE, &request));
  OK(MPI_Wait(&request, &status));
  check_count(status, kBytes);
  OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  OK(MPI_File_read_shared(file, got.at(), kBytes, MPI_BYTE, &status));
  check_count(status, kBytes);
  got.check(equal.middle(), "shared");
  const Buffer next(kind, kBytes, 90);
  OK(MPI_File_iread_shared(file, next.at(), kBytes, MPI_BYTE, &request));
  OK(MPI_Wait(&request, &status));
  check_count(status, kBytes);
  next.check(equal.middle(), "shared");
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

/// A read that crosses the end of the file, and one behind the end.
void end_of_file(Kind kind) {
  for (const size_t bytes : {size_t{1000}, size_t{3000001}}) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_set_size(file, 0));
    const Buffer from(kind, bytes, 4);
    MPI_Status status;
    OK(MPI_File_write_at_all(file, 0, from.at(), static_cast<int>(bytes), MPI_BYTE, &status));
    for (const bool collective : {false, true})
      for (const size_t at : {bytes / 3, bytes + 10}) {
        const Buffer to(kind, bytes, 5);
        const auto offset = static_cast<MPI_Offset>(at);
        if (collective)
          OK(MPI_File_read_at_all(file, offset, to.at(), static_cast<int>(bytes), MPI_BYTE,
                                  &status));
        else
          OK(MPI_File_read_at(file, offset, to.at(), static_cast<int>(bytes), MPI_BYTE, &status));
        const size_t left = at < bytes ? bytes - at : 0;
        check_count(status, left);
        const Bytes all = from.middle();
        to.check(Bytes(all.end() - static_cast<long>(left), all.end()), "the end of the file");
        MPI_Request request;
        const Buffer late(kind, bytes, 6);
        OK(MPI_File_iread_at(file, offset, late.at(), static_cast<int>(bytes), MPI_BYTE, &request));
        OK(MPI_Wait(&request, &status));
        check_count(status, left);
        late.check(Bytes(all.end() - static_cast<long>(left), all.end()), "the end of the file");
      }
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

void several_in_flight(Kind kind) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  constexpr int kCalls = 6;
  constexpr size_t kBytes = 700001;
  std::vector<Buffer> from, to;
  std::vector<MPI_Request> requests(kCalls);
  std::vector<MPI_Status> statuses(kCalls);
  for (int i = 0; i < kCalls; ++i) from.emplace_back(kind, kBytes, static_cast<unsigned>(i));
  const auto place = [](int i) { return static_cast<MPI_Offset>(kBytes) * (rank * kCalls + i); };
  for (int i = 0; i < kCalls; ++i)
    OK(MPI_File_iwrite_at(file, place(i), from[static_cast<size_t>(i)].at(), kBytes, MPI_BYTE,
                          &requests[static_cast<size_t>(i)]));
  OK(MPI_Waitall(kCalls, requests.data(), statuses.data()));
  for (const MPI_Status& status : statuses) check_count(status, kBytes);
  for (int i = 0; i < kCalls; ++i) to.emplace_back(kind, kBytes, static_cast<unsigned>(i + 20));
  for (int i = 0; i < kCalls; ++i)
    OK(MPI_File_iread_at(file, place(i), to[static_cast<size_t>(i)].at(), kBytes, MPI_BYTE,
                         &requests[static_cast<size_t>(i)]));
  for (int i = kCalls - 1; i >= 0; --i)
    OK(MPI_Wait(&requests[static_cast<size_t>(i)], &statuses[0]));
  for (size_t i = 0; i < kCalls; ++i) to[i].check(from[i].middle(), "several in flight");
  // Collective transfers together, and freed requests.
  for (int i = 0; i < 3; ++i)
    OK(MPI_File_iwrite_at_all(file, place(i), from[static_cast<size_t>(kCalls - 1 - i)].at(),
                              kBytes, MPI_BYTE, &requests[static_cast<size_t>(i)]));
  OK(MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE));
  for (int i = 0; i < 3; ++i)
    same(in_file(static_cast<size_t>(place(i)), kBytes),
         from[static_cast<size_t>(kCalls - 1 - i)].middle(), "collective transfers in flight",
         kind);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void external32(Kind kind) {
  constexpr int kInts = 90001;
  std::vector<int> data(kInts);
  for (int i = 0; i < kInts; ++i) data[static_cast<size_t>(i)] = i * 7 + rank;
  const Area from(kind, sizeof(int) * kInts), to(kind, sizeof(int) * kInts);
  from.put(data.data(), sizeof(int) * kInts);
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  for (int form = 0; form < 3; ++form) {
    const MPI_Offset at = static_cast<MPI_Offset>(kInts) * rank;
    MPI_Request request;
    const std::vector<int> zeros(kInts);
    to.put(zeros.data(), sizeof(int) * kInts);
    if (form == 0) {
      OK(MPI_File_write_at(file, at, from.address(), kInts, MPI_INT, MPI_STATUS_IGNORE));
      OK(MPI_File_read_at(file, at, to.address(), kInts, MPI_INT, MPI_STATUS_IGNORE));
    } else if (form == 1) {
      OK(MPI_File_iwrite_at(file, at, from.address(), kInts, MPI_INT, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(MPI_File_iread_at(file, at, to.address(), kInts, MPI_INT, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_File_write_at_all(file, at, from.address(), kInts, MPI_INT, MPI_STATUS_IGNORE));
      OK(MPI_File_read_at_all(file, at, to.address(), kInts, MPI_INT, MPI_STATUS_IGNORE));
    }
    const Bytes raw_bytes = in_file(static_cast<size_t>(at) * 4 + 4, 4);
    CHECK_EQ((raw_bytes[0] << 24) | (raw_bytes[1] << 16) | (raw_bytes[2] << 8) | raw_bytes[3],
             data[1]);
    std::vector<int> got(kInts);
    to.get(got.data(), sizeof(int) * kInts);
    CHECK(got == data);
  }
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

/// Ranks with memory of different kinds in one collective call; a rank without data.
void different_kinds() {
  const Form& all = kForms[1];
  for (int turn = 0; turn < 3; ++turn) {
    const Kind kind = kKinds[static_cast<size_t>(rank + turn) % std::size(kKinds)];
    one_form(all, kind, 200001);
    holes(all, kind, 800, 64);
    const int count = rank == turn % size ? 0 : 100000;
    const Buffer from(kind, 100000, 7);
    MPI_Status status;
    OK(MPI_File_write_at_all(file, 100000 * rank, from.at(), count, MPI_BYTE, &status));
    check_count(status, static_cast<size_t>(count));
    OK(MPI_File_write_at_all(file, 0, nullptr, 0, MPI_BYTE, &status));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

/// The address of host memory that is device memory afterwards, and memory freed at once.
void reused() {
  constexpr size_t kBytes = 300000;
  for (int turn = 0; turn < 6; ++turn) {
    const Kind kind = turn % 2 == 0 ? Kind::kPinned : Kind::kManaged;
    const Buffer from(kind, kBytes, static_cast<unsigned>(turn));
    const Bytes want = from.middle();
    MPI_Request request;
    auto* const moving = new Buffer(turn % 3 == 0 ? Kind::kHost : Kind::kDevice, kBytes, 70);
    moving->area.put(want, kAround);
    OK(MPI_File_iwrite_at(file, static_cast<MPI_Offset>(kBytes) * rank, moving->at(), kBytes,
                          MPI_BYTE, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    delete moving;
    same(in_file(kBytes * static_cast<size_t>(rank), kBytes), want, "memory freed after the end",
         kind);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void atomic_mode(Kind kind) {
  constexpr size_t kBytes = 150000;
  OK(MPI_File_set_atomicity(file, 1));
  const Buffer from(kind, kBytes, 4);
  MPI_Request request;
  OK(MPI_File_write_at(file, 0, from.at(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_iwrite_at(file, 0, from.at(), kBytes, MPI_BYTE, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_File_iwrite_at_all(file, 0, from.at(), kBytes, MPI_BYTE, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  const Buffer to(kind, kBytes, 8);
  OK(MPI_File_read_at_all(file, 0, to.at(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  to.check(from.middle(), "atomic mode");
  OK(MPI_File_set_atomicity(file, 0));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  open_file();
  for (const Kind kind : kKinds) {
    for (const Form& form : kForms) {
      for (const size_t bytes : {size_t{0}, size_t{1}, size_t{5000}, size_t{70001}})
        one_form(form, kind, bytes);
      holes(form, kind, 7, 16);
      holes(form, kind, 3000, 60);
    }
    shared_pointer(kind);
  }
  for (const Kind kind : {Kind::kDevice, Kind::kManaged, Kind::kPool}) {
    for (const size_t form : {0, 1, 2, 3, 4}) one_form(kForms[form], kind, 5000003);
    holes(kForms[0], kind, 80000, 40000);
    holes(kForms[2], kind, 80000, 40000);
    holes(kForms[3], kind, 40000, 40);
    end_of_file(kind);
    several_in_flight(kind);
    external32(kind);
    atomic_mode(kind);
  }
  different_kinds();
  reused();
  close_file();
  return end();
}

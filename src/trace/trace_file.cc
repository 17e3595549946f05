// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_file.hpp"

#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "mpi.h"
#include "trace/claim.hpp"

namespace tern::trace {
namespace {

bool write_all(int fd, iovec* parts, int count) noexcept {
  while (count > 0) {
    const ssize_t written = ::writev(fd, parts, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    auto left = static_cast<size_t>(written);
    for (; count > 0 && left >= parts->iov_len; ++parts, --count) left -= parts->iov_len;
    if (count == 0) break;
    parts->iov_base = static_cast<char*>(parts->iov_base) + left;
    parts->iov_len -= left;
  }
  return true;
}

}  // namespace

TraceFile::TraceFile(const std::string& path) {
  Claim claimed = claim(path, "trace");
  path_ = std::move(claimed.path);
  complaint_ = std::move(claimed.remark);
  fd_ = std::move(claimed.fd);
  [[maybe_unused]] const int cut = ::ftruncate(fd_.get(), 0);  // a pipe has no length
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  FileHead head{
      {}, kVersion, kByteOrder, sizeof(FileHead), int64_t{now.tv_sec} * 1000000000 + now.tv_nsec};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  iovec part{&head, sizeof head};
  if (!write_all(fd_.get(), &part, 1))
    throw Error(MPI_ERR_ARG,
                strf("cannot write the trace %s: %s", path_.c_str(), std::strerror(errno)));
  end_ = sizeof head;
}

void TraceFile::block(const BlockHead& head, const void* data, size_t bytes,
                      size_t padding) noexcept {
  static constexpr char kNewlines[] = "\n\n\n\n\n\n\n";
  if (!fd_.valid()) return;
  iovec parts[] = {{const_cast<BlockHead*>(&head), sizeof head},
                   {const_cast<void*>(data), bytes},
                   {const_cast<char*>(kNewlines), padding}};
  if (write_all(fd_.get(), parts, 3)) {
    end_ += static_cast<int64_t>(sizeof head + bytes + padding);
    return;
  }
  const int error = errno;
  if (::ftruncate(fd_.get(), end_) != 0) end_ = 0;  // a pipe
  fd_.reset();
  try {
    complaint_ = strf("cannot write the trace %s: %s. The trace ends here, and the job goes on",
                      path_.c_str(), std::strerror(error));
  } catch (const std::bad_alloc&) {
  }
}

void TraceFile::records(uint32_t process, uint32_t thread, uint64_t lost, const Record* records,
                        size_t count) noexcept {
  const size_t bytes = count * sizeof(Record);
  block({kBlockMagic, BlockKind::kRecords, 0, process, thread, bytes, lost}, records, bytes, 0);
}

void TraceFile::definitions(uint32_t process, std::string_view lines) noexcept {
  const size_t padding = -lines.size() % 8;
  block({kBlockMagic, BlockKind::kDefinitions, 0, process, 0, lines.size() + padding, 0},
        lines.data(), lines.size(), padding);
}

std::string TraceFile::take_complaint() noexcept { return std::exchange(complaint_, {}); }

}  // namespace tern::trace

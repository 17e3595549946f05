// SPDX-License-Identifier: Apache-2.0
// OfferedFile and open_offered: by /proc, else by a keeper.
#include "base/shared_file.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/digest.hpp"
#include "base/ended.hpp"
#include "base/error.hpp"
#include "base/keeper.hpp"
#include "base/process_file.hpp"
#include "base/process_id.hpp"
#include "mpi.h"

namespace tern {
namespace {

struct Keepers {
  std::mutex mutex;
  std::shared_ptr<const MailSocket> launchers;
  std::weak_ptr<KeeperThread> own;
};

Keepers& keepers() {
  static Keepers& all = *new Keepers;  // never destroyed
  return all;
}

std::atomic<bool> found_closed{false};

std::shared_ptr<const MailSocket> launchers_keeper() {
  const std::lock_guard<std::mutex> guard(keepers().mutex);
  return keepers().launchers;
}

std::shared_ptr<KeeperThread> own_keeper() {
  const std::lock_guard<std::mutex> guard(keepers().mutex);
  std::shared_ptr<KeeperThread> thread = keepers().own.lock();
  if (thread == nullptr) keepers().own = thread = KeeperThread::start();
  return thread;
}

uint64_t number_of(const FileOffer& offer) noexcept {
  return digest_text({reinterpret_cast<const char*>(&offer), offsetof(FileOffer, keeper)});
}

// The kernel's automatic names are a zero byte and five digits.
uint32_t number_of(const Address& address) noexcept {
  unsigned number = 0;
  const size_t before = offsetof(sockaddr_un, sun_path) + 1;
  const std::string digits(address.name.sun_path + 1,
                           address.length > before ? address.length - before : 0);
  return std::sscanf(digits.c_str(), "%x", &number) == 1 ? number + 1 : 0;
}

Address address_of(uint32_t keeper) noexcept {
  Address address;
  address.name.sun_family = AF_UNIX;
  const int digits = std::snprintf(address.name.sun_path + 1, sizeof address.name.sun_path - 1,
                                   "%05x", keeper - 1);
  address.length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path)) + 1 + static_cast<socklen_t>(digits);
  return address;
}

bool is_that_file(const Fd& fd, uint64_t inode) noexcept {
  struct stat found {};
  return ::fstat(fd.get(), &found) == 0 && found.st_ino == inode;
}

// Peers outside the initial user namespace usually have other namespaces.
bool is_closed_here() noexcept {
  static const bool has_namespace = [] {
    constexpr std::string_view kFirst = "user:[4026531837]";  // PROC_USER_INIT_INO of the kernel
    char space[64];
    const ssize_t bytes = ::readlink("/proc/self/ns/user", space, sizeof space);
    return bytes >= 0 && std::string_view(space, static_cast<size_t>(bytes)) != kFirst;
  }();
  return has_namespace || ::prctl(PR_GET_DUMPABLE) != 1 || !has_own_proc();
}

FoundFile ask_keeper(const FileOffer& offer, FoundFile failed) {
  const auto launchers = launchers_keeper();
  std::string why;
  const char* const name = offer.keeper == 0 ? "mpirun" : "the owner's socket";
  if (offer.keeper == 0 && launchers == nullptr) {
    failed.why += "; no mpirun of Tern keeps the file";
    return failed;
  }
  std::vector<Fd> found = offer.keeper == 0 ? ask(*launchers, {}, number_of(offer), &why)
                                            : ask(MailSocket(Address{}), address_of(offer.keeper),
                                                  number_of(offer), &why);
  if (!found.empty() && !is_that_file(found.front(), offer.inode)) {
    found.clear();
    why = "the inode differs";
  }
  failed.descriptors = std::move(found);
  failed.why += strf("; by %s: %s", name, why.c_str());
  return failed;
}

}  // namespace

bool FileOffer::is_numbered_here() const noexcept { return domain == proc_domain(); }

bool FileOffer::is_own_process() const noexcept { return pid_here() == ::getpid(); }

bool needs_keeper() noexcept {
  return found_closed.load(std::memory_order_relaxed) || is_closed_here();
}

OfferedFile::OfferedFile(const Fd& file, Keep keep, int beside) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    throw Error(MPI_ERR_INTERN,
                strf("cannot read the inode of a shared file: %s", std::strerror(errno)));
  offer_ = {::getpid(), file.get(), status.st_ino, proc_domain(), 0};
  if (keep == Keep::kNo && !needs_keeper()) return;
  const uint64_t number = number_of(offer_);
  if (const auto launchers = launchers_keeper(); launchers != nullptr) {
    kept_ = beside < 0 ? keep_at(*launchers, {}, number, {file.get()})
                       : keep_at(*launchers, {}, number, {file.get(), beside});
  } else if (needs_keeper()) {
    thread_ = own_keeper();
    if (thread_ == nullptr) return;
    std::vector<Fd> all;
    for (const int one : {file.get(), beside})
      if (one >= 0) all.emplace_back(::fcntl(one, F_DUPFD_CLOEXEC, 0));
    thread_->keeper().keep(number, std::move(all));
    offer_.keeper = number_of(thread_->keeper().address());
    kept_ = true;
  }
}

OfferedFile::OfferedFile(OfferedFile&& other) noexcept { *this = std::move(other); }

OfferedFile& OfferedFile::operator=(OfferedFile&& other) noexcept {
  if (this == &other) return *this;
  reset();
  offer_ = other.offer_;
  kept_ = std::exchange(other.kept_, false);
  thread_ = std::move(other.thread_);
  return *this;
}

OfferedFile::~OfferedFile() { reset(); }

void OfferedFile::reset() noexcept {
  if (!std::exchange(kept_, false)) return;
  const uint64_t number = number_of(offer_);
  if (thread_ != nullptr)
    thread_->keeper().drop(number);
  else if (const auto launchers = launchers_keeper(); launchers != nullptr)
    drop_at(*launchers, {}, number);
  thread_.reset();
}

FoundFile open_offered(const FileOffer& offer, int flags) {
  FoundFile found;
  if (offer.is_numbered_here()) {
    Fd fd = open_of_process(offer.pid, offer.fd, flags);
    found.error = errno;
    const bool is_valid = fd.valid();
    if (is_valid && is_that_file(fd, offer.inode)) {
      found.descriptors.push_back(std::move(fd));
      return found;
    }
    found.why = strf("/proc/%d/fd/%d: %s", offer.pid, offer.fd,
                     is_valid ? "another file" : std::strerror(found.error));
    const bool is_closed = !is_valid && (found.error == EACCES || found.error == EPERM);
    if (!is_closed || has_ended(offer.pid)) return found;
  } else {
    found.error = ESRCH;
    found.why = strf("pid %d is of another PID namespace", offer.pid);
  }
  found_closed.store(true, std::memory_order_relaxed);
  return ask_keeper(offer, std::move(found));
}

void set_launchers_keeper(int socket) noexcept {
  try {
    auto made = socket < 0
                    ? nullptr
                    : std::make_shared<const MailSocket>(Fd(::fcntl(socket, F_DUPFD_CLOEXEC, 0)));
    if (made != nullptr && !made->valid()) made = nullptr;
    const std::lock_guard<std::mutex> guard(keepers().mutex);
    keepers().launchers = std::move(made);
  } catch (const std::bad_alloc&) {
    // only /proc remains
  }
}

int keeper_threads() noexcept {
  const std::lock_guard<std::mutex> guard(keepers().mutex);
  return keepers().own.expired() ? 0 : 1;
}

}  // namespace tern

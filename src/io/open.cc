// SPDX-License-Identifier: Apache-2.0
#include "io/open.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "coll/objects.hpp"
#include "io/direct_storage.hpp"
#include "io/say_once.hpp"
#include "io/stripes.hpp"
#include "pml/pml.hpp"

namespace tern::io {
namespace {

constexpr const char* kServes = "MPI_File_open";
constexpr int64_t kMostAwaitNs = 5'000'000'000;

/// Facts of one rank, exchanged twice.
struct OpenCard {
  int32_t code = 0, amode = 0;
  uint32_t slab = 0, is_local_file = 0;
  uint64_t device = 0, inode = 0;
  Stripes stripes;
  char host[64] = {};
  char text[192] = {};

  void set_error(const Failure& failure) noexcept {
    code = failure.code;
    text[failure.text.copy(text, sizeof text - 1)] = '\0';
  }
};

/// The text of rank 0.
int bcast(core::Communicator& among, std::string* text) {
  uint64_t length = text->size();
  if (const int code = coll::bcast(among, &length, sizeof length, kServes);
      code != MPI_SUCCESS || length == 0)
    return code;
  text->resize(length);
  return coll::bcast(among, text->data(), length, kServes);
}

Failure check_amode(int amode) noexcept {
  constexpr int kKnown = MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE |
                         MPI_MODE_EXCL | MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL |
                         MPI_MODE_UNIQUE_OPEN | MPI_MODE_WRONLY;
  constexpr int kAccess = MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY;
  if ((amode & ~kKnown) != 0)
    return failure(MPI_ERR_AMODE, "amode is %d, which has the unknown bits %d", amode,
                   amode & ~kKnown);
  if (std::popcount(static_cast<unsigned>(amode & kAccess)) != 1)
    return failure(
        MPI_ERR_AMODE,
        "amode is %d, but must contain exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and "
        "MPI_MODE_WRONLY",
        amode);
  if ((amode & MPI_MODE_RDONLY) != 0 && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0)
    return failure(MPI_ERR_AMODE,
                   "amode combines MPI_MODE_RDONLY with MPI_MODE_CREATE or MPI_MODE_EXCL; use "
                   "MPI_MODE_RDWR or MPI_MODE_WRONLY to create a file");
  if ((amode & MPI_MODE_RDWR) != 0 && (amode & MPI_MODE_SEQUENTIAL) != 0)
    return failure(MPI_ERR_AMODE, "amode combines MPI_MODE_RDWR with MPI_MODE_SEQUENTIAL");
  return {};
}

/// Cuts the prefix of a file system ("ufs:"), as ROMIO accepts, unless a file has the whole name.
const char* without_prefix(const char* name) noexcept {
  constexpr const char* kPrefixes[] = {"ufs:",   "nfs:",    "lustre:", "gpfs:", "panfs:",  "xfs:",
                                       "pvfs2:", "testfs:", "ime:",    "daos:", "quobyte:"};
  struct stat facts {};
  for (const char* prefix : kPrefixes) {
    const size_t length = std::strlen(prefix);
    if (std::strncmp(name, prefix, length) != 0) continue;
    return ::stat(name, &facts) == 0 ? name : name + length;
  }
  return name;
}

class Opening {
 public:
  Opening(core::Communicator& parent, const char* name, int amode, const core::Info* info)
      : parent_(parent),
        name_(without_prefix(name)),
        amode_(amode),
        info_(info),
        hints_(parent.process().params) {}

  int run(core::Ref<File>* made) {
    int code = exchange();
    if (code != MPI_SUCCESS) return code;
    derive();
    if (code = share_hints(); code != MPI_SUCCESS) return give_up(code);
    if ((amode_ & MPI_MODE_CREATE) != 0) code = create();
    if (code == MPI_SUCCESS) code = open_all();
    if (code == MPI_SUCCESS) code = connect();
    if (code != MPI_SUCCESS) return give_up(code);
    const auto hosts = static_cast<int>(hosts_.count());
    FileSystem system = find_system(raw_.fd(), hosts, parent_.process().params.io_system);
    const Stripes stripes = use_stripes();
    system.stripe = stripes.bytes;
    raw_.set_system(system);
    choose_aggregators(stripes);
    meeting_->set_hosts(std::move(hosts_));
    open_direct();
    if (hints_.advice() != POSIX_FADV_NORMAL) raw_.advise(hints_.advice());
    hints_.use(Hint::kVisibilityImmediate, hosts == 1 || raw_.system().is_local ? 1 : 0);
    explain();
    *made = core::Ref<File>::adopt(
        new File(*own_, amode_, std::move(meeting_), std::move(raw_), hints_));
    return (amode_ & MPI_MODE_APPEND) == 0 ? MPI_SUCCESS : (*made)->append();
  }

 private:
  int give_up(int code) noexcept {
    const LastError error = take_last_error();
    free();
    return fail(code, "%s", error.text.c_str());
  }

  /// Rank 0 reads the files of hints. For keys with equal values on all ranks, the values of rank 0
  /// count.
  int share_hints() {
    const auto share = [&](std::string text) {
      if (const int code = bcast(*own_, &text); code != MPI_SUCCESS) return code;
      hints_.take_text(text);
      return static_cast<int>(MPI_SUCCESS);
    };
    const bool first = own_->rank() == 0;
    int code = share(first ? Hints::read_file(parent_.process().params) : std::string());
    if (info_ != nullptr) hints_.set(*info_, Hints::When::kOpen);
    if (code == MPI_SUCCESS) code = share(first ? hints_.common_text() : std::string());
    return code;
  }

  /// On the user's communicator, where refused arguments of other ranks are reported.
  int exchange() {
    OpenCard mine;
    mine.set_error(check_amode(amode_));
    mine.amode = amode_;
    if (const int code = coll::allgather(parent_, mine, &cards_, kServes); code != MPI_SUCCESS)
      return code;
    if (const int code = first_error(); code != MPI_SUCCESS) return code;
    for (size_t rank = 0; rank < cards_.size(); ++rank)
      if (cards_[rank].amode != cards_[0].amode)
        return fail(MPI_ERR_NOT_SAME,
                    "amode is %d on rank 0, but %d on rank %zu; all ranks pass the same amode",
                    cards_[0].amode, cards_[rank].amode, rank);
    return MPI_SUCCESS;
  }

  void derive() {
    const auto id =
        core::derive_context(parent_.id(), core::Derivation::kFile, parent_.next_derivation(), 0);
    auto own = core::derive_communicator(parent_, core::Ref<core::Group>(&parent_.group()), id);
    own->error_handler = {};
    own->channel().pml->add_context(*own);
    own->ending = [](core::Communicator& ended) noexcept {
      ended.channel().pml->remove_context(ended);
    };
    own_ = own.leak();
    const core::ChannelLock lock(own_->channel().progress);
    meeting_ = std::make_unique<Meeting>(*own_);
  }

  void free() noexcept {
    own_->channel().coll->refusals().freeing(*own_);
    const core::ChannelLock lock(own_->channel().progress);
    meeting_.reset();
    own_->free();
  }

  int first_error() const noexcept {
    const OpenCard& own = cards_[static_cast<size_t>(parent_.rank())];
    if (own.code != 0) return fail(own.code, "%s", own.text);
    for (const OpenCard& card : cards_)
      if (card.code != 0) return fail(card.code, "%s", card.text);
    return MPI_SUCCESS;
  }

  /// Rank 0 alone creates the file, because exactly one rank may find the file missing.
  int create() {
    OpenCard card;
    const int exclusive = (amode_ & MPI_MODE_EXCL) != 0 ? O_EXCL : 0;
    if (own_->rank() == 0) card.set_error(open_here(O_CREAT | exclusive));
    if (const int code = coll::bcast(*own_, &card, sizeof card, kServes); code != MPI_SUCCESS)
      return code;
    return card.code == 0 ? MPI_SUCCESS : fail(card.code, "%s", card.text);
  }

  [[nodiscard]] Failure failed(const char* verb, int error) const noexcept {
    return failure(class_of_errno(error), "rank %d cannot %s %s: %s", parent_.rank(), verb,
                   name_.c_str(), std::strerror(error));
  }

  [[nodiscard]] Failure open_here(int flags) {
    if (name_.empty()) return failure(MPI_ERR_BAD_FILE, "filename is empty");
    struct stat facts {};
    if (::stat(name_.c_str(), &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode)))
      return failure(MPI_ERR_UNSUPPORTED_OPERATION,
                     "%s is a pipe or socket, which has no file offsets", name_.c_str());
    // Mappings need the right to read.
    const bool reads = (amode_ & MPI_MODE_RDONLY) != 0;
    flags |= O_CLOEXEC | (reads ? O_RDONLY : O_RDWR);
    const mode_t mode = hints_.file_perm().value_or(0666);
    int fd = open_again(flags, mode);
    if (fd < 0 && (amode_ & MPI_MODE_CREATE) != 0 && (flags & O_CREAT) == 0)
      fd = await_created(flags, mode);
    if (fd < 0 && errno == ETIMEDOUT)
      return failure(
          MPI_ERR_NO_SUCH_FILE,
          "rank %d does not find %s, %lld s after rank 0 has created the file; all hosts "
          "must share the folder",
          parent_.rank(), name_.c_str(), static_cast<long long>(kMostAwaitNs / 1'000'000'000));
    if (fd < 0 && errno == EACCES && (amode_ & MPI_MODE_WRONLY) != 0)
      fd = open_again((flags & ~O_ACCMODE) | O_WRONLY, mode);
    if (fd < 0) return failed("open", errno);
    raw_ = RawFile(Fd(fd), name_, own_->rank());
    if (::fstat(fd, &facts) != 0) return failed("find the size of", errno);
    if (S_ISDIR(facts.st_mode)) return failed("open", EISDIR);
    device_ = facts.st_dev;
    inode_ = facts.st_ino;
    is_regular_ = S_ISREG(facts.st_mode);
    return {};
  }

  [[nodiscard]] int open_again(int flags, mode_t mode) const noexcept {
    int fd = -1;
    do fd = ::open(name_.c_str(), flags, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
  }

  [[nodiscard]] Fd open_folder() const {
    const size_t slash = name_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : name_.substr(0, slash + 1);
    return Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

  /// Clients of network file systems remember for a while that the file was missing. Opening the
  /// folder makes a client ask the server. Sets errno, at the end of the time to ETIMEDOUT.
  [[nodiscard]] int await_created(int flags, mode_t mode) const {
    constexpr int64_t kFirstPauseUs = 1000, kMostPauseUs = 100'000;
    const int64_t start = now_ns();
    int error = errno, fd = -1;
    for (int64_t pause = kFirstPauseUs; fd < 0 && (error == ENOENT || error == ESTALE);
         pause = std::min(2 * pause, kMostPauseUs)) {
      const Fd folder = open_folder();
      if (find_system(folder.get(), 1, parent_.process().params.io_system).is_local) break;
      if (now_ns() - start > kMostAwaitNs) error = ETIMEDOUT;
      if (error == ETIMEDOUT) break;
      ::usleep(static_cast<useconds_t>(pause));
      fd = open_again(flags, mode);
      error = errno;
    }
    errno = error;
    return fd;
  }

  int open_all() {
    OpenCard mine;
    if (raw_.fd() < 0) mine.set_error(open_here(0));
    mine.slab = meeting_->slab();
    (void)::gethostname(mine.host, sizeof mine.host - 1);
    mine.device = device_;
    mine.inode = inode_;
    const FileSystem system = find_system(raw_.fd(), 1);
    mine.is_local_file = is_regular_ && system.is_local ? 1 : 0;
    if (!system.is_local && own_->rank() == 0) mine.stripes = find_stripes(raw_.fd(), system.block);
    if (const int code = coll::allgather(*own_, mine, &cards_, kServes); code != MPI_SUCCESS)
      return code;
    if (const int code = first_error(); code != MPI_SUCCESS) return code;
    return compare_files();
  }

  /// Hosts see different files of a local file system.
  int compare_files() {
    for (size_t rank = 1; rank < cards_.size(); ++rank) {
      if (!cards_[0].is_local_file || !cards_[rank].is_local_file ||
          cards_[rank].inode == cards_[0].inode)
        continue;
      return fail(
          MPI_ERR_NOT_SAME,
          "%s is inode %llu on rank 0 (%s), but inode %llu on rank %zu (%s); open a file of "
          "a file system that these hosts share",
          name_.c_str(), static_cast<unsigned long long>(cards_[0].inode), cards_[0].host,
          static_cast<unsigned long long>(cards_[rank].inode), rank, cards_[rank].host);
    }
    return MPI_SUCCESS;
  }

  /// Mappings end: the kernel keeps a page that is changed through a mapping during a direct write.
  void open_direct() {
    const Params& params = parent_.process().params;
    const bool asks = params.io_direct_storage != 0;
    if (asks) raw_.set_storage(std::make_shared<DirectStorage>(name_));
    if (!hints_.direct() && !(asks && DirectStorage::may_exist(params))) return;
    const int error = is_regular_ ? raw_.direct().open(raw_.fd(), name_) : EINVAL;
    if (error != 0) {
      if (hints_.direct())
        say_once(strf("the hint direct_io of %s has no effect: %s refuses O_DIRECT (%s)",
                      name_.c_str(), raw_.system().name, std::strerror(error)));
      hints_.use(Hint::kDirectIo, 0);
      return;
    }
    if (hints_.direct()) raw_.direct().serve();
    FileSystem system = raw_.system();
    system.maps = false;
    raw_.set_system(system);
  }

  void explain() const {
    const core::Process& process = parent_.process();
    if (!process.explain.on()) return;
    const size_t hosts = meeting_->hosts().count();
    process.explain.say("file",
                        {{"file", name_},
                         {"system", raw_.system().name},
                         {"ranks", static_cast<unsigned long long>(own_->size())},
                         {"hosts", static_cast<unsigned long long>(hosts)}},
                        strf("%s is on %s, opened by %d ranks on %zu hosts; small blocks are "
                             "written %s%s",
                             name_.c_str(), raw_.system().name, own_->size(), hosts,
                             raw_.system().maps ? "through a mapping of the file"
                                                : "with a system call for each block",
                             raw_.direct().serves() ? "; whole blocks of the file system bypass "
                                                      "the page cache"
                                                    : ""));
  }

  int connect() {
    std::vector<uint32_t> slabs;
    for (const OpenCard& card : cards_) slabs.push_back(card.slab);
    int leader = 0;
    {
      const core::ChannelLock lock(own_->channel().progress);
      leader = meeting_->connect(slabs);
    }
    std::vector<int> leaders(slabs.size(), 0);
    bool one_host = true;
    for (int rank = 0; rank < own_->size(); ++rank)
      one_host = one_host && meeting_->board(rank) != nullptr;
    if (!one_host)
      if (const int code = coll::allgather(*own_, leader, &leaders, kServes); code != MPI_SUCCESS)
        return code;
    hosts_ = Hosts(leaders, own_->rank());
    return MPI_SUCCESS;
  }

  /// On one host without storage targets all ranks write, unless a hint names a number.
  void choose_aggregators(const Stripes& stripes) {
    constexpr int64_t kPerHostWithTargets = 4;
    int64_t per_host = hints_.aggregators_per_host();
    if (!hints_.given(Hint::kCbConfigList) && hosts_.count() == 1) per_host = 0;
    if (!hints_.given(Hint::kCbConfigList) && stripes.count > 0) per_host = kPerHostWithTargets;
    const int64_t room = StageShape::most_domains(hints_.buffer() * hosts_.fewest());
    const int64_t asked = hints_.cb_nodes();
    hosts_.choose(per_host, asked == 0 ? room : std::min(asked, room));
    const auto chosen = static_cast<int64_t>(hosts_.aggregators().size());
    if (asked == 0) hosts_.choose(per_host, fitting_aggregators(stripes.count, chosen));
    hints_.use(Hint::kCbNodes, static_cast<int64_t>(hosts_.aggregators().size()));
  }

  /// The stripes that rank 0 has found, or those of a hint.
  Stripes use_stripes() {
    Stripes stripes = cards_[0].stripes;
    if (stripes.count == 0 && hints_.striping_unit() > 0)
      stripes = {hints_.striping_unit(), hints_.striping_factor()};
    if (stripes.count > 0) {
      hints_.use(Hint::kStripingUnit, stripes.bytes);
      hints_.use(Hint::kStripingFactor, stripes.count);
    }
    return stripes;
  }

  core::Communicator& parent_;
  const std::string name_;
  const int amode_;
  const core::Info* const info_;
  Hints hints_;
  core::Communicator* own_ = nullptr;
  std::unique_ptr<Meeting> meeting_;
  std::vector<OpenCard> cards_;
  Hosts hosts_;
  RawFile raw_;
  uint64_t device_ = 0, inode_ = 0;
  bool is_regular_ = false;
};

}  // namespace

int open(core::Communicator& comm, const char* name, int amode, const core::Info* info,
         core::Ref<File>* made) {
  return Opening(comm, name, amode, info).run(made);
}

Failure remove(const char* name) noexcept {
  const char* const path = without_prefix(name);
  if (::unlink(path) == 0) return {};
  const int error = errno;
  return failure(class_of_errno(error), "cannot delete %s: %s", path, std::strerror(error));
}

}  // namespace tern::io

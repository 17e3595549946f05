// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/pmix_server.hpp"

#include <pmix_version.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "boot/pmix_library.hpp"
#include "mpi.h"
#include "tools/mpirun/pmix_clients.hpp"

namespace tern::mpirun {
namespace {

const boot::PmixLibrary& pmix() { return boot::pmix_library(); }

// State for upcalls, because libpmix passes no user pointer. The upcalls' thread outlives the
// server.
struct Upcalls {
  Loop* loop;
  boot::SharedJob* shared;
  int ranks;  // 0: the server is gone
  int event_fd;
};
Upcalls the_upcalls;
std::mutex the_upcalls_mutex;

void check(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  throw Error(MPI_ERR_OTHER,
              strf("the PMIx server of mpirun: %s failed: %s", what, pmix().Error_string(status)));
}

class Attributes {
 public:
  void text(const char* key, const std::string& value) {
    strings_.push_back(value);
    add(key, PMIX_STRING).data.string = strings_.back().data();
  }
  void number(const char* key, int value) {
    add(key, PMIX_UINT32).data.uint32 = static_cast<std::uint32_t>(value);
  }
  void number16(const char* key, int value) {
    add(key, PMIX_UINT16).data.uint16 = static_cast<std::uint16_t>(value);
  }
  void rank(const char* key, int value) {
    add(key, PMIX_PROC_RANK).data.rank = static_cast<pmix_rank_t>(value);
  }
  void coded(const char* key, char* code) {
    text(key, code);
    std::free(code);
  }
  Attributes& nested(const char* key) {
    children_.push_back(std::make_unique<Attributes>());
    nested_.push_back(infos_.size());
    add(key, PMIX_DATA_ARRAY);
    return *children_.back();
  }
  [[nodiscard]] pmix_info_t* data() {
    arrays_.clear();
    for (std::size_t i = 0; i < nested_.size(); ++i) {
      pmix_info_t* entries = children_[i]->data();
      arrays_.push_back({PMIX_INFO, children_[i]->size(), entries});
      infos_[nested_[i]].value.data.darray = &arrays_.back();
    }
    return infos_.data();
  }
  [[nodiscard]] std::size_t size() const noexcept { return infos_.size(); }

 private:
  pmix_value_t& add(const char* key, pmix_data_type_t type) {
    pmix_info_t& info = infos_.emplace_back();
    std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
    info.value.type = type;
    return info.value;
  }

  std::vector<pmix_info_t> infos_;
  std::deque<std::string> strings_;
  std::vector<std::unique_ptr<Attributes>> children_;
  std::vector<std::size_t> nested_;
  std::deque<pmix_data_array_t> arrays_;
};

// Call ours() with the mutex held.
bool ours(const pmix_proc_t* proc) {
  return proc != nullptr && proc->rank < static_cast<pmix_rank_t>(the_upcalls.ranks);
}

pmix_status_t on_connected(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  const std::lock_guard lock(the_upcalls_mutex);
  if (ours(proc))
    the_upcalls.shared->set_state(static_cast<int>(proc->rank), boot::RankState::kInitialised);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  const std::lock_guard lock(the_upcalls_mutex);
  if (ours(proc))
    the_upcalls.shared->set_state(static_cast<int>(proc->rank), boot::RankState::kFinalised);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char text[], pmix_proc_t[],
                       size_t, pmix_op_cbfunc_t, void*) {
  const std::lock_guard lock(the_upcalls_mutex);
  if (!ours(proc)) return PMIX_ERR_BAD_PARAM;
  the_upcalls.shared->record_abort(static_cast<int>(proc->rank), status,
                                   text != nullptr ? text : "");
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(the_upcalls.event_fd, &one, sizeof one);
  return PMIX_OPERATION_SUCCEEDED;
}

// All ranks are on this host, so `data` is complete.
pmix_status_t on_fence(const pmix_proc_t[], size_t, const pmix_info_t[], size_t, char* data,
                       size_t bytes, pmix_modex_cbfunc_t done, void* done_data) {
  auto copy = std::make_shared<std::string>(data != nullptr ? std::string(data, bytes) : "");
  std::free(data);
  const std::lock_guard lock(the_upcalls_mutex);
  if (the_upcalls.ranks == 0) return PMIX_ERR_NOT_AVAILABLE;
  the_upcalls.loop->post([copy, done, done_data] {
    const auto release = [](void* kept) {
      delete static_cast<std::shared_ptr<std::string>*>(kept);
    };
    done(PMIX_SUCCESS, copy->data(), copy->size(), done_data, release,
         new std::shared_ptr<std::string>(copy));
  });
  return PMIX_SUCCESS;
}

pmix_status_t on_remote_get(const pmix_proc_t*, const pmix_info_t[], size_t, pmix_modex_cbfunc_t,
                            void*) {
  return PMIX_ERR_NOT_FOUND;
}

pmix_server_module_t make_module() {
  pmix_server_module_t module{};
  module.client_connected = on_connected;
  module.client_finalized = on_finalized;
  module.abort = on_abort;
  module.fence_nb = on_fence;
  module.direct_modex = on_remote_get;
  return module;
}

std::string join_ranks(int ranks) {
  std::string list;
  for (int rank = 0; rank < ranks; ++rank) list += (rank > 0 ? "," : "") + std::to_string(rank);
  return list;
}

void register_job(const JobFacts& facts, const pmix_proc_t& job, const std::string& directory) {
  const std::string everybody = join_ranks(facts.size);
  char* nodes = nullptr;
  char* procs = nullptr;
  check(pmix().generate_regex(facts.host.c_str(), &nodes), "coding the host");
  check(pmix().generate_ppn(everybody.c_str(), &procs), "coding the ranks");
  Attributes list;
  list.coded(PMIX_NODE_MAP, nodes);
  list.coded(PMIX_PROC_MAP, procs);
  list.text(PMIX_JOBID, facts.id);
  list.text(PMIX_NSDIR, directory);
  list.text(PMIX_LOCAL_PEERS, everybody);
  list.number(PMIX_UNIV_SIZE, facts.universe_size);
  list.number(PMIX_JOB_SIZE, facts.size);
  list.number(PMIX_MAX_PROCS, facts.universe_size);
  list.number(PMIX_LOCAL_SIZE, facts.size);
  list.number(PMIX_NODE_SIZE, facts.size);
  list.number(PMIX_NUM_NODES, 1);
  list.number(PMIX_JOB_NUM_APPS, facts.apps);
  for (int rank = 0; rank < facts.size; ++rank) {
    Attributes& one = list.nested(PMIX_PROC_INFO_ARRAY);
    one.rank(PMIX_RANK, rank);  // first, because clients hang without the rank
    one.rank(PMIX_GLOBAL_RANK, rank);
    one.number(PMIX_APPNUM, the_upcalls.shared->app(rank));
    one.number16(PMIX_LOCAL_RANK, rank);
    one.number16(PMIX_NODE_RANK, rank);
    one.number(PMIX_NODEID, 0);
    one.text(PMIX_HOSTNAME, facts.host);
  }
  check(pmix().server_register_nspace(job.nspace, facts.size, list.data(), list.size(), nullptr,
                                      nullptr),
        "registering the job");
}

int port_from(char** environment) {
  int port = 0;
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "PMIX_SERVER_URI", 15) == 0)
      if (const char* colon = std::strrchr(*entry, ':')) port = std::atoi(colon + 1);
    std::free(*entry);
  }
  std::free(environment);
  return port;
}

std::string directory_name() {
  const char* base = std::getenv("TMPDIR");
  if (base == nullptr || *base != '/' || std::strlen(base) > 160) base = "/tmp";
  return strf("%s/tern-mpirun.%s", base, random_name().c_str());
}

}  // namespace

std::string random_name() {
  std::uint64_t random[2] = {};
  if (::getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    throw Error(MPI_ERR_OTHER,
                strf("mpirun cannot get random numbers from the kernel: %s", std::strerror(errno)));
  return strf("%016llx%016llx", static_cast<unsigned long long>(random[0]),
              static_cast<unsigned long long>(random[1]));
}

PmixServer::PmixServer(Loop& loop, const JobFacts& facts, Meeting& meeting, Guard& guard)
    : loop_(loop),
      facts_(facts),
      meeting_(meeting),
      guard_(guard),
      listener_(listen_on_loopback(&port_)) {
  // Without a port only other MPI libraries fail to start, with a message of the library.
  if (port_ != 0) loop_.watch(listener_.get(), EPOLLIN, [this] { on_client(); });
}

void PmixServer::tell(Environment& environment) const {
  if (port_ == 0) return;
  const std::string uri = strf("mpirun.%d;tcp4://127.0.0.1:%d", ::getpid(), port_);
  for (const char* name : {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                           "PMIX_SERVER_URI2", "PMIX_SERVER_URI21"})
    environment.set(name, uri);
  environment.set("PMIX_SECURITY_MODE", "native");
  environment.set("PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC");
  environment.set("PMIX_GDS_MODULE", "hash");
  environment.set("PMIX_HOSTNAME", facts_.host);
  environment.set("PMIX_VERSION", strf("%ld.%ld.%ld", PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR,
                                       PMIX_VERSION_RELEASE));
}

void PmixServer::on_client() {
  Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client.valid() || is_from_other_user(client.get(), listener_.get())) return;
  try {
    if (libpmix_port_ == 0) start();
    constexpr double kPatienceSeconds = 60;
    const std::uint64_t number = hand_to_libpmix(std::move(client), libpmix_port_);
    loop_.after(kPatienceSeconds, [this, number] {
      if (!is_taken(number) && on_trouble)
        on_trouble("libpmix has not accepted a client of mpirun's PMIx server for a minute");
    });
  } catch (const Error& error) {
    if (on_trouble) on_trouble(error.what());
  }
}

void PmixServer::start() {
  const std::string directory = directory_name();
  guard_.set_directory(directory);  // before mkdir, because mpirun may be killed at any moment
  if (::mkdir(directory.c_str(), 0700) != 0)
    throw Error(MPI_ERR_OTHER,
                strf("mpirun cannot make the directory %s for the PMIx server: %s; ranks that need "
                     "PMIx cannot start (set TMPDIR to another directory)",
                     directory.c_str(), std::strerror(errno)));
  the_upcalls = {&loop_, &meeting_.shared, facts_.size, meeting_.event.get()};
  // "hash" keeps job data in memory; the shared-memory store would write files into the directory.
  ::setenv("PMIX_MCA_gds", "hash", 1);
  static pmix_server_module_t module = make_module();
  Attributes list;
  list.text(PMIX_SERVER_TMPDIR, directory);
  list.text(PMIX_SYSTEM_TMPDIR, directory);
  check(pmix().server_init(&module, list.data(), list.size()), "the start");
  pmix_proc_t proc{};
  facts_.id.copy(proc.nspace, PMIX_MAX_NSLEN);
  register_job(facts_, proc, directory);
  for (int rank = 0; rank < facts_.size; ++rank) {
    proc.rank = static_cast<pmix_rank_t>(rank);
    check(pmix().server_register_client(&proc, ::getuid(), ::getgid(), nullptr, nullptr, nullptr),
          "registering a rank");
  }
  char** environment = nullptr;
  check(pmix().server_setup_fork(&proc, &environment), "the query of the address");
  libpmix_port_ = port_from(environment);
  if (libpmix_port_ == 0) throw Error(MPI_ERR_OTHER, "the PMIx server of mpirun has no TCP port");
}

// PMIx_server_finalize is not called: after a client's death libpmix 4.2.2 may deadlock with its
// own thread. mpirun is about to end; the guard removes the directory.
PmixServer::~PmixServer() {
  const std::lock_guard lock(the_upcalls_mutex);
  the_upcalls = {};
}

}  // namespace tern::mpirun

// SPDX-License-Identifier: Apache-2.0
// libpmix as a server for one host.
#include "tools/mpirun/pmix_server.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "boot/pmix_library.hpp"
#include "mpi.h"

namespace tern::mpirun {
namespace {

const boot::PmixLibrary& pmix() { return boot::pmix_library(); }

// What the upcalls work on: libpmix hands them no pointer of ours. Its thread outlives the server.
struct Upcalls {
  Loop* loop;
  boot::SharedJob* shared;
  int ranks;  // 0: the server has ended
  int event_fd;
};
Upcalls the_upcalls;
std::mutex the_upcalls_mutex;

void check(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  throw Error(MPI_ERR_OTHER,
              strf("the PMIx server of mpirun: %s failed: %s", what, pmix().Error_string(status)));
}

// A list of attributes that owns its strings and arrays.
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
  // The map of nodes or processes in PMIx's own compact form.
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
  std::vector<std::size_t> nested_;  // which of infos_ are arrays
  std::deque<pmix_data_array_t> arrays_;
};

// With the mutex held.
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

// All ranks are on this host: what was collected here is everything.
pmix_status_t on_fence(const pmix_proc_t[], size_t, const pmix_info_t[], size_t, char* data,
                       size_t bytes, pmix_modex_cbfunc_t done, void* done_data) {
  auto copy = std::make_shared<std::string>(data != nullptr ? std::string(data, bytes) : "");
  std::free(data);  // the upcall's to release
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
  return PMIX_ERR_NOT_FOUND;  // there are no other hosts
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

void register_job(const PmixFacts& facts, const pmix_proc_t& job, const std::string& directory) {
  const std::string everybody = join_ranks(facts.ranks);
  char* nodes = nullptr;
  char* procs = nullptr;
  check(pmix().generate_regex(facts.host.c_str(), &nodes), "coding the host");
  check(pmix().generate_ppn(everybody.c_str(), &procs), "coding the ranks");
  Attributes list;
  list.coded(PMIX_NODE_MAP, nodes);
  list.coded(PMIX_PROC_MAP, procs);
  list.text(PMIX_JOBID, facts.job_id);
  list.text(PMIX_NSDIR, directory);
  list.text(PMIX_LOCAL_PEERS, everybody);
  list.number(PMIX_UNIV_SIZE, facts.universe_size);
  list.number(PMIX_JOB_SIZE, facts.ranks);
  list.number(PMIX_MAX_PROCS, facts.universe_size);
  list.number(PMIX_LOCAL_SIZE, facts.ranks);
  list.number(PMIX_NODE_SIZE, facts.ranks);
  list.number(PMIX_NUM_NODES, 1);
  list.number(PMIX_JOB_NUM_APPS, facts.apps);
  for (int rank = 0; rank < facts.ranks; ++rank) {
    Attributes& one = list.nested(PMIX_PROC_INFO_ARRAY);
    one.rank(PMIX_RANK, rank);  // first: leaving it out hangs the clients
    one.rank(PMIX_GLOBAL_RANK, rank);
    one.number(PMIX_APPNUM, the_upcalls.shared->app(rank));
    one.number16(PMIX_LOCAL_RANK, rank);
    one.number16(PMIX_NODE_RANK, rank);
    one.number(PMIX_NODEID, 0);
    one.text(PMIX_HOSTNAME, facts.host);
  }
  check(pmix().server_register_nspace(job.nspace, facts.ranks, list.data(), list.size(), nullptr,
                                      nullptr),
        "registering the job");
}

// "tern4://127.0.0.1:4711" in PMIX_SERVER_URI4=...: the number after the last colon.
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

}  // namespace

PmixServer::PmixServer(Loop& loop, const PmixFacts& facts, boot::SharedJob& shared,
                       const std::string& directory) {
  the_upcalls = {&loop, &shared, facts.ranks, facts.event_fd};
  // Job data in the server's memory: the shared-memory store would put files into the directory.
  ::setenv("PMIX_MCA_gds", "hash", 1);
  static pmix_server_module_t module = make_module();
  Attributes list;
  list.text(PMIX_SERVER_TMPDIR, directory);
  list.text(PMIX_SYSTEM_TMPDIR, directory);
  check(pmix().server_init(&module, list.data(), list.size()), "its start");
  pmix_proc_t proc{};
  facts.job_id.copy(proc.nspace, PMIX_MAX_NSLEN);
  register_job(facts, proc, directory);
  for (int rank = 0; rank < facts.ranks; ++rank) {
    proc.rank = static_cast<pmix_rank_t>(rank);
    check(pmix().server_register_client(&proc, ::getuid(), ::getgid(), nullptr, nullptr, nullptr),
          "registering a rank");
  }
  char** environment = nullptr;
  check(pmix().server_setup_fork(&proc, &environment), "asking for its address");
  port_ = port_from(environment);
  if (port_ == 0) throw Error(MPI_ERR_OTHER, "the PMIx server of mpirun names no TCP port");
}

// No PMIx_server_finalize: after clients that died it may wait for ever for a lock that libpmix's
// own thread took along (4.2.2). mpirun is about to end; the server's folder goes with the guard.
PmixServer::~PmixServer() {
  const std::lock_guard lock(the_upcalls_mutex);
  the_upcalls = {};
}

}  // namespace tern::mpirun

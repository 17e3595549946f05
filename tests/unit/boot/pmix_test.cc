// SPDX-License-Identifier: Apache-2.0
// A rank under fake PMIx servers with the answers of PRRTE and Slurm.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "boot/boot.hpp"
#include "boot/pmix_library.hpp"
#include "boot/pmix_value.hpp"
#include "boot/ways.hpp"
#include "tests/unit/live_bytes.hpp"

namespace tern::boot {
namespace {

// Server plays the job's PMIx server. PMIx's functions take no context argument, so `server` is
// global.
struct Server {
  std::vector<std::vector<int>> nodes;  // ranks by node, the first with rank 0
  bool fetches_when_asked = true;       // PRRTE refuses "immediate" for remote keys
  bool tells_nodes = true;
  std::map<std::pair<unsigned, std::string>, std::string> keys;
  int late = 0;
  int questions = 0;
  std::vector<std::string> waited;  // "RANK KEY SECONDS" of calls that may block
  std::string log;                  // keys put, ";" for a commit
  pmix_value_cbfunc_t later = nullptr;
  void* later_for = nullptr;

  [[nodiscard]] int size() const {
    int sum = 0;
    for (const auto& ranks : nodes) sum += static_cast<int>(ranks.size());
    return sum;
  }
  [[nodiscard]] int node_of(unsigned rank) const {
    for (size_t node = 0; node < nodes.size(); ++node)
      for (const int one : nodes[node])
        if (static_cast<unsigned>(one) == rank) return static_cast<int>(node);
    return -1;
  }
  [[nodiscard]] std::string ranks_on(size_t node) const {
    std::string text;
    for (const int rank : nodes[node]) text += strf("%s%d", text.empty() ? "" : ",", rank);
    return text;
  }
};
Server* server = nullptr;

std::string node_name(int node) { return strf("node%d", node); }

const pmix_value_t* told(const pmix_info_t* infos, size_t count, const char* key) {
  for (size_t i = 0; i < count; ++i)
    if (std::strcmp(infos[i].key, key) == 0) return &infos[i].value;
  return nullptr;
}

pmix_status_t give(const std::string& text, pmix_value_t** out) {
  *out = static_cast<pmix_value_t*>(std::calloc(1, sizeof **out));
  (*out)->type = PMIX_STRING;
  (*out)->data.string = ::strdup(text.c_str());
  return PMIX_SUCCESS;
}

pmix_status_t give(int number, pmix_value_t** out) {
  *out = static_cast<pmix_value_t*>(std::calloc(1, sizeof **out));
  (*out)->type = PMIX_INT;
  (*out)->data.integer = number;
  return PMIX_SUCCESS;
}

pmix_status_t get_of_job(const std::string& key, pmix_value_t** out) {
  if (key == PMIX_JOB_SIZE) return give(server->size(), out);
  if (key == PMIX_LOCAL_PEERS) return give(server->ranks_on(0), out);
  if (key != PMIX_NODE_LIST || !server->tells_nodes) return PMIX_ERR_NOT_FOUND;
  std::string names;
  for (size_t node = 0; node < server->nodes.size(); ++node)
    names += (node == 0 ? "" : ",") + node_name(static_cast<int>(node));
  return give(names, out);
}

pmix_status_t get_of_node(const char* name, pmix_value_t** out) {
  for (size_t node = 0; node < server->nodes.size(); ++node)
    if (node_name(static_cast<int>(node)) == name) return give(server->ranks_on(node), out);
  return PMIX_ERR_NOT_FOUND;
}

pmix_status_t get(const pmix_proc_t* whom, const char* key, const pmix_info_t* infos, size_t count,
                  pmix_value_t** out) {
  ++server->questions;
  if (whom->rank == PMIX_RANK_WILDCARD) return get_of_job(key, out);
  if (whom->rank == PMIX_RANK_UNDEF) {
    const pmix_value_t* name = told(infos, count, PMIX_HOSTNAME);
    return name == nullptr ? PMIX_ERR_NOT_FOUND : get_of_node(name->data.string, out);
  }
  if (std::strcmp(key, PMIX_HOSTNAME) == 0)
    return give(node_name(server->node_of(whom->rank)), out);
  const bool immediate = told(infos, count, PMIX_IMMEDIATE) != nullptr;
  if (!immediate) {
    const pmix_value_t* seconds = told(infos, count, PMIX_TIMEOUT);
    server->waited.push_back(
        strf("%u %s %d", whom->rank, key, seconds == nullptr ? 0 : seconds->data.integer));
  }
  if (server->late > 0) {
    --server->late;
    return PMIX_ERR_NOT_FOUND;
  }
  const auto found = server->keys.find({whom->rank, key});
  const bool here = server->node_of(whom->rank) == 0 || !server->fetches_when_asked;
  if (found != server->keys.end() && (here || !immediate)) return give(found->second, out);
  return immediate ? PMIX_ERR_NOT_FOUND : PMIX_ERR_TIMEOUT;
}

PmixLibrary functions() {
  PmixLibrary library;
  library.Init = [](pmix_proc_t* self, pmix_info_t*, size_t) -> pmix_status_t {
    *self = {};
    std::strcpy(self->nspace, "job");
    return PMIX_SUCCESS;
  };
  library.Finalize = [](const pmix_info_t*, size_t) -> pmix_status_t { return PMIX_SUCCESS; };
  library.Get = get;
  library.Put = [](pmix_scope_t, const char* key, pmix_value_t*) -> pmix_status_t {
    server->log += strf(" %s", key);
    return PMIX_SUCCESS;
  };
  library.Commit = []() -> pmix_status_t {
    server->log += ';';
    return PMIX_SUCCESS;
  };
  library.Fence_nb = [](const pmix_proc_t*, size_t, const pmix_info_t*, size_t, pmix_op_cbfunc_t,
                        void*) -> pmix_status_t { return PMIX_ERR_NOT_FOUND; };
  library.Get_nb = [](const pmix_proc_t*, const char*, const pmix_info_t*, size_t,
                      pmix_value_cbfunc_t later, void* data) -> pmix_status_t {
    server->later = later;
    server->later_for = data;
    return PMIX_SUCCESS;
  };
  library.Error_string = [](pmix_status_t status) {
    return status == PMIX_ERR_TIMEOUT ? "TIMEOUT" : "NOT-FOUND";
  };
  library.Get_version = [] { return "a test"; };
  library.Value_destruct = [](pmix_value_t* value) {
    if (value->type == PMIX_STRING) std::free(value->data.string);
  };
  return library;
}

class Pmix : public ::testing::Test {
 protected:
  Pmix() {
    server = &server_;
    for (const char* name : {"TERN_BOOT_FD", "SLURM_PROCID", "PMIX_VERSION"}) ::unsetenv(name);
    ::setenv("PRTE_LAUNCHED", "1", 1);
  }
  ~Pmix() override {
    ::unsetenv("PRTE_LAUNCHED");
    server = nullptr;
  }
  std::unique_ptr<Boot> boot(std::vector<std::vector<int>> nodes) {
    server_.nodes = std::move(nodes);
    return make_pmix_boot(library_);
  }
  // Returns the child's status of waitpid(). A child that does not end is killed.
  int abort_in_a_child(int code, const AbortBounds& bounds) {
    server_.nodes = {{0, 1}};
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(kMostSeconds);
      make_pmix_boot(library_, bounds)->abort(code, "text");
      ::_exit(77);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  static constexpr int kMostSeconds = 20;
  static constexpr std::chrono::seconds kNever{1000};
  Server server_;
  PmixLibrary library_ = functions();
};

TEST_F(Pmix, AKeyOfAnotherHostIsFetched) {
  const auto rank = boot({{0, 1}, {2, 3}});
  server_.keys = {{{1, "tern.ucx.0"}, "near"}, {{3, "tern.ucx.0"}, "far"}};
  EXPECT_EQ(rank->get(1, "tern.ucx.0"), "near");
  EXPECT_TRUE(server_.waited.empty()) << "the local server has the key at once";
  EXPECT_EQ(rank->get(3, "tern.ucx.0"), "far");
  EXPECT_EQ(server_.waited, std::vector<std::string>{"3 tern.ucx.0 10"});
  server_.fetches_when_asked = false;
  server_.waited.clear();
  EXPECT_EQ(rank->get(3, "tern.ucx.0"), "far");
  EXPECT_TRUE(server_.waited.empty()) << "Slurm's server has the key since the fence";
}

TEST_F(Pmix, SoIsAConnectionInfo) {
  const auto rank = boot({{0, 1}, {2, 3}});
  server_.keys = {{{2, "tern.info"}, std::string(kConnectionInfoSize, 'x')}};
  EXPECT_EQ(rank->connection_info(2)[127], std::byte{'x'});
}

TEST_F(Pmix, WhatWasLearntIsRankZerosKey) {
  const auto rank = boot({{1, 2}, {0, 3}});
  rank->hand_out("lines");
  rank->publish();
  EXPECT_EQ(server_.log, " learnt;");
  server_.keys = {{{0, "learnt"}, "path\nmachine\nlines"}};
  EXPECT_EQ(rank->learnt(), "path\nmachine\nlines");
  EXPECT_EQ(server_.waited, std::vector<std::string>{"0 learnt 10"}) << "a single request";
}

TEST_F(Pmix, AKeyThatNobodyHasPutIsAnErrorThatNamesIt) {
  const auto rank = boot({{0, 1}, {2, 3}});
  for (const int whom : {1, 3}) {
    try {
      (void)rank->get(whom, "tern.ucx.0");
      ADD_FAILURE() << "of rank " << whom;
    } catch (const Error& error) {
      const std::string said = error.what();
      for (const std::string& word :
           {strf("rank %d,", whom), std::string("\"tern.ucx.0\""), std::string("prterun"),
            std::string("rank 0 "), std::string(whom == 1 ? "this host" : "another host")})
        EXPECT_NE(said.find(word), std::string::npos) << word << ": " << said;
    }
  }
  EXPECT_EQ(server_.waited, (std::vector<std::string>{"1 tern.ucx.0 10", "3 tern.ucx.0 10"}))
      << "bounded, and once";
}

// The launcher knows the dead rank and ends the job first.
TEST_F(Pmix, AFenceThatFailsLeavesTheLauncherTheFirstWord) {
  const auto rank = boot({{0, 1}});
  rank->start_fence();
  EXPECT_TRUE(rank->fence_over());
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THROW(rank->end_fence(), Error);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(400));
}

// PRRTE loses a rank that exits just before the kill.
TEST_F(Pmix, AnAbortAwaitsTheKill) {
  library_.Abort = [](int, const char*, pmix_proc_t*, size_t) -> pmix_status_t {
    const pid_t rank = ::getpid();
    if (::fork() == 0) {
      ::usleep(300000);
      ::kill(rank, SIGTERM);
      ::_exit(0);
    }
    return PMIX_SUCCESS;
  };
  const int status = abort_in_a_child(9, {});
  ASSERT_TRUE(WIFSIGNALED(status)) << "it exits with " << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST_F(Pmix, AnAbortWithoutAKillEndsTheProcess) {
  library_.Abort = [](int, const char*, pmix_proc_t*, size_t) -> pmix_status_t {
    return PMIX_SUCCESS;
  };
  const int status = abort_in_a_child(9, {kNever, std::chrono::milliseconds(100)});
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 9) << status;
}

TEST_F(Pmix, AnAbortWithoutAnAnswerEndsTheProcess) {
  library_.Abort = [](int, const char*, pmix_proc_t*, size_t) -> pmix_status_t {
    for (;;) ::pause();
  };
  const int status = abort_in_a_child(256, {std::chrono::milliseconds(100), kNever});
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
}

TEST_F(Pmix, ARefusedAbortEndsTheProcessAtOnce) {
  library_.Abort = [](int, const char*, pmix_proc_t*, size_t) -> pmix_status_t {
    return PMIX_ERR_NOT_SUPPORTED;
  };
  const int status = abort_in_a_child(9, {kNever, kNever});
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 9) << status;
}

TEST_F(Pmix, AKeyThatComesLateIsAwaited) {
  const auto rank = boot({{0, 1}, {2, 3}});
  server_.late = 3;
  server_.keys = {{{1, "k"}, "near"}, {{3, "k"}, "far"}};
  EXPECT_EQ(rank->get(1, "k"), "near");
  server_.late = 3;
  EXPECT_EQ(rank->get(3, "k"), "far");
}

TEST_F(Pmix, ARankOfAnotherHostIsAwaitedWithoutBlocking) {
  const auto rank = boot({{0}, {1}});
  EXPECT_FALSE(rank->has_connection_info(1));
  ASSERT_NE(server_.later, nullptr) << "the other host was not asked";
  EXPECT_FALSE(rank->has_connection_info(1));
  server_.later(PMIX_SUCCESS, nullptr, server_.later_for);
  EXPECT_TRUE(rank->has_connection_info(1));
  EXPECT_TRUE(rank->has_connection_info(1));
}

TEST_F(Pmix, RanksThatRestedAreAwaitedAgain) {
  const auto rank = boot({{0, 1}});
  server_.keys = {{{1, "tern.info"}, "x"}};
  EXPECT_TRUE(rank->has_connection_info(1));
  rank->finalize();
  server_.keys.clear();
  rank->resume();
  EXPECT_FALSE(rank->has_connection_info(1));
}

TEST_F(Pmix, WhatWasPutIsPutAgain) {
  const auto rank = boot({{0, 1}});
  rank->put("key", "a");
  rank->put_connection_info({});
  rank->publish();
  server_.log.clear();
  rank->finalize();
  rank->resume();
  EXPECT_EQ(server_.log, " key tern.info;");
}

TEST_F(Pmix, NodesTakeAQuestionEach) {
  constexpr int kNodes = 128, kEach = 8;
  for (const bool in_turn : {false, true}) {
    std::vector<std::vector<int>> nodes(kNodes);
    const auto node_of = [in_turn](int r) { return in_turn ? r % kNodes : r / kEach; };
    for (int r = 0; r < kNodes * kEach; ++r) nodes[static_cast<size_t>(node_of(r))].push_back(r);
    const auto rank = boot(nodes);
    server_.questions = 0;
    const long long before = test::live_bytes;
    for (int r = 0; r < kNodes * kEach; ++r) ASSERT_EQ(rank->node(r), node_of(r)) << r;
    EXPECT_LE(server_.questions, kNodes + 1);
    EXPECT_LE(test::live_bytes - before, 100) << "the same for any number of ranks";
  }
}

TEST_F(Pmix, ServersThatDoNotTellNodesAreAskedForHosts) {
  server_.tells_nodes = false;
  const auto rank = boot({{0, 3}, {2, 1}});
  const int nodes[] = {0, 1, 1, 0};
  for (int r = 0; r < 4; ++r) EXPECT_EQ(rank->node(r), nodes[r]) << r;
}

TEST_F(Pmix, NodesThatMakeNoWholeAreNotBelieved) {
  const auto rank = boot({{0, 1}, {2, 3}});
  server_.nodes[1] = {2, 1};  // The list has 1 twice and lacks 3: 2 and 3 cost a request each.
  const int nodes[] = {0, 0, 1, 2};
  for (int r = 0; r < 4; ++r) EXPECT_EQ(rank->node(r), nodes[r]) << r;
}

TEST(PmixValues, TheRemarkOnGreetings) {
  const char* debian = "OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, Stable ABI: 0.0)";
  const std::string said = greeting_remark(debian, "5.0.11rc1");
  for (const char* word : {"4.2.2", "5.0.11", "PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER"})
    EXPECT_NE(said.find(word), std::string::npos) << said;
  EXPECT_NE(greeting_remark(debian, "6.0.0"), "");
  EXPECT_EQ(greeting_remark(debian, "4.2.2"), "");
  EXPECT_EQ(greeting_remark(debian, "5.0.8"), "");
  EXPECT_EQ(greeting_remark("OpenPMIx 4.2.3", "5.0.11"), "");
  EXPECT_EQ(greeting_remark(debian, ""), "");
}

}  // namespace
}  // namespace tern::boot

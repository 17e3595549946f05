// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "errors.hpp"

namespace torch_tern {

namespace {

std::mutex session_mutex;
std::weak_ptr<Session> opened;
bool was_opened = false;
std::atomic<int> worlds{0};
std::atomic<bool> forked{false};
std::atomic<bool> silent{false};

void mark_fork() { forked = true; }

}  // namespace

bool is_forked() { return forked.load(std::memory_order_relaxed); }

void call_no_more() { silent = true; }
bool calls_no_more() { return silent.load(std::memory_order_relaxed); }

void refuse_fork() {
  if (is_forked()) [[unlikely]] {
    fail(
        "this process is a fork of a process that joined its job, and only the parent may "
        "communicate. "
        "Start communicating processes with \"spawn\", and pass data to forked ones through "
        "queues");
  }
}

std::shared_ptr<Session> Session::current() {
  const std::lock_guard lock(session_mutex);
  return opened.lock();
}

std::shared_ptr<Session> Session::open() {
  refuse_fork();
  const std::lock_guard lock(session_mutex);
  std::shared_ptr<Session> session = opened.lock();
  if (!session) {
    if (!std::exchange(was_opened, true)) {
      pthread_atfork(nullptr, nullptr, mark_fork);
    }
    session = std::make_shared<Session>();
    opened = session;
  }
  return session;
}

void Session::begin_world() { ++worlds; }

Session::Session() {
  MPI_Info info = MPI_INFO_NULL;
  check(MPI_Info_create(&info));
  check(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
  const int code = MPI_Session_init(info, MPI_ERRORS_RETURN, &session_);
  MPI_Info_free(&info);
  check(code);
  check(MPI_Group_from_session_pset(session_, "mpi://WORLD", &world_));
  check(MPI_Group_rank(world_, &rank_));
  check(MPI_Group_size(world_, &size_));
}

Session::~Session() {
  if (!is_forked() && !calls_no_more()) {
    close();
  }
}

void Session::close() {
  if (is_abandoned_ || session_ == MPI_SESSION_NULL) {
    return;
  }
  MPI_Group_free(&world_);
  MPI_Session_finalize(&session_);
}

MPI_Comm Session::communicator(const std::vector<int>& ranks, const std::string& name) const {
  MPI_Group group = MPI_GROUP_NULL;
  check(MPI_Group_incl(world_, static_cast<int>(ranks.size()), ranks.data(), &group));
  std::string tag = "torch/" + std::to_string(worlds) + "/" + name;
  if (tag.size() >= MPI_MAX_STRINGTAG_LEN) {
    tag =
        tag.substr(0, MPI_MAX_STRINGTAG_LEN - 32) + std::to_string(std::hash<std::string>()(name));
  }
  MPI_Comm comm = MPI_COMM_NULL;
  const int code =
      MPI_Comm_create_from_group(group, tag.c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Group_free(&group);
  check(code);
  return comm;
}

}  // namespace torch_tern

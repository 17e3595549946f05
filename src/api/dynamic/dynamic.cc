// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "dynamic" (MPI-5.0 chapter 11).
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/comm/meeting.hpp"
#include "api/dynamic/names.hpp"
#include "api/dynamic/start.hpp"
#include "api/job/parent.hpp"
#include "api/process.hpp"
#include "boot/boot.hpp"
#include "boot/shared_job.hpp"

namespace tern::api {
namespace {

using core::Communicator;
using core::Ref;
using Command = boot::SpawnCommand;

struct Ports {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Listener>> open;
};

Ports& ports() {
  static auto* const only = new Ports;  // never destroyed, like the Instance
  return *only;
}

std::shared_ptr<Listener> open_one(const char* name) {
  Ports& all = ports();
  const std::lock_guard<std::mutex> guard(all.mutex);
  const auto found = name == nullptr ? all.open.end() : all.open.find(name);
  if (found == all.open.end())
    throw Error(MPI_ERR_PORT,
                strf("port_name \"%s\" is not open on this rank; MPI_Open_port opens a port",
                     name == nullptr ? "" : name));
  return found->second;
}

double connect_limit(const core::Info* info) {
  constexpr double kUsual = 180;
  const auto said = info == nullptr ? std::nullopt : info->get("timeout");
  const char* const variable = std::getenv("MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT");
  const double seconds = said                  ? std::atof(said->c_str())
                         : variable != nullptr ? std::atof(variable)
                                               : kUsual;
  return seconds > 0 ? seconds : kUsual;
}

int meet_and_publish(Communicator& comm, int root, const Dial& dial, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  Ref<Communicator> made;
  const int code = meet_world(comm, root, dial, &made);
  if (code != MPI_SUCCESS) return code;
  return guarded([&] { publish(std::move(made), out); });
}

void copy_name(const std::string& name, char* out) noexcept {
  std::memcpy(out, name.c_str(), name.size() + 1);
}

/// Keys of MPI, and keys of peers with an option of mpirun.
std::vector<std::string> options_of(const core::Info* info) {
  std::vector<std::string> options;
  if (info == nullptr) return options;
  constexpr std::pair<const char*, const char*> kKeys[] = {
      {"wdir", "-wdir"},
      {"path", "-path"},
      {"host", "-host"},
      {"hostfile", "-hostfile"},
      {"arch", "-arch"},
      {"soft", "-soft"},
      {"mpi_initial_errhandler", "-initial-errhandler"},
      {"mpi_memory_alloc_kinds", "-memory-alloc-kinds"},
      {"map_by", "--map-by"},
      {"bind_to", "--bind-to"}};
  for (const auto& [key, option] : kKeys)
    if (const auto value = info->get(key)) options.insert(options.end(), {option, *value});
  if (const auto lines = info->get("env")) {
    std::string_view rest = *lines;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      if (rest.substr(0, end).find('=') != std::string_view::npos)
        options.insert(options.end(), {"-x", std::string(rest.substr(0, end))});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return options;
}

std::vector<std::string> words_of(char* argv[]) {
  std::vector<std::string> words;
  for (; argv != nullptr && *argv != nullptr; ++argv) words.emplace_back(*argv);
  return words;
}

bool is_readable(int fd) noexcept {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

std::string own_folder() {
  const std::unique_ptr<char, decltype(&std::free)> folder(::getcwd(nullptr, 0), std::free);
  if (folder == nullptr)
    throw Error(MPI_ERR_SPAWN, strf("the working folder is gone: %s", std::strerror(errno)));
  return folder.get();
}

/// Accepts the new world's leader. `fd` is readable after the end of the world.
Link accept_unless(Listener& listener, int fd, const WaitUntil& wait, bool* ended) {
  const WaitUntil while_alive = [&](const std::function<bool()>& done, double seconds) {
    return wait([&] { return done() || (*ended = is_readable(fd)); }, seconds) && !*ended;
  };
  return listener.accept(while_alive, -1);
}

std::string reason_of_mpirun(Link& mpirun, const WaitUntil& wait) {
  constexpr size_t kMostReason = 1 << 20;
  constexpr double kSeconds = 2;
  try {
    return mpirun.receive(kMostReason, wait, kSeconds);
  } catch (const Error&) {
    return "mpirun has ended";
  }
}

/// mpirun takes the end of *mpirun for the end of the meeting.
Link start_and_accept(std::vector<Command> commands, const WaitUntil& wait, Link* mpirun) {
  Listener listener;
  const boot::Job& job = the_process->boot->job();
  const boot::SpawnRequest request{job.id,
                                   listener.name(),
                                   own_folder(),
                                   job.universe_size,
                                   std::move(commands),
                                   inheritable_variables()};
  bool ended = false;
  std::string why = "the ranks ended before MPI_Init; mpirun's message says why";
  try {
    *mpirun = ask_mpirun(request, wait);
    if (mpirun->valid()) return accept_unless(listener, mpirun->fd(), wait, &ended);
    const BackgroundWorld world = start_in_background(request, job.server_pid);
    static std::atomic<int> started = 0;
    the_process->boot->put(boot::world_key(started++), world.mpirun);
    return accept_unless(listener, world.alive.get(), wait, &ended);
  } catch (const Error& error) {
    if (ended && mpirun->valid()) why = reason_of_mpirun(*mpirun, wait);
    throw Error(MPI_ERR_SPAWN, ended ? why : std::string(error.what()));
  }
}

Failure check_commands(int count, const std::vector<Command>& commands) {
  if (count < 1) return failure(MPI_ERR_ARG, "count is %d, but must be 1 or greater", count);
  for (const Command& one : commands) {
    if (one.ranks < 1)
      return failure(MPI_ERR_ARG, "maxprocs is %d, but must be 1 or greater", one.ranks);
    if (one.program.empty())
      return failure(MPI_ERR_SPAWN, "command is \"\", but must be a program");
  }
  return {};
}

using Commands = std::function<std::vector<Command>()>;

int spawn(Communicator& comm, int root, int count, const Commands& commands_of, MPI_Comm* intercomm,
          int errcodes[]) {
  std::vector<Command> commands;
  Link mpirun;
  int code = meet_and_publish(
      comm, root,
      [&](const WaitUntil& wait) {
        commands = commands_of();
        if (const Failure why = check_commands(count, commands)) throw Error(why.code, why.text);
        return start_and_accept(commands, wait, &mpirun);
      },
      intercomm);
  if (code == MPI_ERR_PORT) code = fail(MPI_ERR_SPAWN, "%s", take_last_error().text.c_str());
  if (errcodes == nullptr) return code;
  int ranks = 0;
  for (const Command& one : commands) ranks += std::max(one.ranks, 0);
  if (code == MPI_SUCCESS)
    ranks = the_process->handles.find<Communicator>(*intercomm)->remote_group()->size();
  for (int i = 0; i < ranks; ++i) errcodes[i] = code;
  return code;
}

}  // namespace

int open_port(core::Info* /*info*/, char* port_name) noexcept {
  return attempt([&] {
    auto listener = std::make_shared<Listener>();
    copy_name(listener->name(), port_name);
    Ports& all = ports();
    const std::lock_guard<std::mutex> guard(all.mutex);
    all.open.emplace(listener->name(), std::move(listener));
    return MPI_SUCCESS;
  });
}

int close_port(const char* port_name) noexcept {
  return attempt([&] {
    (void)open_one(port_name);
    Ports& all = ports();
    const std::lock_guard<std::mutex> guard(all.mutex);
    all.open.erase(port_name);
    return MPI_SUCCESS;
  });
}

int comm_accept(const char* port_name, core::Info* /*info*/, int root, Communicator& comm,
                MPI_Comm* newcomm) noexcept {
  return attempt([&] {
    if (const int code = require_intra(comm, "comm of MPI_Comm_accept"); code != MPI_SUCCESS)
      return code;
    return meet_and_publish(
        comm, root, [&](const WaitUntil& wait) { return open_one(port_name)->accept(wait, -1); },
        newcomm);
  });
}

int comm_connect(const char* port_name, core::Info* info, int root, Communicator& comm,
                 MPI_Comm* newcomm) noexcept {
  return attempt([&] {
    if (const int code = require_intra(comm, "comm of MPI_Comm_connect"); code != MPI_SUCCESS)
      return code;
    return meet_and_publish(
        comm, root,
        [&](const WaitUntil& wait) {
          return connect_to(port_name == nullptr ? "" : port_name, wait, connect_limit(info));
        },
        newcomm);
  });
}

/// The socket stays the user's.
int comm_join(int fd, MPI_Comm* intercomm) noexcept {
  return attempt([&] {
    Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) return fail(MPI_ERR_ARG, "fd is %d, which is not an open descriptor", fd);
    return meet_and_publish(
        *the_process->self, 0, [&](const WaitUntil&) { return Link(std::move(copy)); }, intercomm);
  });
}

int comm_spawn(const char* command, char* argv[], int maxprocs, core::Info* info, int root,
               Communicator& comm, MPI_Comm* intercomm, int* array_of_errcodes) noexcept {
  return attempt([&] {
    if (const int code = require_intra(comm, "comm of MPI_Comm_spawn"); code != MPI_SUCCESS)
      return code;
    const Commands commands = [&] {
      return std::vector<Command>{
          {command == nullptr ? "" : command, words_of(argv), maxprocs, options_of(info)}};
    };
    return spawn(comm, root, 1, commands, intercomm, array_of_errcodes);
  });
}

int comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[],
                        const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
                        Communicator& comm, MPI_Comm* intercomm, int* array_of_errcodes) noexcept {
  return attempt([&] {
    if (const int code = require_intra(comm, "comm of MPI_Comm_spawn_multiple");
        code != MPI_SUCCESS)
      return code;
    const Commands commands = [&] {
      if (count > 0 && (array_of_commands == nullptr || array_of_maxprocs == nullptr ||
                        array_of_info == nullptr))
        throw Error(MPI_ERR_ARG, "array_of_commands, array_of_maxprocs or array_of_info is NULL");
      std::vector<Command> all;
      for (int i = 0; i < count; ++i)
        all.push_back({array_of_commands[i] == nullptr ? "" : array_of_commands[i],
                       words_of(array_of_argv == nullptr ? nullptr : array_of_argv[i]),
                       array_of_maxprocs[i],
                       options_of(the_process->handles.find<core::Info>(array_of_info[i]))});
      return all;
    };
    return spawn(comm, root, count, commands, intercomm, array_of_errcodes);
  });
}

int publish_name(const char* service_name, core::Info*, const char* port_name) noexcept {
  return attempt([&] { return publish_service(service_name, port_name); });
}

int unpublish_name(const char* service_name, core::Info*, const char*) noexcept {
  return attempt([&] { return unpublish_service(service_name); });
}

int lookup_name(const char* service_name, core::Info*, char* port_name) noexcept {
  return attempt([&] {
    std::string port;
    const int code = look_up_service(service_name, &port);
    if (code == MPI_SUCCESS) copy_name(port, port_name);
    return code;
  });
}

int comm_get_parent(MPI_Comm* parent) noexcept {
  MPI_Comm& ours = instance().parent;
  if (the_process->handles.find<Communicator>(ours) == nullptr) ours = MPI_COMM_NULL;
  *parent = ours;
  return MPI_SUCCESS;
}

int meet_parent() noexcept {
  const char* const port = std::getenv(boot::kParentVariable);
  if (port == nullptr) return MPI_SUCCESS;
  const std::string name = port;
  ::unsetenv(boot::kParentVariable);  // a program started by this rank has no parent
  constexpr double kSeconds = 60;
  return attempt([&] {
    Communicator& world = *the_process->world;
    const int code = meet_and_publish(
        world, 0, [&](const WaitUntil& wait) { return connect_to(name, wait, kSeconds); },
        &instance().parent);
    // The parent waits for all ranks, and a rank without it is of no use.
    if (code != MPI_SUCCESS) abort_job(the_process, 1, take_last_error().text.c_str());
    the_process->handles.find<Communicator>(instance().parent)->name.set("MPI_COMM_PARENT");
    return code;
  });
}

}  // namespace tern::api

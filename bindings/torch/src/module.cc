// SPDX-License-Identifier: Apache-2.0
// The Python module torch_tern._C.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/extension.h>

#include <numeric>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "backend.hpp"
#include "device_queue.hpp"
#include "extensions.hpp"
#include "hang_report.hpp"
#include "peer_watch.hpp"
#include "pipe.hpp"
#include "progress.hpp"
#include "session.hpp"
#include "store_boot.hpp"
#include "timer.hpp"

namespace torch_tern {

namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

void require_world(const Session& session, int rank, int size) {
  if (session.size() == size && session.rank() == rank) {
    return;
  }
  fail("RANK and WORLD_SIZE say rank " + std::to_string(rank) + " of " + std::to_string(size) +
       ", but MPI says rank " + std::to_string(session.rank()) + " of " +
       std::to_string(session.size()) +
       ". Call torch_tern.init() before init_process_group under mpirun or srun");
}

// `ranks`: members as ranks of the world. Empty means all.
c10::intrusive_ptr<Backend> create(const StorePointer& store, int rank, std::vector<int> ranks,
                                   int world_rank, int world_size, const std::string& name,
                                   Milliseconds timeout) {
  refuse_fork();
  if (!Session::current() && !has_launcher() && (world_size > 1 || was_launched())) {
    boot_over(store, world_rank, world_size);
  }
  auto session = Session::open();
  require_world(*session, world_rank, world_size);
  const bool is_world = ranks.empty();
  if (is_world) {
    Session::begin_world();
    ranks.resize(world_size);
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  auto options = c10::make_intrusive<c10d::Backend::Options>("tern", timeout);
  auto group = make_group(std::move(session), ranks, name, timeout);
  if (is_world) {
    group->set_hang_report(HangReport::begin(group, !has_launcher()));
  }
  return c10::make_intrusive<Backend>(std::move(group), rank, options);
}

// Returns rank and size in the job, rank and size on the host, rank 0's words.
std::tuple<int, int, int, int, std::string> meet(const std::string& words) {
  const auto session = Session::open();
  std::vector<int> ranks(session->size());
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Comm comm = session->communicator(ranks, "meet");
  char text[512] = {};
  words.copy(text, sizeof text - 1);
  int local = 0, locals = 1;
  MPI_Comm host = MPI_COMM_NULL;
  int code = MPI_Bcast(text, sizeof text, MPI_CHAR, 0, comm);
  if (code == MPI_SUCCESS) {
    code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  }
  if (code == MPI_SUCCESS) {
    MPI_Comm_rank(host, &local);
    MPI_Comm_size(host, &locals);
    MPI_Comm_free(&host);
  }
  MPI_Comm_free(&comm);
  check(code);
  return {session->rank(), session->size(), local, locals, text};
}

void complete_remembered() {
  for (const std::shared_ptr<Group>& group : living_groups()) {
    if (group->fate().dead()) {
      continue;
    }
    for (const std::shared_ptr<Operation>& one : group->remembered.living()) {
      one->release_at_end();
    }
  }
  Progress::get().await_idle(std::chrono::seconds(2));
}

// Ends the threads that call Python, and the session if nothing is pending. After an uncaught
// exception (`has_failed`) end() does not wait for peers.
void end(bool has_failed) {
  if (is_forked()) {
    return;
  }
  if (!has_failed) {
    complete_remembered();
  }
  for (const std::shared_ptr<Group>& group : living_groups()) {
    PeerWatch::get().note_calls(group->name(), group->sequence);
  }
  PeerWatch::get().leave();
  DeviceQueue::get().await_done(std::chrono::seconds(2));
  DeviceQueue::get().stop();
  Progress::get().stop();
  Timer::stop_thread();
  PeerWatch::get().stop();
  await_hooks();
  bool are_closed = true;
  for (const std::shared_ptr<Group>& group : living_groups()) {
    are_closed = group->close() && are_closed;
  }
  if (const auto session = Session::current(); session && are_closed) {
    session->close();
  }
  call_no_more();
}

struct EndOfPipe {
  void operator()(Pipe* pipe) const {
    const pybind11::gil_scoped_release free;
    delete pipe;
  }
};

void bind_pipe(pybind11::module_& module) {
  using release = pybind11::call_guard<pybind11::gil_scoped_release>;
  using Holder = std::unique_ptr<Pipe, EndOfPipe>;
  pybind11::class_<Pipe, Holder>(module, "Pipe")
      .def(pybind11::init([](const c10::intrusive_ptr<Backend>& backend) {
             return Holder(new Pipe(*backend->group()));
           }),
           release())
      .def(
          "send",
          [](Pipe& pipe, int to, const std::string& header, const std::optional<at::Tensor>& one) {
            pipe.send(to, header, one.value_or(at::Tensor()));
          },
          release())
      .def("flush", &Pipe::flush, release())
      .def("poll", [](Pipe& pipe) {
        std::vector<Pipe::Message> messages;
        {
          const pybind11::gil_scoped_release free;
          messages = pipe.poll();
        }
        std::vector<std::tuple<int, pybind11::bytes, std::optional<at::Tensor>>> all;
        for (Pipe::Message& one : messages) {
          all.emplace_back(one.source, pybind11::bytes(one.header),
                           one.tensor.defined() ? std::optional(one.tensor) : std::nullopt);
        }
        return all;
      });
}

}  // namespace

}  // namespace torch_tern

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  namespace tern = torch_tern;
  using release = pybind11::call_guard<pybind11::gil_scoped_release>;
  pybind11::class_<tern::Backend, c10::intrusive_ptr<tern::Backend>, c10d::Backend>(module,
                                                                                    "Backend")
      .def("perform_nocolor_split", [](const tern::Backend&, const pybind11::object&) {});
  tern::bind_pipe(module);
  module.def("create", &tern::create, release());
  module.def("meet", &tern::meet, release());
  module.def("end", &tern::end, release());
  module.def("is_forked", &tern::is_forked);
  module.def("has_launcher", &tern::has_launcher);
  module.def("can_boot_over_store", [] { return tern::extensions().boot_provide != nullptr; });
  module.def("can_interrupt", [] { return tern::extensions().comm_interrupt != nullptr; });
}

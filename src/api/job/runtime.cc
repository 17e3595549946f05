// SPDX-License-Identifier: Apache-2.0
// Runtime: starts the modules bottom up and ends them in reverse.
#include "api/job/runtime.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>

#include "api/errors.hpp"
#include "api/job/fault.hpp"
#include "api/job/hardware.hpp"
#include "api/job/host_graphs.hpp"
#include "api/job/progress_thread.hpp"
#include "api/job/watch.hpp"
#include "base/clock.hpp"
#include "base/digest.hpp"
#include "base/learnt_file.hpp"
#include "base/log.hpp"
#include "base/process_id.hpp"
#include "boot/boot.hpp"
#include "coll/coll.hpp"
#include "coll/forest/store.hpp"
#include "coll/topology/canonical.hpp"
#include "coll/topology/host_graph.hpp"
#include "core/communicator.hpp"
#include "core/group.hpp"
#include "pml/p2p/p2p.hpp"
#include "rma/engine.hpp"
#include "stream/proxy.hpp"
#include "topo/cpus.hpp"
#include "topo/machine.hpp"

namespace tern::api {
namespace {

// On its own core a rank spins for about a millisecond.
constexpr uint32_t kSpinsAlone = 20000;
constexpr int64_t kYieldsAloneUs = 50;
// With more ranks than cores, a rank yields at once, and sleeps soon.
constexpr uint32_t kSpinsCrowded = 0;
constexpr int64_t kYieldsCrowdedUs = 100;

/// Returns TERN_CHANNELS, or as many channels as threads can use.
uint32_t channels_for(const core::Process& process) noexcept {
  if (process.threads.level != core::ThreadLevel::kMultiple) return 1;
  constexpr uint32_t kLeast = 4, kMost = 8;
  const auto wanted = static_cast<uint32_t>(process.params.channels);
  if (wanted != 0) return std::bit_floor(wanted);
  return std::clamp(std::bit_ceil(std::thread::hardware_concurrency()), kLeast, kMost);
}

/// publish_place() asks hwloc only for configured levels within hosts.
constexpr const char* kPlaceKey = "place";

void publish_place(const core::Process& process) {
  if (coll::level_words(process.params.coll_levels, "TERN_COLL_LEVELS").parts.empty()) return;
  const CpuLocation place = place_here(process.boot->job().local_index);
  process.boot->put(kPlaceKey, {reinterpret_cast<const char*>(place.data()), sizeof place});
}

size_t resource_of(topo::MachinePart::Kind kind) noexcept {
  return static_cast<size_t>(std::find(kResources.begin(), kResources.end(), kind) -
                             kResources.begin());
}

int numa_here(const core::Process& process) {
  constexpr int kMany = 64;
  if (process.node.ranks <= kMany) return kNowhere;
  if (!topo::machine_is_made_up()) return topo::allowed_numa();
  const CpuLocation place = place_here(process.boot->job().local_index);
  return place[resource_of(topo::MachinePart::Kind::kNuma)];
}

int part_of(core::Process& process, int rank, topo::MachinePart::Kind kind) {
  const std::string text = process.boot->get(rank, kPlaceKey);
  CpuLocation place;
  if (text.size() != sizeof place) return kNowhere;
  std::memcpy(place.data(), text.data(), sizeof place);
  return place[resource_of(kind)];
}

}  // namespace

int node_of(core::Process& process, const core::Peer& peer) {
  return peer.nspace == 0 ? process.boot->node(static_cast<int>(peer.rank))
                          : process.worlds.node_of(peer.index);
}

Runtime::Runtime(core::Process& process) : process_(process) {
  process.set_channels(channels_for(process));
  process.gpus.set_kernels_file(process.params.cuda_kernels);
  process.gpus.set_mails(process.params.cuda_mail != 0);
  process.gpus.set_chunks(static_cast<size_t>(process.params.cuda_chunk),
                          static_cast<int>(process.params.cuda_chunks));
  for (auto& channel : process.channels()) {
    pmls_.push_back(
        std::make_unique<pml::P2p>(*channel, pmls_.empty() ? nullptr : pmls_.front().get()));
    channel->pml = pmls_.back().get();
    channel->slabs = pmls_.back()->engine.transports.slabs();
  }
  process.params.content = coll::digest_of_table(process.params);
  std::shared_ptr<const coll::JobTopology> topology;
  if (coll::is_discovery(process.params.topology)) {
    process.params.content ^= digest_text("auto");
    publish_host_graph(process);
  } else if ((topology = coll::job_topology(process.params.topology)) != nullptr) {
    process.params.content ^= topology->hash;
  }
  process.node.numa = numa_here(process);
  publish_place(process);  // precedes the connection info, which publishes all
  hand_out_learnt();
  faults_ = make_fault_tolerance(process);
  btl::ConnectionInfo info = pmls_.front()->engine.transports.own_info();
  for (auto& pml : pmls_) pml->engine.transports.list_addresses(info);
  boot::Boot& boot = *process.boot;
  boot.put_connection_info(boot::connection_info_of(info));
  boot.publish();
  open_bell_pipe();
  configure_waiting();
  core::make_predefined_communicators(process);
  for (core::Communicator* one : {process.world, process.self})
    one->channel().pml->add_context(*one);
  for (auto& channel : process.channels()) {
    colls_.push_back(coll::make(*channel));
    colls_.back()->set_hosts(
        [](core::Process& of, const core::Peer& peer) { return node_of(of, peer); });
    colls_.back()->set_parts(part_of);
    channel->coll = colls_.back().get();
  }
  take_topology(topology.get(), true);
  if (boot.job().learnt != boot::Learnt::kFenced) learn();
  watch_ = std::make_unique<HangWatch>(process);
  start_thread();
}

/// Without mpirun, rank 0 reads the file at any TERN_COLL_TUNE, because other ranks may wait.
void Runtime::hand_out_learnt() const {
  boot::Boot& boot = *process_.boot;
  if (boot.job().learnt == boot::Learnt::kFromLauncher || boot.rank() != 0) return;
  if (boot.size() < 2) return;
  std::string text, remark;
  if (process_.params.coll_tune != CollTune::kOff) {
    const int cpus = process_.node.cpus;
    const std::string machine =
        LearntFile::machine_of(topo::machine_words(cpus), topo::allowed_cpu_count() < cpus);
    text = LearntFile(process_.params.coll_learnt, machine).pack(&remark);
  }
  if (!remark.empty()) log_line("%s", remark.c_str());
  boot.hand_out(text);
}

void Runtime::learn() {
  boot::Boot& boot = *process_.boot;
  if (boot.size() < 2 || process_.params.coll_tune == CollTune::kOff) return;
  const bool late = boot.job().learnt == boot::Learnt::kFenced;
  std::string text;
  try {
    text = boot.learnt();
  } catch (const Error&) {
    if (!process_.deaths.tolerated()) throw;  // else rank 0 is dead
  }
  for (auto& coll : colls_) coll->learn(text, late);
}

void Runtime::take_topology(const coll::JobTopology* topology, bool with_sessions) {
  if (topology == nullptr) return;
  plan_ = std::make_shared<const coll::forest::ForestPlan>(topology->graph);
  for (auto& coll : colls_) coll->set_graph(plan_, with_sessions);
}

void Runtime::enter_world() {
  meet_all();
  if (coll::is_discovery(process_.params.topology))
    take_topology(agreed_graph(process_).get(), false);
  faults_->enter();
  if (process_.boot->job().learnt == boot::Learnt::kFenced) learn();
  agree_on_forests();
}

/// The decision to take part depends on equal facts of all ranks; the folder is rank 0's.
void Runtime::agree_on_forests() {
  core::Communicator& world = *process_.world;
  if (plan_ == nullptr || plan_->ranks() != world.size() || world.size() < 2) return;
  const coll::Topology& machine = plan_->topology();
  const coll::forest::PlanStore store(process_.params.plan_cache);
  std::string text;
  coll::forest::ForestPlan::Keep keep;
  if (world.rank() == 0) {
    if (const coll::forest::Forests known = store.load(machine); !known.empty())
      text = coll::forest::text_of(known);
    keep = [store, &machine](const coll::forest::Forests& all) { store.keep(machine, all); };
  }
  const coll::forest::Forests agreed =
      world.channel().coll->agree_on_forests(world, machine, std::move(text));
  const auto plan = std::make_shared<const coll::forest::ForestPlan>(machine, agreed, keep);
  for (auto& coll : colls_) coll->set_agreed(plan);
  if (world.rank() != 0 || agreed.empty() || !process_.explain.on()) return;
  const std::string file = store.path_of(machine);
  process_.explain.say(
      "forests", {{"number", agreed.size()}, {"file", file}},
      strf("trees of earlier jobs for %zu collectives of the graph %s: %s (TERN_PLAN_CACHE)",
           agreed.size(), process_.params.topology.c_str(), file.c_str()));
}

void Runtime::open_bell_pipe() {
  Doorbell* const doorbell = pmls_.front()->engine.transports.doorbell();
  if (doorbell != nullptr && !pmls_.front()->engine.transports.alarms().empty())
    bell_pipes_.push_back(std::make_unique<BellPipe>(*doorbell));
}

void Runtime::start_thread() {
  Doorbell* doorbell = pmls_.front()->engine.transports.doorbell();
  if (!process_.threads.wants_progress || doorbell == nullptr) return;
  thread_ = std::make_unique<ProgressThread>(process_, *doorbell);
  process_.threads.has_progress = true;
}

void Runtime::start_proxy() {
  if (proxy_ != nullptr) return;
  proxy_ = std::make_unique<stream::Proxy>(process_, raise_if_fatal);
  process_.proxy = proxy_.get();
}

void Runtime::end_threads() noexcept {
  thread_.reset();
  process_.threads.has_progress = false;
  if (proxy_ != nullptr) proxy_->end_thread();
}

Runtime::~Runtime() {
  end_threads();
  proxy_.reset();
  process_.proxy = nullptr;
  watch_.reset();
  faults_.reset();
  bell_pipes_.clear();
  colls_.clear();
  for (const auto& channel : process_.channels()) rma::Engine::let_go(*channel);
  while (!pmls_.empty()) pmls_.pop_back();  // the first pml owns the shared parts
  process_.set_channels(1);
}

// Without mpirun, the rank detects hangs between sleeps.
int64_t Runtime::longest_sleep() const noexcept {
  constexpr int64_t kParts = 4;
  const int64_t most = process_.params.longest_sleep;
  const int64_t part = process_.params.hang / kParts;
  const bool looks = part != 0 && !process_.boot->job().watched;
  return looks && (most == Doorbell::kUntilRung || part < most) ? part : most;
}

void Runtime::configure_waiting() {
  const bool crowded = process_.node.oversubscribed;
  uint32_t spins = crowded ? kSpinsCrowded : kSpinsAlone;
  if (process_.params.spin != 0) {
    constexpr uint32_t kPollsPerMicrosecond = 20;
    spins = static_cast<uint32_t>(process_.params.spin) * kPollsPerMicrosecond;
  }
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  process_.waits.most = std::max(1, cores / (process_.node.ranks + process_.node.strangers));
  for (auto& channel : process_.channels()) {
    channel->progress.configure({.doorbell = pmls_.front()->engine.transports.doorbell(),
                                 .spins = spins,
                                 .yield_us = crowded ? kYieldsCrowdedUs : kYieldsAloneUs,
                                 .threaded = process_.threaded(),
                                 .longest_sleep_us = longest_sleep()});
    channel->progress.set_alarms(pmls_[channel->number]->engine.transports.alarms());
  }
}

bool Runtime::reaches_hosts() const noexcept {
  return pmls_.front()->engine.transports.reaches_hosts();
}

bool Runtime::reaches_this_host() const noexcept {
  return pmls_.front()->engine.transports.slabs() != nullptr;
}

// All channels, because a peer may use any. The doorbell may change.
void Runtime::widen(bool to_hosts) {
  const std::lock_guard<std::mutex> guard(widening_);
  if (to_hosts ? reaches_hosts() : reaches_this_host()) return;
  process_.meets_worlds = true;
  thread_.reset();
  process_.threads.has_progress = false;
  {
    std::vector<std::unique_ptr<core::ChannelLock>> locks;
    for (auto& channel : process_.channels()) {
      locks.push_back(std::make_unique<core::ChannelLock>(channel->progress));
      channel->progress.wake();
    }
    for (auto& pml : pmls_) {
      auto* const first = pml == pmls_.front() ? nullptr : &pmls_.front()->engine.transports;
      pml->engine.transports.widen(pml->engine, first, to_hosts);
      pml->engine.channel.slabs = pml->engine.transports.slabs();
    }
    open_bell_pipe();
    configure_waiting();
  }
  start_thread();
}

uint64_t Runtime::host() {
  if (host_ != 0) return host_;
  const std::string name = process_.boot->host(process_.world_rank);
  const std::string owner = "." + std::to_string(::geteuid());
  host_ = digest_text(name.substr(0, name.find('.')) + owner, access_domain()) | 1;
  process_.worlds.know_host(host_, process_.boot->node(process_.world_rank));
  return host_;
}

// No doorbell tells of the end of a process of another world.
void Runtime::limit_sleeps() noexcept {
  constexpr int64_t kLookUs = 50'000;
  if (process_.deaths.tolerated()) return;
  const bool looks = process_.worlds.sharing_memory() != 0;
  int64_t before = looks ? INT64_MAX : kLookUs;
  process_.waits.most_sleep_us.compare_exchange_strong(before, looks ? kLookUs : INT64_MAX);
}

void Runtime::count_ranks() {
  core::Process::Node& node = process_.node;
  const std::lock_guard<std::mutex> guard(widening_);
  limit_sleeps();
  const int crowd = std::max(process_.boot->tell_known_worlds(process_.worlds.known()),
                             node.ranks + process_.worlds.ranks_on(host_));
  if (node.strangers == crowd - node.ranks) return;
  node.strangers = crowd - node.ranks;
  const bool was_crowded = std::exchange(node.oversubscribed, crowd > node.cpus);
  if (node.oversubscribed != was_crowded && process_.explain.on())
    process_.explain.say("crowd",
                         {{"ranks", static_cast<unsigned long long>(crowd)},
                          {"cores", static_cast<unsigned long long>(node.cpus)}},
                         strf("%d ranks of all worlds on %d processors: waiting ranks %s", crowd,
                              node.cpus, was_crowded ? "keep cores" : "leave their cores"));
  std::vector<std::unique_ptr<core::ChannelLock>> locks;
  for (auto& channel : process_.channels())
    locks.push_back(std::make_unique<core::ChannelLock>(channel->progress));
  configure_waiting();
}

btl::ConnectionInfo Runtime::own_info(btl::AddressBook::LongAddresses* rest) {
  btl::Table& first = pmls_.front()->engine.transports;
  btl::ConnectionInfo info = first.own_info();
  for (auto& pml : pmls_) pml->engine.transports.list_addresses(info);
  *rest = first.book().own_long();
  return info;
}

void Runtime::learn_peer(const core::Peer& peer, const btl::ConnectionInfo& info,
                         btl::AddressBook::LongAddresses rest) {
  if (!peer.shares_memory && !reaches_hosts())
    throw Error(MPI_ERR_OTHER,
                strf("worlds without common memory need UCX or libfabric to reach each other, but "
                     "TERN_TRANSPORT=%s and this build have no such transport; tern_info lists the "
                     "transports that work here",
                     process_.params.transport.c_str()));
  pmls_.front()->engine.transports.book().learn(peer, info, std::move(rest));
}

void Runtime::open_memory(core::Peer& peer) {
  if (process_.params.sm_worlds == 0) throw Error(MPI_ERR_OTHER, "TERN_TEST has sm_worlds=0");
  core::Channel& first = process_.channel(0);
  const core::ChannelLock lock(first.progress);
  (void)first.slabs->bell(peer);  // maps the memory
}

void Runtime::part(const std::vector<uint32_t>& strangers) noexcept {
  if (strangers.empty()) return;
  send_all_waiting();
  for (auto& pml : pmls_) {
    core::Progress& progress = pml->engine.channel.progress;
    const core::ChannelLock lock(progress);
    const auto parted = [&] {
      bool all = true;
      for (const uint32_t index : strangers)
        all &= pml->engine.transports.say_bye(process_.peer(index));
      return all;
    };
    progress.wait(parted,
                  [](WaitReport* report) { report->words += "another world to disconnect"; });
  }
  wait_until_quiet();
  forget(strangers);
}

void Runtime::forget(const std::vector<uint32_t>& strangers) noexcept {
  if (strangers.empty()) return;
  for (const uint32_t index : strangers) process_.worlds.forget(index);
  count_ranks();
  for (auto& pml : pmls_) {
    core::Channel& channel = pml->engine.channel;
    const core::ChannelLock lock(channel.progress);
    for (const uint32_t index : strangers) {
      const core::Peer& peer = process_.peer(index);
      channel.coll->part(peer);
      pml->engine.peers.forget(peer);
      pml->engine.transports.part(peer);
    }
  }
  btl::AddressBook& book = pmls_.front()->engine.transports.book();
  for (const uint32_t index : strangers) book.forget(process_.peer(index));
}

void Runtime::admit_threads() noexcept {
  for (auto& pml : pmls_) pml->engine.requests.admit_threads();
  for (auto& coll : colls_) coll->admit_threads();
  configure_waiting();
}

void Runtime::send_all_waiting(int64_t most_ns) noexcept {
  const int64_t since = most_ns == INT64_MAX ? 0 : now_ns();
  for (auto& pml : pmls_) {
    pml->engine.outbox.wait_until_empty(
        since == 0 ? most_ns : std::max<int64_t>(most_ns - (now_ns() - since), 0));
    pml->engine.peers.explain_traffic();
  }
}

void Runtime::finish_streams() noexcept {
  if (proxy_ != nullptr) proxy_->finish();
}

void Runtime::leave() {
  finish_streams();
  send_all_waiting();
  constexpr int64_t kMostNs = 1'000'000'000;  // a process may have left by another's answer
  if (faults_->meet()) send_all_waiting(kMostNs);
  part(process_.worlds.all());
  wait_until_quiet();
  for (auto& pml : pmls_) pml->engine.transports.set_leaving();
  if (!faults_->leave()) meet_all();
}

// Waits until sent messages survive the end of this process.
void Runtime::wait_until_quiet() noexcept {
  for (auto& pml : pmls_) {
    core::Progress& progress = pml->engine.channel.progress;
    const core::ChannelLock lock(progress);
    progress.wait(
        [&] { return pml->engine.transports.is_quiet(); },
        [](WaitReport* report) { report->words += "the network to accept sent messages"; });
  }
}

// A peer attaches this process's memory at its first message, and reads collective data there.
void Runtime::see_off() noexcept {
  finish_streams();
  send_all_waiting();
  part(process_.worlds.all());
  wait_until_quiet();
  for (size_t i = 0; i < pmls_.size(); ++i) {
    core::Progress& progress = pmls_[i]->engine.channel.progress;
    const core::ChannelLock lock(progress);
    progress.wait([&] { return pmls_[i]->engine.transports.is_met() && colls_[i]->all_read(); },
                  [](WaitReport* report) {
                    report->words += "peers to receive the last messages of this rank";
                  });
  }
}

void Runtime::rest() noexcept {
  thread_.reset();
  process_.threads.has_progress = false;
  pmls_.front()->engine.transports.set_gone(true);
}

void Runtime::come_back() {
  pmls_.front()->engine.transports.set_gone(false);
  start_thread();
}

void Runtime::await(const core::Group& group) {
  boot::Boot& boot = *process_.boot;
  core::Progress& progress = process_.channel(0).progress;
  int met = 0, awaited = -1;
  const auto all_here = [&] {
    process_.waits.awaited.set(boot.connection_info_word());
    for (; met < group.size(); ++met) {
      const auto rank = static_cast<int>(group.peer_index(met));
      if (boot.has_connection_info(rank)) continue;
      if (awaited != rank) boot.tell_awaited(awaited = rank);
      return false;
    }
    return true;
  };
  {
    const core::ChannelLock lock(progress);
    progress.wait(all_here, [&](WaitReport* report) {
      report->words += strf("rank %d to initialise MPI", awaited);
      report->wait_for(awaited);
    });
  }
  process_.waits.awaited.set({});
  if (awaited >= 0) boot.tell_awaited(-1);
  for (int i = 0; i < group.size(); ++i) boot.expect(static_cast<int>(group.peer_index(i)));
}

// meet_all() progresses messages, because a working rank may need an answer.
void Runtime::meet_all() {
  boot::Boot& boot = *process_.boot;
  boot.start_fence();
  process_.waits.awaited.set(boot.fence_word());
  core::Progress& progress = process_.channel(0).progress;
  constexpr int64_t kPatienceNs = 10'000'000'000;
  const int64_t since = now_ns();
  const auto over = [&] {
    return boot.fence_over() || (TERN_UNLIKELY(has_lost_peers()) && now_ns() - since > kPatienceNs);
  };
  {
    const core::ChannelLock lock(progress);
    progress.wait(over, [](WaitReport* report) { report->words += "all ranks"; });
  }
  process_.waits.awaited.set({});
  if (boot.fence_over()) return boot.end_fence();
  log_line("some ranks did not reach the end of MPI within 10 s; this rank leaves without them");
}

bool Runtime::has_lost_peers() const noexcept {
  return std::any_of(pmls_.begin(), pmls_.end(),
                     [](const auto& pml) { return pml->engine.has_lost(); });
}

}  // namespace tern::api

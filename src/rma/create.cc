// SPDX-License-Identifier: Apache-2.0
#include "rma/create.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/process_id.hpp"
#include "btl/sm/cma.hpp"
#include "coll/objects.hpp"
#include "core/slabs.hpp"
#include "pml/pml.hpp"
#include "rma/copied.hpp"
#include "rma/shared_memory.hpp"

namespace tern::rma {
namespace {

using core::Communicator;

/// Prefers this rank's own error, because only this rank's text is known.
template <class T>
int first_error(const std::vector<T>& all, int rank, const std::string& own_text) {
  const auto own = all[static_cast<size_t>(rank)].code;
  if (own != MPI_SUCCESS) return fail(own, "%s", own_text.c_str());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].code != MPI_SUCCESS)
      return fail(
          all[i].code,
          "rank %zu could not take part in creating the window (%s); see the error of that rank", i,
          error_class_name(all[i].code) != nullptr ? error_class_name(all[i].code) : "?");
  return MPI_SUCCESS;
}

void forget_context(Communicator& communicator) noexcept {
  communicator.channel().pml->remove_context(communicator);
}

Communicator* derive(Communicator& parent) {
  const auto id =
      core::derive_context(parent.id(), core::Derivation::kWindow, parent.next_derivation(), 0);
  auto made = core::derive_communicator(parent, core::Ref<core::Group>(&parent.group()), id);
  made->error_handler = {};
  made->channel().pml->add_context(*made);
  made->ending = forget_context;
  return made.leak();
}

}  // namespace

class Creation {
 public:
  struct Card {
    int64_t bytes, unit;
    uint64_t alignment;
    int32_t code, flavor, contiguous, needs_keeper;
    uint32_t access_domain, proc_domain;
    Probe probe;
  };
  struct Landed {
    FileOffer offer;
    int32_t code;
    int32_t on_device;
    int32_t refused_by, refusal;
    uint64_t address;
    RemoteParts::Offer rdma;
  };

  Creation(Communicator& parent, const Wanted& wanted) : parent_(parent), wanted_(wanted) {}

  int run(core::Ref<Window>* made) {
    int code = exchange();
    if (code != MPI_SUCCESS) return code;
    window_ =
        core::Ref<Window>::adopt(new Window(parent_.process(), *derive(parent_), wanted_.flavor));
    find_locals();
    name_processes();
    code = require_shared();
    if (code == MPI_SUCCESS) code = share();
    if (code != MPI_SUCCESS) return code;
    explain();
    warn_of_refusal();
    *made = std::move(window_);
    return MPI_SUCCESS;
  }

 private:
  int exchange() {
    word_ = ~reinterpret_cast<uint64_t>(&word_);
    const Probe probe{::getpid(), reinterpret_cast<uint64_t>(&word_), word_};
    const Card mine{wanted_.bytes,
                    wanted_.unit,
                    wanted_.alignment,
                    wanted_.refused.code,
                    wanted_.flavor,
                    wanted_.contiguous ? 1 : 0,
                    tern::needs_keeper() ? 1 : 0,
                    access_domain(),
                    proc_domain(),
                    probe};
    if (const int code = coll::allgather(parent_, mine, &cards_); code != MPI_SUCCESS) return code;
    if (const int code = first_error(cards_, parent_.rank(), wanted_.refused.text);
        code != MPI_SUCCESS)
      return code;
    return agree();
  }

  int agree() {
    for (size_t rank = 0; rank < cards_.size(); ++rank) {
      alignment_ = std::max<size_t>(alignment_, cards_[rank].alignment);
      contiguous_ = contiguous_ && cards_[rank].contiguous != 0;
      if (cards_[rank].flavor != wanted_.flavor)
        return fail(MPI_ERR_OTHER, "rank %zu creates a window of another kind", rank);
    }
    return MPI_SUCCESS;
  }

  void find_locals() {
    Communicator& own = window_->targets.communicator();
    const bool alone = own.process().params.rma == WindowAccess::kMessages &&
                       wanted_.flavor != MPI_WIN_FLAVOR_SHARED;
    for (int rank = 0; rank < own.size(); ++rank)
      if (rank == own.rank() || (!alone && own.shares_memory_with(rank))) locals_.push_back(rank);
  }

  /// Processes are pids in a common PID namespace, otherwise negative numbers.
  void name_processes() {
    for (const int rank : locals_)
      if (cards_[static_cast<size_t>(rank)].proc_domain != proc_domain())
        window_->targets.pid = -1 - window_->targets.rank();
  }

  int require_shared() const {
    if (wanted_.flavor != MPI_WIN_FLAVOR_SHARED ||
        static_cast<int>(locals_.size()) == window_->targets.size())
      return MPI_SUCCESS;
    return fail(MPI_ERR_RMA_SHARED,
                "only %d of the %d ranks of comm share memory with this rank; create a "
                "communicator by MPI_Comm_split_type with MPI_COMM_TYPE_SHARED",
                static_cast<int>(locals_.size()), window_->targets.size());
  }

  [[nodiscard]] bool allocates() const {
    return wanted_.flavor == MPI_WIN_FLAVOR_ALLOCATE || wanted_.flavor == MPI_WIN_FLAVOR_SHARED;
  }

  [[nodiscard]] bool says(WindowAccess way) const {
    return window_->targets.process().params.rma == way && wanted_.flavor != MPI_WIN_FLAVOR_SHARED;
  }

  [[nodiscard]] bool asks_for_copies() const {
    return locals_.size() > 1 && (!allocates() || says(WindowAccess::kCopied));
  }

  void try_copying(Landed* mine) const {
    const bool own_memory = wanted_.flavor == MPI_WIN_FLAVOR_CREATE;
    mine->on_device = is_on_device() ? 1 : 0;
    if (mine->on_device != 0) return;
    mine->refused_by = window_->targets.rank();
    mine->refusal =
        own_memory ? try_own_memory(wanted_.base, static_cast<size_t>(wanted_.bytes)) : 0;
    for (size_t i = 0; i < locals_.size() && mine->refusal == 0; ++i) {
      mine->refused_by = locals_[i];
      mine->refusal = try_copies(cards_[static_cast<size_t>(locals_[i])].probe);
    }
  }

  [[nodiscard]] bool is_on_device() const noexcept {
    return wanted_.flavor == MPI_WIN_FLAVOR_CREATE && wanted_.bytes > 0 &&
           cuda::on_device(cuda::kind_of(wanted_.base));
  }

  /// The decision is equal on all ranks of the host.
  void decide_copying(const std::vector<Landed>& all) {
    copies_ = asks_for_copies();
    for (const int rank : locals_) {
      const Landed& one = all[static_cast<size_t>(rank)];
      if (!copies_ || (one.refusal == 0 && one.on_device == 0)) continue;
      copies_ = false;
      if (one.on_device != 0) {
        no_copies_ = strf("memory of rank %d lies on a device", rank);
        continue;
      }
      refusal_ = strf("rank %d may not copy memory of rank %d: %s", rank, one.refused_by,
                      std::strerror(one.refusal));
    }
  }

  /// All ranks agree on the checks.
  [[nodiscard]] bool checks() const { return parent_.process().params.checks("rma"); }

  [[nodiscard]] Plan plan() const {
    std::vector<int64_t> sizes;
    for (const int rank : locals_)
      sizes.push_back(allocates() ? cards_[static_cast<size_t>(rank)].bytes : 0);
    return {sizes, window_->targets.size(), contiguous_, alignment_,
            checks() ? AccessLog::bytes() : 0};
  }

  /// Returns kYes if /proc is closed between some ranks.
  [[nodiscard]] OfferedFile::Keep keeping() const {
    const bool any = std::any_of(locals_.begin(), locals_.end(), [this](int rank) {
      const Card& card = cards_[static_cast<size_t>(rank)];
      return card.needs_keeper != 0 || card.access_domain != tern::access_domain();
    });
    return any ? OfferedFile::Keep::kYes : OfferedFile::Keep::kNo;
  }

  int share() {
    Communicator& own = window_->targets.communicator();
    const int owner = locals_.front();
    Landed mine{};
    std::vector<Landed> all;
    std::string why;
    MadeFile made;
    size_t bytes = 0;
    const auto attempt = [&](auto&& work) {
      try {
        if (mine.code == MPI_SUCCESS) work();
      } catch (const Error& error) {
        mine.code = error.mpi_class();
        why = error.what();
      } catch (const std::bad_alloc&) {
        mine.code = MPI_ERR_NO_MEM;
        why = "out of memory";
      }
    };
    attempt([&] {
      bytes = plan().bytes();
      if (owner == own.rank()) made = make_shared(bytes, keeping());
      mine.offer = made.offered.offer();
      if (asks_for_copies()) try_copying(&mine);
    });
    int code = coll::allgather(own, mine, &all);
    if (code == MPI_SUCCESS) code = first_error(all, own.rank(), why);
    if (code != MPI_SUCCESS) return code;
    decide_copying(all);
    attempt([&] {
      const FileOffer& offer = all[static_cast<size_t>(owner)].offer;
      window_->map_ =
          made.fd.valid() ? map_shared(made.fd, bytes) : map_shared(offer, owner, bytes);
      fill(plan());
      mine.address = reinterpret_cast<uint64_t>(window_->targets.own().first());
      mine.rdma = offer_part();
    });
    code = coll::allgather(own, mine, &all);
    if (code == MPI_SUCCESS) code = first_error(all, own.rank(), why);
    for (const int rank : locals_)
      if (code == MPI_SUCCESS && copies_ && rank != own.rank())
        window_->targets[rank].there =
            reinterpret_cast<std::byte*>(all[static_cast<size_t>(rank)].address);
    return code == MPI_SUCCESS ? open_network(all) : code;
  }

  /// The nearest rank behind this one on another host, or -1. All ranks asking one rank would flood
  /// it.
  [[nodiscard]] int other_host() const {
    const int size = window_->targets.size(), rank = window_->targets.rank();
    for (int i = 1; i < size; ++i) {
      const int other = (rank + i) % size;
      if (!std::binary_search(locals_.begin(), locals_.end(), other)) return other;
    }
    return -1;
  }

  [[nodiscard]] RemoteParts::Offer offer_part() {
    const int other = other_host();
    if (other < 0 || says(WindowAccess::kMessages)) return {};
    return parts_.offer(window_->targets, other, says(WindowAccess::kNetwork));
  }

  /// A rank without RDMA of its own exchanges keys, too.
  int open_network(const std::vector<Landed>& all) {
    Targets& targets = window_->targets;
    OpenAccesses& accesses = window_->accesses;
    std::vector<RemoteParts::Offer> offers;
    std::vector<uint64_t> addresses;
    for (const Landed& one : all) {
      offers.push_back(one.rdma);
      addresses.push_back(one.address);
    }
    if (const int code = parts_.exchange(targets.communicator(), offers); code != MPI_SUCCESS)
      return code;
    std::vector<int> keys;
    const bool able = parts_.of(targets.rank()).state != RemoteParts::State::kNoRdma;
    for (int rank = 0; rank < targets.size(); ++rank) {
      if (targets.is_local(rank)) continue;
      if (able && parts_.offers_key(rank))
        keys.push_back(rank);
      else if (no_rdma_.empty())
        no_rdma_ = strf("rank %d %s", able ? rank : targets.rank(),
                        in_words(parts_.of(able ? rank : targets.rank()).state));
    }
    by_network_ = static_cast<int>(keys.size());
    if (keys.empty() && !parts_.of(targets.rank()).has_key()) return MPI_SUCCESS;
    // The path also holds this rank's registration.
    accesses.network =
        std::make_unique<NetworkPath>(targets, *accesses.messages, std::move(parts_),
                                      std::move(addresses), says(WindowAccess::kNetwork));
    for (const int rank : keys) targets[rank].path = accesses.network.get();
    return MPI_SUCCESS;
  }

  void fill(const Plan& plan) {
    Targets& targets = window_->targets;
    for (int rank = 0; rank < targets.size(); ++rank) {
      const Card& card = cards_[static_cast<size_t>(rank)];
      targets[rank].size = card.bytes;
      targets[rank].unit = card.unit;
    }
    std::byte* const base = window_->map_.data();
    core::Slabs* const slabs = targets.communicator().channel().slabs;
    for (size_t i = 0; i < locals_.size(); ++i) {
      Target& there = targets[locals_[i]];
      there.control = Control(base + plan.control(i), targets.size());
      const bool is_own = locals_[i] == targets.rank();
      if (allocates() && (is_own || !copies_)) there.memory = base + plan.memory(i);
      if (is_own) continue;
      if (copies_) there.process = cards_[static_cast<size_t>(locals_[i])].probe.pid;
      const core::ChannelLock lock(targets.progress());
      there.bell = &slabs->bell(targets.communicator().peer(locals_[i]));
    }
    fill_own();
    choose_paths();
  }

  void fill_own() {
    Window& window = *window_;
    Target& own = window.targets.own();
    own.control.head().pid.store(window.targets.pid, std::memory_order_relaxed);
    own.on_device = is_on_device();
    if (wanted_.flavor == MPI_WIN_FLAVOR_CREATE)
      (own.on_device ? own.there : own.memory) = static_cast<std::byte*>(wanted_.base);
    if (allocates()) advise(own.memory, static_cast<size_t>(own.size));
    window.contiguous_ = contiguous_;
    window.base = window.targets.dynamic() ? MPI_BOTTOM : own.first();
    if (own.on_device) window.model = MPI_WIN_SEPARATE;
    window.bytes = own.size;
    window.disp_unit = static_cast<int>(own.unit);
  }

  void choose_paths() {
    Targets& targets = window_->targets;
    OpenAccesses& accesses = window_->accesses;
    if (checks()) accesses.log = std::make_unique<AccessLog>(targets);
    if (targets.own().on_device) window_->device_ = std::make_unique<DevicePath>(targets);
    if (copies_) window_->copied_ = std::make_unique<CopiedPath>(targets);
    if (reached() < targets.size())
      accesses.messages = std::make_unique<Messages>(targets, window_->regions);
    for (int rank = 0; rank < targets.size(); ++rank) {
      Target& there = targets[rank];
      if (there.on_device)
        there.path = window_->device_.get();
      else if (rank == targets.rank() || there.memory != nullptr)
        there.path = &window_->mapped_;
      else if (there.process != 0)
        there.path = window_->copied_.get();
      else
        there.path = accesses.messages.get();
    }
  }

  [[nodiscard]] int reached() const {
    return allocates() || copies_ ? static_cast<int>(locals_.size()) : 1;
  }

  void explain() const {
    const Explain& explain = parent_.process().explain;
    if (!explain.on()) return;
    const int ranks = window_->targets.size(), copied = copies_ ? reached() - 1 : 0;
    const int mapped = reached() - copied, rest = ranks - reached() - by_network_;
    std::string why;
    if (rest > 0)
      why = says(WindowAccess::kMessages) ? "set by TERN_TEST=rma=messages"
                                          : "the others are on other hosts: " + no_rdma_;
    if (rest > 0 && !refusal_.empty()) why = refusal_;
    if (rest > 0 && !no_copies_.empty()) why = no_copies_;
    explain.say("window",
                {{"bytes", static_cast<unsigned long long>(wanted_.bytes)},
                 {"shared", static_cast<unsigned long long>(mapped)},
                 {"copied", static_cast<unsigned long long>(copied)},
                 {"network", static_cast<unsigned long long>(by_network_)},
                 {"messages", static_cast<unsigned long long>(rest)}},
                strf("a window of %lld bytes here: %d of %d ranks accessed in shared memory, %d by "
                     "copies of the kernel, %d by RDMA, %d by messages%s%s%s",
                     static_cast<long long>(wanted_.bytes), mapped, ranks, copied, by_network_,
                     rest, rest > 0 ? " (" : "", why.c_str(), rest > 0 ? ")" : ""));
  }

  void warn_of_refusal() const {
    if (refusal_.empty() || parent_.process().window_operations.refusal_said.exchange(true)) return;
    parent_.process().explain.warn(
        "fallback", {{"what", "messages to windows"}, {"why", refusal_}},
        strf("windows of the program's own memory use messages, progressed by the target: %s. "
             "Cure: %s, or windows of MPI_Win_allocate",
             refusal_.c_str(), btl::sm::cma_cure()));
  }

  Communicator& parent_;
  const Wanted& wanted_;
  std::vector<Card> cards_;
  core::Ref<Window> window_;
  std::vector<int> locals_;
  size_t alignment_ = 0;
  bool contiguous_ = true;
  uint64_t word_ = 0;
  bool copies_ = false;
  std::string refusal_;    // why not, if requested
  std::string no_copies_;  // why not, without cure
  RemoteParts parts_;
  int by_network_ = 0;
  std::string no_rdma_;  // why not for others on other hosts
};

int create(Communicator& parent, const Wanted& wanted, core::Ref<Window>* made) {
  return Creation(parent, wanted).run(made);
}

}  // namespace tern::rma

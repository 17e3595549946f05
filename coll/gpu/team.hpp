// SPDX-License-Identifier: Apache-2.0
// GpuTeam: the ranks of a communicator, each with a GPU that reaches those of all others, and what
// they share for collectives between streams: scratch that is mapped by all, tried, with words.
// Why: what is put into a stream must not need the host, nor addresses of other ranks' buffers,
// which no call exchanges; scratch is named, mapped and tried once, before the first call. Life
// cycle: made by all ranks together; leased by one communicator at a time. It stays when the
// communicator goes: what peers have put into their streams may still write to it. The next
// communicator of the same ranks takes it as it is. Memory goes back to the driver when the rank
// leaves its job.
// Threads: calls of one team one at a time (mutex()); making one under the channel's lock.
// Errors: where some rank cannot, all ranks come to that together, and know why.
// See: coll/gpu/layout.hpp, coll/gpu/README.md; tests/gpu/mpi/stream_between_devices.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "coll/engine/executions.hpp"
#include "coll/gpu/kernel_reports.hpp"
#include "coll/gpu/lanes.hpp"
#include "coll/gpu/layout.hpp"
#include "coll/gpu/lines.hpp"
#include "coll/gpu/multicast.hpp"
#include "coll/gpu/placed.hpp"
#include "coll/gpu/program.hpp"
#include "cuda/device.hpp"
#include "cuda/exportable.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

class GpuTeam {
 public:
  /// A rank reads a word of each other's.
  static constexpr int kMostRanks = 64;

  /// The number is the same on all ranks.
  GpuTeam(uint64_t number, std::vector<int> members, int rank, cuda::Device& device);
  GpuTeam(const GpuTeam&) = delete;
  GpuTeam& operator=(const GpuTeam&) = delete;
  ~GpuTeam();

  /// Gives back what it has; the object may be held longer.
  void end() noexcept;
  /// Whether it has: not where the device had work to do, which freeing would wait for.
  [[nodiscard]] bool ended() const noexcept { return scratch_.address == 0; }
  [[nodiscard]] uint64_t number() const noexcept { return number_; }
  [[nodiscard]] const std::vector<int>& members() const noexcept { return members_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return layout_.ranks; }
  [[nodiscard]] cuda::Device& device() const noexcept { return device_; }
  [[nodiscard]] const ScratchLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

  /// A place in a rank's scratch, for work of the own device.
  [[nodiscard]] std::byte* at(int rank, size_t offset) const noexcept {
    return bases_[static_cast<size_t>(rank)] + offset;
  }
  /// The set of the next pass; alike on all ranks, which run the same passes.
  [[nodiscard]] int next_set() noexcept { return set_ = (set_ + 1) % ScratchLayout::kSets; }
  /// The lowered schedule of an algorithm. Null with *why where it has none that the scratch holds.
  [[nodiscard]] const Placed* placed(const Algorithm& algorithm, int root, std::string* why);
  /// Stands for an operation that has no schedule (exchange_run.hpp), where waits are described.
  [[nodiscard]] const Placed& exchange(Collective what);
  /// The number of the next one, alike on all ranks.
  [[nodiscard]] uint32_t next_exchange() noexcept { return exchanges_++; }
  /// What users call its ranks, where these are a part of theirs.
  void name_ranks(std::vector<int> names) noexcept { names_ = std::move(names); }
  /// A smaller team of the same ranks, made with this one, for the first duplicate of its
  /// communicator, which may wait for no rank; null: none.
  [[nodiscard]] const std::shared_ptr<GpuTeam>& twin() const noexcept { return twin_; }
  [[nodiscard]] bool leased() const noexcept { return leased_ || (twin_ && twin_->leased()); }
  /// All calls have passed, or the context has ended.
  [[nodiscard]] bool at_rest() const noexcept {
    const bool own = device_.gone() || device_.stale() || passed() == calls();
    return own && (!twin_ || twin_->at_rest());
  }
  /// Nothing went wrong in it.
  [[nodiscard]] bool fit() const {
    return !broken() && !forsaken() && why_given_up().empty() && (!twin_ || twin_->fit());
  }
  /// No kernel of its follows: others may have its places.
  void drop_places() noexcept {
    places_.reset();
    if (twin_) twin_->drop_places();
  }
  void lease(bool on) noexcept;
  /// Whether all ranks have kernels.
  [[nodiscard]] bool reduces() const noexcept { return reduces_; }
  void set_reduces(bool all) noexcept {
    reduces_ = all;
    if (twin_) twin_->set_reduces(all);
  }
  [[nodiscard]] Lanes& lanes() noexcept { return lanes_; }
  /// Blocks of threads that a kernel may have: resident on every rank's device beside those of all
  /// other teams. 0: no kernel may wait; no_parts() says why.
  [[nodiscard]] int parts() const noexcept { return parts_; }
  [[nodiscard]] const char* no_parts() const noexcept {
    return reduces_ ? "waiting kernels of other communicators have all places of a rank's GPU"
                    : "a rank has no kernels";
  }
  /// Its own share of its device's places.
  [[nodiscard]] cuda::Residency::Share& places(cuda::Residency& of) {
    if (places_ == nullptr) places_ = of.share();
    return *places_;
  }
  /// Ranks share a GPU by MPS: kernels run beside one another, but no stream waits for words.
  [[nodiscard]] bool shares() const noexcept { return shares_; }
  void set_shares(bool some) noexcept {
    shares_ = some;
    if (twin_) twin_->set_shares(some);
  }
  void set_parts(int parts) noexcept { parts_ = parts; }
  /// Why kernels do not push lines of LL128, alike on all ranks; empty: they may.
  [[nodiscard]] const std::string& no_lines() const noexcept { return lines_.why_not; }
  /// The source of the fact that NVLink joins the GPUs, if lines may be used.
  [[nodiscard]] const std::string& nvlink_source() const noexcept { return lines_.source; }
  /// Before take_scratch().
  void set_lines(LinesVerdict of_all) noexcept { lines_ = std::move(of_all); }
  /// Memory with a multicast address, on all ranks or on none (null, and why).
  [[nodiscard]] Multicast* multicast() const noexcept { return multicast_.get(); }
  [[nodiscard]] const std::string& no_multicast() const noexcept { return no_multicast_; }
  void set_multicast(std::unique_ptr<Multicast> made) noexcept { multicast_ = std::move(made); }
  void set_no_multicast(std::string why) noexcept { no_multicast_ = std::move(why); }
  [[nodiscard]] Programs& programs() noexcept { return programs_; }
  /// Whether what is put into the stream is recorded for a graph.
  [[nodiscard]] bool is_captured(CUstream stream) const noexcept;
  /// Work of another stream than before comes behind what was put into that one. The context is
  /// current; not while the stream is captured.
  [[nodiscard]] CUresult order(CUstream stream) noexcept;
  /// What was put into the stream ends here: it has passed the call with the next number then.
  [[nodiscard]] CUresult end_call(CUstream stream) noexcept;

  /// What the commands of the last call read: until the stream has passed it, or for good where a
  /// graph has it.
  void keep(std::vector<std::shared_ptr<const void>> what, bool captured);

  // What the stream tells the host. Any thread; no call of the driver.
  /// How many calls were put into streams, and how many of these the stream has passed; captured
  /// ones do not count.
  [[nodiscard]] uint32_t calls() const noexcept { return calls_.load(std::memory_order_acquire); }
  [[nodiscard]] uint32_t passed() const noexcept {
    return voice_.here == nullptr ? calls() : voice_.here->passed.load(std::memory_order_acquire);
  }
  /// The wait at which the stream is, or a kernel in it; 0: it is at none.
  [[nodiscard]] uint32_t waiting() const noexcept;
  /// Waits that are put into the stream: the steps of a schedule from one on, in a pass.
  struct Wait {
    const Placed* placed = nullptr;
    size_t step = 0;
    MPI_Count pass = 0;
  };
  /// What a number of waiting() means: in words, and for which ranks of the team.
  [[nodiscard]] std::string describe(uint32_t wait, std::vector<int>* ranks) const;
  /// Who waited for whom in vain, where a kernel has given up; empty: none has.
  [[nodiscard]] std::string why_given_up() const;
  /// A rank takes no part any more: what waits will not end by itself. Any thread.
  void forsake(const std::string& why) noexcept;
  [[nodiscard]] bool forsaken() const noexcept { return forsaken_.load(std::memory_order_acquire); }
  /// Once it is.
  [[nodiscard]] const std::string& why_forsaken() const noexcept { return why_forsaken_; }
  /// Lets every wait of this rank's streams end, whatever was signalled: their data is undefined
  /// then, and the team of no use any more. Calls the driver, on a stream of its own.
  void let_go() noexcept;
  /// What kernels have said; while none is under way on any rank.
  [[nodiscard]] std::string clear_reports();
  /// Those of kernels alone, without the driver.
  void end_kernels() noexcept;
  // In a batch, around a wait; and for a launch.
  [[nodiscard]] uint32_t note(const Wait& wait, bool captured);
  [[nodiscard]] cuda::KernelReport* reports() const noexcept { return voice_.here->reports; }
  /// Of the lane of a set.
  [[nodiscard]] CUdeviceptr wait_word(int set) const noexcept {
    return voice_.at + static_cast<size_t>(set) * sizeof(uint32_t);
  }

  /// For what is explained once: a row, by what, and of which size.
  using Said = std::tuple<const Placed*, int, int>;
  [[nodiscard]] bool is_news(const Said& said) { return said_.insert(said).second; }
  /// A graph holds it: it is not another communicator's any more.
  void pin() noexcept { pinned_ = true; }
  /// A part of a call is missing: what ranks wait for will not come.
  void break_off(std::string why) noexcept { why_broken_ = std::move(why); }
  [[nodiscard]] bool broken() const noexcept { return !why_broken_.empty(); }
  [[nodiscard]] const std::string& why_broken() const noexcept { return why_broken_; }

  // How it is made (teams.cc): each 0 or a sentence that says what this rank lacks.
  struct Scratch {
    size_t bytes;
    bool plain;  // by cuMemAlloc, not memory with a descriptor
    bool twin;   // for a twin, too: a part of it besides
  };
  /// Waits for all work on the device: no lock may be held.
  [[nodiscard]] std::string take_scratch(Scratch wanted);
  [[nodiscard]] std::string offer(pml::Pml& pml, pml::MemoryHandle* handle) const;
  /// Gives the scratch of another rank; null: this one does not reach it.
  using Mapper = std::function<std::unique_ptr<pml::MappedPeerMemory>(int rank)>;
  [[nodiscard]] std::string map(const Mapper& map_of);
  /// A bit for each rank whose scratch is mapped here.
  [[nodiscard]] uint64_t mapped() const noexcept;
  void unmap() noexcept { mapped_.clear(); }
  /// Writes a pattern into the scratch of all others.
  [[nodiscard]] std::string write_trial();
  /// Whether those of all others have come, by copies and words.
  [[nodiscard]] std::string read_trial();

 private:
  /// In pinned memory.
  struct Voice {
    std::atomic<uint32_t> waits[ScratchLayout::kSets] = {};
    std::atomic<uint32_t> passed{0};
    cuda::KernelReport reports[ScratchLayout::kReports] = {};
  };
  static constexpr uint32_t kNotes = 4096;  // waits that are remembered, but for captured ones
  // Numbers of waits: of a graph's, of kernels that say themselves where they are.
  static constexpr uint32_t kCaptured = uint32_t{1} << 31, kKernels = uint32_t{1} << 30;
  [[nodiscard]] const Wait* find_note(uint32_t number) const noexcept;
  [[nodiscard]] KernelReports said_by_kernels() const noexcept;
  [[nodiscard]] std::string describe(const KernelReports::Said& said) const;
  [[nodiscard]] std::string prepare_words();
  [[nodiscard]] std::string make_voice();
  void give_back() noexcept;
  [[nodiscard]] std::string prepare_in(std::byte* scratch);
  [[nodiscard]] std::string make_twin(const ScratchLayout& layout);

  const uint64_t number_;
  const std::vector<int> members_;  // indices of peers, by rank
  const int rank_;
  cuda::Device& device_;
  ScratchLayout layout_;
  cuda::Exportable scratch_;  // none of a twin, whose place is in the other's
  std::shared_ptr<GpuTeam> twin_;
  std::vector<std::unique_ptr<pml::MappedPeerMemory>> mapped_;  // by rank; null: the own
  std::vector<std::byte*> bases_;
  std::map<std::pair<const Algorithm*, int>, std::unique_ptr<Placed>> placed_;
  std::map<Collective, Placed> exchange_;
  uint32_t exchanges_ = 0;
  Programs programs_{*this};
  std::set<Said> said_;
  int set_ = 0;
  int parts_ = 0;
  std::unique_ptr<cuda::Residency::Share> places_;
  std::atomic<bool> leased_{false};  // a duplicate has another channel
  bool reduces_ = false, pinned_ = false, shares_ = false;
  CUevent end_ = nullptr;  // of the last call
  CUstream last_ = nullptr;
  struct {
    Voice* here = nullptr;
    CUdeviceptr at = 0;  // for the device
    size_t bytes = 0;
  } voice_;
  std::atomic<uint32_t> calls_{0};
  std::vector<std::pair<uint32_t, std::shared_ptr<const void>>> kept_;  // by number of the call
  std::vector<std::shared_ptr<const void>> kept_for_graphs_;
  std::atomic<bool> forsaken_{false};
  std::string why_forsaken_;  // written before that
  mutable std::mutex notes_mutex_;
  std::vector<Wait> notes_, captured_;  // by number
  uint32_t next_note_ = 0;
  cuda::Stream* rescue_ = nullptr;
  Lanes lanes_{device_};
  std::string why_broken_;
  std::vector<int> names_;  // by rank
  [[nodiscard]] int named(int rank) const noexcept {
    const auto at = static_cast<size_t>(rank);
    return at < names_.size() ? names_[at] : rank;
  }
  LinesVerdict lines_{"no rank was asked", {}};
  std::string no_multicast_ = lines_.why_not;
  std::unique_ptr<Multicast> multicast_;
  std::mutex mutex_;
};

/// The teams of a channel.
class GpuTeams {
 public:
  explicit GpuTeams(Executions& executions) noexcept : executions_(executions) {}
  GpuTeams(const GpuTeams&) = delete;
  GpuTeams& operator=(const GpuTeams&) = delete;
  ~GpuTeams() {
    for (const auto& team : all_) team->end();
  }
  /// For which calls; a communicator may have one for each.
  enum class Use : uint8_t { kEnqueued, kOrdinary };
  /// So many in the process that a further one is not made for ordinary calls, which have another
  /// way: scratch stays when a communicator goes.
  static constexpr int kMostForOrdinary = 8;
  /// Together with all ranks of the communicator: an idle one of the same ranks, or a new one; null
  /// with *why_not on all of them, and where some do not reach each other's
  /// memory *islands: by rank the lowest rank of those that do (topo/islands.hpp). `device`: of
  /// this rank's stream, or null. Throws Error, std::bad_alloc.
  [[nodiscard]] std::shared_ptr<GpuTeam> lease(core::Communicator& communicator, Use use,
                                               cuda::Device* device, std::string* why_not,
                                               std::vector<int>* islands = nullptr);
  /// The communicator is gone.
  static void give_back(GpuTeam& team) noexcept { team.lease(false); }

 private:
  struct Facts;
  struct Plan;
  [[nodiscard]] std::shared_ptr<GpuTeam> make(core::Communicator& communicator, const Plan& plan,
                                              std::string* why_not, std::vector<int>* islands);
  [[nodiscard]] std::shared_ptr<GpuTeam> idle(const std::vector<int>& members,
                                              const cuda::Device& device) const;
  [[nodiscard]] static uint64_t parts_of(const std::vector<Facts>& all, bool* shares,
                                         std::string* why_not);
  [[nodiscard]] int sharers(const cuda::Device& device, const std::vector<Facts>& all) const;
  [[nodiscard]] int agree_on_places(core::Communicator& communicator, GpuTeam& team, Use use,
                                    const std::vector<Facts>& all, int wanted,
                                    std::string* why_not);
  void agree(core::Communicator& communicator, const std::string& mine, std::string* why_not);
  void prepare(core::Communicator& communicator, GpuTeam& team, GpuTeam::Scratch wanted,
               std::string* why_not, std::vector<int>* islands);
  [[nodiscard]] bool takes_more(Use use) const noexcept;
  [[nodiscard]] std::vector<int> find_islands(core::Communicator& communicator,
                                              const GpuTeam& team);
  void dissolve(core::Communicator& communicator, const std::shared_ptr<GpuTeam>& team);
  [[nodiscard]] bool add_multicast(core::Communicator& communicator, GpuTeam& team, int places);
  [[nodiscard]] static std::string why_no_multicast(const GpuTeam& team, const Params& params);
  void agree_on_lines(core::Communicator& communicator, const std::vector<Facts>& all,
                      const topo::NvLinks& links, uint64_t parts, GpuTeam& team);

  Executions& executions_;
  std::vector<std::shared_ptr<GpuTeam>> all_;
};

}  // namespace tern::coll

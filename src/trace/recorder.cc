// SPDX-License-Identifier: Apache-2.0
#include "trace/recorder.hpp"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/param_names.hpp"
#include "trace/claim.hpp"
#include "trace/lines.hpp"
#include "trace/memory.hpp"
#include "trace/packed.hpp"
#include "trace/page.hpp"
#include "trace/profile.hpp"
#include "trace/ranges.hpp"
#include "trace/sites.hpp"
#include "trace/ticks.hpp"

namespace tern::trace {

[[gnu::used]] constinit uint32_t on = 0;

namespace {

constexpr const char* kFunctions[] = {
#include "recorded.inc"
};
constexpr size_t kFunctionCount = sizeof kFunctions / sizeof kFunctions[0];

/// Recorder is the process's part. It stays until the process ends.
struct Recorder {
  Memory memory;
  std::atomic<bool> paused{false};
  std::atomic<uint32_t> requests{0}, comms{0};
  std::atomic<bool> named[kFunctionCount] = {};
  std::mutex defining;
  SiteTable sites;
  std::optional<Profile> profile;
  Start settings;
  bool reports = false;  // at the end of this call
  bool sent = false;     // rank 0 reports
  std::mutex labelling;
  std::map<std::string, uint32_t, std::less<>> labels;
  std::mutex grouping;
  std::map<std::string, uint32_t> groups;             // by members
  Claim profile_file;                                 // of rank 0, without mpirun
  std::vector<std::pair<int, std::string>> gathered;  // packed profiles of other ranks
};
Recorder* recorder = nullptr;

/// A thread's part. After the thread's end the next new thread goes on with the ring.
struct ThreadRecorder {
  Ticks ticks;
  ThreadHead* head = nullptr;
  Record* ring = nullptr;
  uint64_t mask = 0, written = 0;
  OpenCall* open = nullptr;
  Matched matched;
  std::vector<Record> done;
  bool in_range = false;
  Record polls;  // not yet written; function 0: none
  SiteCache sites;
  ProfileCache profile;
};
constinit thread_local ThreadRecorder* mine __attribute__((tls_model("initial-exec"))) = nullptr;

uint32_t site_number(const Frames& frames) noexcept {
  try {
    bool is_new = false;
    const uint32_t number = recorder->sites.number(frames, &is_new);
    if (is_new) define(line({"site", std::to_string(number), in_words(frames)}));
    return number;
  } catch (const std::exception&) {
    return 0;
  }
}

std::mutex idle_mutex;
std::vector<ThreadRecorder*> idle;  // of ended threads

void write(ThreadRecorder& thread, const Record& record) noexcept;
void show_open(ThreadRecorder& thread, const OpenCall* call) noexcept;

struct AtThreadEnd {
  bool armed = false;
  ~AtThreadEnd() {
    ThreadRecorder* const ended = std::exchange(mine, nullptr);
    if (!armed || ended == nullptr) return;
    if (ended->polls.function != 0) write(*ended, ended->polls);
    ended->polls.function = 0;
    ended->open = nullptr;
    show_open(*ended, nullptr);
    const std::lock_guard<std::mutex> lock(idle_mutex);
    try {
      idle.push_back(ended);
    } catch (const std::bad_alloc&) {  // a new thread gets a new ring
    }
  }
};
thread_local AtThreadEnd at_thread_end;

ThreadRecorder* take_idle() noexcept {
  const std::lock_guard<std::mutex> lock(idle_mutex);
  if (idle.empty()) return nullptr;
  ThreadRecorder* const taken = idle.back();
  idle.pop_back();
  taken->sites.start(site_number);
  taken->done.clear();
  return taken;
}

/// A thread without a ring still measures, for the profile.
TERN_COLD ThreadRecorder* attach() noexcept {
  at_thread_end.armed = true;
  if (ThreadRecorder* const taken = take_idle(); taken != nullptr) return mine = taken;
  try {
    auto* const made = new ThreadRecorder{};  // stays, like the ring
    made->ticks.start();
    made->sites.start(site_number);
    made->done.reserve(64);
    const Area& area = recorder->memory.area();
    const uint32_t index = area.head().threads.fetch_add(1);
    if (index < kMostThreads && area.sizes().ring_records != 0) {
      made->head = &area.thread(index);
      made->ring = area.ring(index);
      made->mask = area.sizes().ring_records - 1;
    }
    return mine = made;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

ThreadRecorder* this_thread() noexcept { return TERN_LIKELY(mine != nullptr) ? mine : attach(); }

TERN_COLD void name_function(uint16_t function) noexcept {
  if (recorder->named[function].exchange(true)) return;
  try {
    define(line({"function", std::to_string(function), kFunctions[function]}));
  } catch (const std::bad_alloc&) {
  }
}

void write(ThreadRecorder& thread, const Record& record) noexcept {
  if (thread.ring == nullptr) {
    if (recorder->memory.area().sizes().ring_records == 0) return;  // a profile alone
    recorder->memory.area().head().lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  thread.ring[thread.written & thread.mask] = record;
  thread.head->written.store(++thread.written, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_release);
}

/// The reader of a killed process takes the open call from here.
void show_open(ThreadRecorder& thread, const OpenCall* call) noexcept {
  if (thread.head == nullptr) return;
  Record& shown = thread.head->open;
  std::atomic_ref<int64_t> begin(shown.begin);
  if (call == nullptr) return begin.store(0, std::memory_order_relaxed);
  shown.function = call->record.function;
  shown.kind = call->record.kind;
  shown.site = call->record.site;
  begin.store(call->record.begin, std::memory_order_release);
}

bool is_poll(const ThreadRecorder& thread, const OpenCall& call) noexcept {
  const Record& record = call.record;
  if (record.flags != 0 || call.outer != nullptr) return false;
  if (record.kind == RecordKind::kWait) return call.completions == thread.done.size();
  return record.kind == RecordKind::kProbe && call.found_no_match;
}

void close_range(ThreadRecorder& thread) noexcept {
  if (thread.in_range) end_range();
  thread.in_range = false;
}

/// Polling loops would fill the ring, and push out other records.
void add_poll(ThreadRecorder& thread, const Record& poll) noexcept {
  constexpr int64_t kMostBetweenNs = 1000;
  Record& polls = thread.polls;
  if (polls.function == poll.function && polls.site == poll.site && polls.comm == poll.comm &&
      polls.peer == poll.peer && polls.tag == poll.tag &&
      poll.begin - polls.end <= kMostBetweenNs) {
    polls.number = (polls.flags & kPolls) == 0 ? 2 : polls.number + 1;
    polls.flags |= kPolls;
    polls.end = poll.end;
    return;
  }
  if (polls.function != 0) write(thread, polls);
  polls = poll;
}

void write_call(ThreadRecorder& thread, OpenCall& call) noexcept {
  if (is_poll(thread, call)) return add_poll(thread, call.record);
  if (thread.polls.function != 0) {
    write(thread, thread.polls);
    thread.polls.function = 0;
  }
  write(thread, call.record);
  if (call.part.function != 0) {
    call.part.end = call.record.end;
    write(thread, call.part);
  }
  for (size_t i = call.completions; i < thread.done.size(); ++i) {
    Record& done = thread.done[i];
    done.begin = call.record.begin;
    done.end = call.record.end;
    done.function = call.record.function;
    done.site = call.record.site;
    write(thread, done);
  }
}

void count(ThreadRecorder& thread, const OpenCall& call) noexcept {
  const Record& record = call.record;
  const int64_t waited = std::min(call.came_ns, record.end) - record.begin;
  const ProfiledCall counted{record, record.group != 0 ? record.group : call.group,
                             std::max<int64_t>(waited, 0), call.came_from, call.waited};
  const bool several = recorder->memory.area().head().threads.load(std::memory_order_relaxed) > 1;
  thread.profile.add(*recorder->profile, counted, several);
}

/// The frames in the sites of rank 0, which names their sources; empty on rank 0.
std::set<std::string> named_elsewhere() {
  std::set<std::string> frames;
  if (recorder->settings.rank == 0) return frames;
  for (const std::string& text : split(recorder->memory.first_definitions(), '\n'))
    if (text.starts_with("site\t"))
      for (std::string& frame : split(text.substr(text.rfind('\t') + 1), ';'))
        frames.insert(std::move(frame));
  return frames;
}

/// After the last record, because the debug information of all modules takes a while: seconds, if
/// all ranks read at once.
TERN_COLD void name_sources() noexcept {
  try {
    constexpr double kShown = 0.02;  // of a rank's time in MPI
    const auto costly = costly_sites(recorder->memory.area(), kShown);
    std::map<std::string, uintptr_t> frames;
    recorder->sites.each([&](uint32_t site, const Frames& path) {
      if (recorder->settings.rank != 0 && !costly.contains(site)) return;
      for (const uintptr_t frame : path)
        if (frame != 0) frames.emplace(frame_in_words(frame), frame);
    });
    for (const std::string& known : named_elsewhere()) frames.erase(known);
    for (const auto& [frame, address] : frames) {
      const std::string source = source_in_words(address);
      if (!source.empty()) define(line({"source", frame, source}));
    }
  } catch (const std::bad_alloc&) {  // the page has offsets
  }
}

/// The claim of FILE is rank 0's; another rank writes FILE.RANK.
TERN_COLD void write_page(const Page& page) {
  const Start& settings = recorder->settings;
  Claim file = std::move(recorder->profile_file);
  if (settings.rank != 0)
    file = claim(strf("%s.%d", settings.profile_file.c_str(), settings.rank), "profile");
  if (!file.fd.valid()) return;  // refused at the start
  const std::string error = write_profile(file, page.json());
  if (!error.empty()) log_line("%s", error.c_str());
}

/// Without mpirun: rank 0 prints a page and writes FILE, with all ranks that sent their profiles.
TERN_COLD void print_page() noexcept {
  try {
    const Start& settings = recorder->settings;
    const bool whole = recorder->gathered.size() + 1 == static_cast<size_t>(settings.size);
    Page page(whole ? program_invocation_short_name
                    : strf("rank %d of %d", settings.rank, settings.size));
    page.add(settings.rank, recorder->memory.area());
    for (const auto& [rank, packed] : recorder->gathered) {
      const Unpacked unpacked(packed);
      if (unpacked.area().valid()) page.add(rank, unpacked.area());
    }
    if (settings.rank == 0) std::fputs(page.text().c_str(), stderr);
    if (!settings.profile_file.empty()) write_page(page);
  } catch (const std::exception& error) {
    log_line("no profile: %s", error.what());
  }
}

TERN_COLD void report() noexcept {
  recorder->reports = false;
  if (recorder->sent) return;
  name_sources();
  if (!recorder->memory.is_mpiruns()) print_page();
}

/// Another program may write the file now, so rank 0 claims the file before the end.
TERN_COLD std::string claim_profile(Recorder& made) {
  const Start& what = made.settings;
  if (!what.profile || what.profile_file.empty() || what.rank != 0 || made.memory.is_mpiruns())
    return {};
  try {
    made.profile_file = claim(what.profile_file, "profile");
    return made.profile_file.remark;
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Communicators come and go, so the profile counts those with equal members together.
uint32_t group_number(const NewComm& comm) {
  const std::lock_guard<std::mutex> lock(recorder->grouping);
  const auto next = static_cast<uint32_t>(recorder->groups.size() + 1);
  const auto [at, is_new] = recorder->groups.emplace(comm.members + '\n' + comm.remote, next);
  if (is_new) define(line({"group", std::to_string(next), comm.name, comm.members, comm.remote}));
  return at->second;
}

void define_passing(const std::string& text) noexcept {
  const std::lock_guard<std::mutex> lock(recorder->defining);
  const Area& area = recorder->memory.area();
  AreaHead& head = area.head();
  const uint64_t at = head.passing.load(std::memory_order_relaxed);
  if (at + text.size() - head.passed.load(std::memory_order_acquire) > kPassingBytes) {
    head.lost_lines.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const size_t place = at % kPassingBytes;
  const size_t first = std::min(text.size(), kPassingBytes - place);
  std::memcpy(area.passing() + place, text.data(), first);
  std::memcpy(area.passing(), text.data() + first, text.size() - first);
  head.passing.store(at + text.size(), std::memory_order_release);
}

}  // namespace

std::string start(const Start& what) {
  if (recorder != nullptr) {
    if (recorder->memory.area().valid()) recorder->memory.area().head().ended.store(0);
    return {};
  }
  auto made = std::make_unique<Recorder>();
  std::string remark = made->memory.open(what);
  if (!made->memory.area().valid()) return remark;
  if (what.profile) made->profile.emplace(made->memory.area());
  made->settings = what;
  for (const std::string& text : {claim_profile(*made), what.ranges ? start_ranges() : ""})
    if (!text.empty()) remark += (remark.empty() ? "" : "; ") + text;
  recorder = made.release();
  on = 1;
  return remark;
}

void leave() noexcept {
  if (recorder == nullptr) return;
  recorder->reports = recorder->profile.has_value();
  recorder->memory.leave();
}

void abandon() noexcept {
  if (recorder == nullptr || recorder->memory.is_mpiruns()) return;
  if (mine != nullptr && mine->polls.function != 0)
    write(*mine, std::exchange(mine->polls, Record{}));
  const bool reported = recorder->memory.area().head().ended.load() != 0;
  if (recorder->profile && !reported) report();
  recorder->memory.abandon();
}

bool gathers_profiles() noexcept {
  return recorder != nullptr && recorder->profile && !recorder->memory.is_mpiruns();
}

std::string pack_profile() {
  recorder->sent = true;
  name_sources();
  return pack(recorder->memory.area(), now_ns());
}

void keep_profile(int rank, std::string packed) {
  recorder->gathered.emplace_back(rank, std::move(packed));
}

void begin(OpenCall& call, const void* site, const void* frame) noexcept {
  ThreadRecorder* const thread = this_thread();
  Record& record = call.record;
  record.flags = 0;
  record.peer = kNoPeer;
  record.tag = -1;
  record.comm = 0;
  record.bytes = -1;
  record.request = 0;
  record.number = 0;
  record.detail = record.group = 0;
  call.part.function = 0;
  call.came_ns = 0;
  call.came_from = kNoPeer;
  call.waited = Waited::kSender;
  call.group = 0;
  call.found_no_match = false;
  call.live = thread != nullptr && !recorder->paused.load(std::memory_order_relaxed);
  if (thread == nullptr) return;
  if (TERN_UNLIKELY(!recorder->named[record.function].load(std::memory_order_relaxed)))
    name_function(record.function);
  // A call that left by a jump lies below this frame: the stack grows downwards.
  call.outer = thread->open > &call ? thread->open : nullptr;
  call.completions = call.outer == nullptr ? 0 : static_cast<uint32_t>(thread->done.size());
  if (call.outer == nullptr) thread->done.clear();
  thread->matched = {};
  if (call.outer == nullptr && call.live) {
    close_range(*thread);  // of a call that left by a jump
    begin_range(call.name);
    thread->in_range = true;
  }
  record.site = thread->sites.find(site, frame);
  record.begin = thread->ticks.now();
  thread->open = &call;
  if (call.live) show_open(*thread, &call);
}

void end(OpenCall& call, int error) noexcept {
  ThreadRecorder* const thread = mine;
  if (thread == nullptr || thread->open != &call) return;  // ended before an error handler
  thread->open = call.outer;
  if (call.live) {
    call.record.end = thread->ticks.now();
    if (TERN_UNLIKELY(error != 0)) {
      call.record.flags |= kFailed;
      call.record.detail = static_cast<uint32_t>(error);
    }
    write_call(*thread, call);
    show_open(*thread, call.outer);
    if (recorder->profile && call.outer == nullptr) count(*thread, call);
  }
  if (call.outer == nullptr) close_range(*thread);
  thread->done.resize(call.completions);
  if (TERN_UNLIKELY(recorder->reports) && call.outer == nullptr) report();
}

void end_failed(OpenCall& call, int error) noexcept {
  end(call, error);
  if (mine == nullptr) return;
  mine->open = nullptr;
  close_range(*mine);
}

OpenCall* open_call() noexcept { return mine == nullptr ? nullptr : mine->open; }

void note_wait(OpenCall& call, Waited what, int cause, int64_t came_ns) noexcept {
  if (came_ns <= call.came_ns) return;
  call.came_ns = came_ns;
  call.came_from = cause;
  call.waited = what;
}

void note_wait(Waited what, int cause) noexcept {
  if (OpenCall* const call = open_call(); call != nullptr) note_wait(*call, what, cause, now());
}

void complete(const Record& done, int64_t came_ns) noexcept {
  if (mine == nullptr || mine->open == nullptr || !mine->open->live) return;
  if (came_ns > mine->open->came_ns || mine->open->group == 0) mine->open->group = done.group;
  const bool sends = done.kind == RecordKind::kSendDone;
  note_wait(*mine->open, sends ? Waited::kReceiver : Waited::kSender, done.peer, came_ns);
  try {
    mine->done.push_back(done);
  } catch (const std::bad_alloc&) {
  }
}

void record_started(const char* name, int64_t begin_ns) noexcept {
  size_t function = 0;
  while (function < kFunctionCount && std::strcmp(kFunctions[function], name) != 0) ++function;
  if (function == kFunctionCount || recorder == nullptr) return;
  OpenCall call;
  call.record.function = static_cast<uint16_t>(function);
  call.record.kind = RecordKind::kCall;
  call.name = name;
  begin(call, nullptr, nullptr);
  call.record.begin = begin_ns;
  end(call, 0);
}

Enqueued enqueued() noexcept {
  const OpenCall* const call = open_call();
  if (call == nullptr || !call->live) return {};
  const Record& record = call->record;
  return {record.function, record.site, record.comm, record.group, record.request};
}

void record_run(const Enqueued& call, int64_t begin_ns) noexcept {
  ThreadRecorder* const thread = call.function == 0 ? nullptr : this_thread();
  if (thread == nullptr) return;
  Record record{};
  record.begin = begin_ns;
  record.end = std::max(thread->ticks.now(), begin_ns);
  record.function = call.function;
  record.kind = RecordKind::kDevice;
  record.peer = kNoPeer;
  record.tag = -1;
  record.comm = call.comm;
  record.bytes = -1;
  record.site = call.site;
  record.request = call.request;
  record.group = call.group;
  write(*thread, record);
}

uint32_t next_request() noexcept {
  return recorder->requests.fetch_add(1, std::memory_order_relaxed) + 1;
}

void define(const NewComm& comm, CommNotes* notes) {
  notes->number = recorder->comms.fetch_add(1, std::memory_order_relaxed) + 1;
  if (recorder->memory.area().sizes().ring_records != 0)
    define_passing(line(
        {"comm", std::to_string(notes->number), comm.key, comm.name, comm.members, comm.remote}));
  if (recorder->profile) notes->group = group_number(comm);
}

// Progress threads also read the clock, but make no calls.
int64_t now() noexcept { return mine == nullptr ? now_ns() : mine->ticks.now(); }

Matched& last_matched() noexcept {
  static thread_local Matched without;
  return mine == nullptr ? without : mine->matched;
}

void define(const std::string& text) noexcept {
  const std::lock_guard<std::mutex> lock(recorder->defining);
  const Area& area = recorder->memory.area();
  AreaHead& head = area.head();
  const uint64_t at = head.definitions.load(std::memory_order_relaxed);
  if (at + text.size() > kDefinitionBytes) {
    head.lost_lines.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::memcpy(area.definitions() + at, text.data(), text.size());
  head.definitions.store(at + text.size(), std::memory_order_release);
}

void pause(bool paused) noexcept {
  if (recorder != nullptr) recorder->paused.store(paused, std::memory_order_relaxed);
}

void region(RecordKind kind, std::string_view name) noexcept {
  if (recorder == nullptr || recorder->paused.load(std::memory_order_relaxed)) return;
  ThreadRecorder* const thread = this_thread();
  if (thread == nullptr) return;
  Record record{};
  record.begin = record.end = thread->ticks.now();
  record.kind = kind;
  record.peer = kNoPeer;
  record.tag = -1;
  record.bytes = -1;
  try {
    const std::lock_guard<std::mutex> lock(recorder->labelling);
    auto found = recorder->labels.find(name);
    if (found == recorder->labels.end()) {
      const auto number = static_cast<uint32_t>(recorder->labels.size() + 1);
      found = recorder->labels.emplace(name, number).first;
      define(line({"label", std::to_string(number), name}));
    }
    record.site = found->second;
  } catch (const std::bad_alloc&) {
    return;
  }
  write(*thread, record);
}

}  // namespace tern::trace

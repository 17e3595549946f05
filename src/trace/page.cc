// SPDX-License-Identifier: Apache-2.0
#include "trace/page.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/param_names.hpp"

namespace tern::trace {
namespace {

constexpr double kLargeRest = 0.1;       // of all time, in MPI without a known wait
constexpr double kLeastShare = 0.01;     // of a wait state
constexpr double kLeastSeconds = 0.001;  // the same
constexpr size_t kMostSites = 10, kMostWaits = 6;

/// The lines of definitions of one process.
class Names {
 public:
  explicit Names(const Area& area) {
    const uint64_t bytes = std::min<uint64_t>(
        area.head().definitions.load(std::memory_order_acquire), kDefinitionBytes);
    std::string_view rest(area.definitions(), bytes);
    for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      take(split(std::string(rest.substr(0, end)), '\t'));
      rest.remove_prefix(end + 1);
    }
  }
  struct Group {
    std::string key, name;     // the key is equal on both sides of an inter-communicator
    std::vector<int> members;  // world ranks
  };
  [[nodiscard]] std::string function(uint32_t number) const { return value(functions_, number); }
  [[nodiscard]] std::string site(uint32_t number) const { return value(sites_, number); }
  /// Texts of frames, from rank 0.
  [[nodiscard]] const std::map<std::string, std::string>& sources() const { return sources_; }
  [[nodiscard]] const Group& group(uint32_t number) const {
    static const Group none;
    const auto found = groups_.find(number);
    return found == groups_.end() ? none : found->second;
  }

 private:
  using Table = std::unordered_map<uint32_t, std::string>;
  [[nodiscard]] static std::string value(const Table& table, uint32_t number) {
    const auto found = table.find(number);
    return found == table.end() ? std::string() : found->second;
  }
  static std::vector<int> ranks_of(const std::string& text) {
    std::vector<int> ranks;
    for (const std::string& run : split(text, ',')) {
      const size_t world = run.find(':');  // "w9f3c:0-1": of another world
      const std::string span = world == std::string::npos ? run : run.substr(world + 1);
      int first = 0, last = 0;
      const int read = std::sscanf(span.c_str(), "%d-%d", &first, &last);
      if (read == 1) last = first;
      for (int rank = first; read >= 1 && rank <= last; ++rank)
        ranks.push_back(world == std::string::npos ? rank : -1);
    }
    return ranks;
  }
  void take(const std::vector<std::string>& fields) {
    if (fields.size() < 3) return;
    if (fields[0] == "source") sources_[fields[1]] = fields[2];
    const auto number = static_cast<uint32_t>(std::strtoul(fields[1].c_str(), nullptr, 10));
    if (fields[0] == "function") functions_[number] = fields[2];
    if (fields[0] == "site") sites_[number] = fields[2];
    if (fields[0] == "group" && fields.size() > 4) {
      const auto& [low, high] = std::minmax(fields[3], fields[4]);
      groups_[number] = {low + "|" + high, fields[2],
                         ranks_of(fields[4] == "-" ? fields[3] : fields[4])};
    }
  }

  Table functions_, sites_;
  std::map<std::string, std::string> sources_;
  std::unordered_map<uint32_t, Group> groups_;
};

/// "solve" of "/path/program(solve+0x1f)"; "program+0x11f9" without a symbol.
std::string short_frame(const std::string& frame) {
  const size_t open = frame.find('(');
  const size_t colon = frame.rfind(':', open);
  if (open != std::string::npos && colon != std::string::npos) {  // FILE:LINE(function)
    const size_t name = frame.rfind('/', colon) + 1;
    return frame.substr(open + 1, frame.size() - open - 2) + " (" +
           frame.substr(name, open - name) + ")";
  }
  if (open != std::string::npos)
    return frame.substr(open + 1, frame.find_first_of("+)", open) - open - 1);
  const size_t slash = frame.rfind('/');
  return slash == std::string::npos ? frame : frame.substr(slash + 1);
}

bool begins_mpi(const std::string& function) {
  return function.find("_Init") != std::string::npos ||
         function.find("Session_init") != std::string::npos;
}

std::string micro_in_words(double value) {
  return value < 10 ? strf("%.2f", value) : strf("%.0f", value);
}

std::string count_in_words(double value) {
  if (value < 10000) return strf("%.0f", value);
  if (value < 1e7) return strf("%.0f k", value * 1e-3);
  return value < 1e10 ? strf("%.0f M", value * 1e-6) : strf("%.0f G", value * 1e-9);
}

using Kind = WaitState::Kind;

struct Words {
  const char *kind, *why, *cure;
};
constexpr Words kWords[] = {
    {"late sender", "sent after the receive was called",
     "send earlier, or let the receiver work until then (MPI_Irecv)"},
    {"late receiver", "received after the send was called",
     "receive earlier (MPI_Irecv), or send this size eagerly (TERN_EAGER_LIMIT)"},
    {"lock", "held the lock", "hold locks for a shorter time, or lock shared (MPI_LOCK_SHARED)"},
    {"late rank", "came last", "give the late rank less work, or use the nonblocking form"},
    {"early end", "ended last", "divide the work evenly; the other ranks were done"},
};
const Words& words_of(Kind kind) noexcept { return kWords[static_cast<size_t>(kind)]; }

constexpr Kind kMeasured[] = {Kind::kLateSender, Kind::kLateReceiver, Kind::kLock};

Kind kind_of_wait(const ProfileRow& row, size_t place) noexcept {
  if (place == 1) return Kind::kLateReceiver;
  return row.kind == static_cast<uint16_t>(RecordKind::kEpoch) ? Kind::kLock : Kind::kLateSender;
}

std::string quoted_json(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

}  // namespace

void Page::add(int rank, const Area& area) {
  const AreaHead& head = area.head();
  if (head.pid.load(std::memory_order_acquire) == 0) return;
  const Names names(area);
  sources_.insert(names.sources().begin(), names.sources().end());
  lost_lines_ += head.lost_lines.load();
  const int64_t end = head.end_ns.load() != 0 ? head.end_ns.load() : now_ns();
  RankTime time{rank, end - head.begin_ns, 0};
  const auto* const rows = reinterpret_cast<const ProfileRow*>(area.profile());
  const size_t used =
      std::min<size_t>(head.profile_rows.load(std::memory_order_acquire), kProfileRows);
  for (size_t i = 0; i < used; ++i) {
    const ProfileRow& row = rows[i];
    const std::string function =
        row.function == UINT16_MAX ? "other calls" : names.function(row.function);
    if (begins_mpi(function)) {
      time.run_ns -= row.ns;
      continue;
    }
    const Names::Group& comm = names.group(row.group);
    Site& site = sites_[{function, names.site(row.site), comm.key}];
    site.comm = comm.name;
    site.kind = static_cast<RecordKind>(row.kind);
    site.calls += row.calls;
    site.bytes += row.bytes;
    site.ns += row.ns;
    site.most_ns = std::max(site.most_ns, row.most_ns);
    site.failed += row.failed;
    for (size_t size = 0; size < kSizeClasses; ++size) site.sizes[size] += row.sizes[size];
    site.by_rank[rank] += row.ns;
    for (size_t place = 0; place < std::size(row.waits); ++place) {
      const ProfiledWait& wait = row.waits[place];
      if (wait.ns <= 0) continue;
      const bool known = wait.cause >= 0 && static_cast<size_t>(wait.cause) < comm.members.size();
      const int cause = known ? comm.members[static_cast<size_t>(wait.cause)] : -1;
      site.waited_for[static_cast<size_t>(kind_of_wait(row, place))][cause] += wait.ns;
    }
    time.mpi_ns += row.ns;
  }
  time.run_ns = std::max(time.run_ns, time.mpi_ns);  // the end of MPI_Finalize is later
  ranks_.push_back(time);
}

int64_t Page::Site::waited(WaitState::Kind what) const {
  int64_t sum = 0;
  for (const auto& [cause, part] : waited_for[static_cast<size_t>(what)]) sum += part;
  return sum;
}

std::string Page::short_site(const std::string& site) const {
  const auto shown = [this](const std::string& frame) {
    const auto source = sources_.find(frame);
    return short_frame(source == sources_.end() ? frame : source->second);
  };
  const std::vector<std::string> frames = split(site, ';');
  if (frames.empty() || frames[0].empty()) return "unknown";
  std::string text = shown(frames[0]);
  const bool of_user = frames.size() > 1 && frames[1].find("/libc.so") == std::string::npos;
  if (of_user) text += " < " + shown(frames[1]);
  return text;
}

double Page::all_seconds() const noexcept {
  double sum = 0;
  for (const RankTime& time : ranks_) sum += static_cast<double>(time.run_ns) * 1e-9;
  return std::max(sum, 1e-9);
}

std::vector<const Page::SiteRow*> Page::by_time() const {
  std::vector<const SiteRow*> rows;
  for (const auto& row : sites_) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(),
            [](const auto* a, const auto* b) { return a->second.ns > b->second.ns; });
  return rows;
}

// The calls of equal groups from all sites: members may call from different places.
void Page::add_late_ranks(std::vector<WaitState>* found) const {
  struct Group {
    std::map<int, int64_t> by_rank;
    int64_t most_ns = 0;
    std::string site;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const auto& [key, site] : sites_) {
    const bool ends = std::get<0>(key) == "MPI_Finalize";
    if (site.kind != RecordKind::kCollective && !ends) continue;
    Group& group = groups[{std::get<0>(key), std::get<2>(key)}];
    for (const auto& [rank, ns] : site.by_rank) group.by_rank[rank] += ns;
    if (site.ns >= group.most_ns) {
      group.most_ns = site.ns;
      group.site = std::get<1>(key);
    }
  }
  for (const auto& [key, group] : groups) {
    if (group.by_rank.size() < 2) continue;
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto last = std::min_element(group.by_rank.begin(), group.by_rank.end(), less);
    int64_t waited = 0;
    for (const auto& [rank, ns] : group.by_rank) waited += ns - last->second;
    const bool ends = key.first == "MPI_Finalize";
    found->push_back({ends ? WaitState::Kind::kEarlyEnd : WaitState::Kind::kLateRank, key.first,
                      group.site, static_cast<double>(waited) * 1e-9, 0, last->first});
  }
}

std::vector<WaitState> Page::waits() const {
  std::vector<WaitState> found;
  for (const auto& [key, site] : sites_)
    for (const Kind kind : kMeasured) {
      const int64_t waited = site.waited(kind);
      if (waited <= 0) continue;
      const auto& causes = site.waited_for[static_cast<size_t>(kind)];
      const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
      const auto most = std::max_element(causes.begin(), causes.end(), less);
      const bool clear = most->second * 2 > waited;
      found.push_back({kind, std::get<0>(key), std::get<1>(key), static_cast<double>(waited) * 1e-9,
                       0, clear ? most->first : -1});
    }
  add_late_ranks(&found);
  for (WaitState& state : found) state.share = state.seconds / all_seconds();
  std::erase_if(found, [](const WaitState& state) {
    return state.seconds < kLeastSeconds || state.share < kLeastShare;
  });
  std::sort(found.begin(), found.end(),
            [](const WaitState& a, const WaitState& b) { return a.seconds > b.seconds; });
  return found;
}

std::string Page::share_lines() const {
  const auto share = [](const RankTime& time) {
    return static_cast<double>(time.mpi_ns) /
           static_cast<double>(std::max<int64_t>(time.run_ns, 1));
  };
  const auto less = [&](const RankTime& a, const RankTime& b) { return share(a) < share(b); };
  const auto [least, most] = std::minmax_element(ranks_.begin(), ranks_.end(), less);
  double sum = 0;
  int64_t longest = 0;
  for (const RankTime& time : ranks_) {
    sum += share(time);
    longest = std::max(longest, time.run_ns);
  }
  return strf(
      "Profile of %s: %zu rank%s, %.3f s\nTime in MPI: mean %.1f %%, least %.1f %% (rank %d), "
      "most %.1f %% (rank %d)\n",
      program_.c_str(), ranks_.size(), ranks_.size() == 1 ? "" : "s",
      static_cast<double>(longest) * 1e-9, 100 * sum / static_cast<double>(ranks_.size()),
      100 * share(*least), least->rank, 100 * share(*most), most->rank);
}

/// Communicators and outer frames are not shown, so rows that differ only there are one.
std::vector<std::pair<std::string, Page::Site>> Page::by_words() const {
  std::vector<std::pair<std::string, Site>> rows;
  std::map<std::string, size_t> places;
  for (const SiteRow* const row : by_time()) {
    const auto& [key, site] = *row;
    const std::string words = std::get<0>(key) + " at " + short_site(std::get<1>(key));
    const auto [place, is_new] = places.emplace(words, rows.size());
    if (is_new) {
      rows.emplace_back(words, site);
      continue;
    }
    Site& sum = rows[place->second].second;
    sum.calls += site.calls;
    sum.bytes += site.bytes;
    sum.ns += site.ns;
    sum.most_ns = std::max(sum.most_ns, site.most_ns);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  return rows;
}

std::string Page::lost_lines() const {
  if (lost_lines_ == 0) return {};
  return strf("\n%" PRIu64 " places or groups have no names here: the memory for names was full.\n",
              lost_lines_);
}

std::string Page::site_lines() const {
  std::string text =
      "\n  share    seconds     calls  mean us  longest us  bytes/call  call, and caller < its "
      "caller\n";
  const auto rows = by_words();
  for (size_t i = 0; i < std::min(rows.size(), kMostSites); ++i) {
    const auto& [words, site] = rows[i];
    const double seconds = static_cast<double>(site.ns) * 1e-9;
    const auto calls = static_cast<double>(std::max<int64_t>(site.calls, 1));
    text += strf(
        "%6.1f %%  %9.3f  %8s  %7s  %10s  %10s  %s\n", 100 * seconds / all_seconds(), seconds,
        count_in_words(calls).c_str(), micro_in_words(seconds * 1e6 / calls).c_str(),
        micro_in_words(static_cast<double>(site.most_ns) * 1e-3).c_str(),
        site.bytes == 0 ? "-" : count_in_words(static_cast<double>(site.bytes) / calls).c_str(),
        words.c_str());
  }
  if (rows.size() > kMostSites)
    text += strf("         and %zu more places\n", rows.size() - kMostSites);
  return text;
}

/// A profile has sums alone, which hide late ranks that take turns.
std::string Page::unexplained_line(const std::vector<WaitState>& found) const {
  double in_mpi = 0, waited = 0;
  for (const RankTime& time : ranks_) in_mpi += static_cast<double>(time.mpi_ns) * 1e-9;
  for (const WaitState& state : found) waited += state.seconds;
  const double rest = (in_mpi - waited) / all_seconds();
  if (rest < kLargeRest) return {};
  return strf(
      "\nA further %.0f %% of the time in MPI may be waits for ranks that take turns, or for "
      "nonblocking\ncollectives: mpirun --trace=FILE, then tern_trace FILE.\n",
      100 * rest * all_seconds() / in_mpi);
}

std::string Page::wait_lines() const {
  const std::vector<WaitState> found = waits();
  if (found.empty())
    return "\nNo sum of waits for one rank takes a hundredth of the time.\n" +
           unexplained_line(found);
  std::string text = "\nWaits for other ranks:\n";
  for (size_t i = 0; i < std::min(found.size(), kMostWaits); ++i) {
    const WaitState& state = found[i];
    const std::string whom = state.cause < 0 ? "several ranks" : strf("rank %d", state.cause);
    const std::string where = state.function + " at " + short_site(state.site);
    text += strf("%6.1f %%  %9.3f s  %s: %s %s\n                      cure: %s\n",
                 100 * state.share, state.seconds, where.c_str(), whom.c_str(),
                 words_of(state.kind).why, words_of(state.kind).cure);
  }
  if (found.size() > kMostWaits)
    text += strf("         and %zu more waits\n", found.size() - kMostWaits);
  return text + unexplained_line(found);
}

std::string Page::text() const {
  return share_lines() + site_lines() + wait_lines() + lost_lines();
}

std::string Page::json() const {
  std::string text = strf("{\"program\": %s,\n \"ranks\": [", quoted_json(program_).c_str());
  const char* comma = "";
  for (const RankTime& time : ranks_) {
    text += strf("%s\n  {\"rank\": %d, \"seconds\": %.9f, \"mpi_seconds\": %.9f}", comma, time.rank,
                 static_cast<double>(time.run_ns) * 1e-9, static_cast<double>(time.mpi_ns) * 1e-9);
    comma = ",";
  }
  text += "],\n \"sites\": [";
  comma = "";
  for (const SiteRow* const row : by_time()) {
    const Site& site = row->second;
    const auto waited = [&site](Kind kind) {
      return static_cast<double>(site.waited(kind)) * 1e-9;
    };
    text += strf("%s\n  {\"function\": %s, \"site\": %s, \"communicator\": %s, \"calls\": %" PRId64
                 ", \"failed\": %" PRId64 ", \"bytes\": %" PRId64
                 ", \"seconds\": %.9f, \"longest_seconds\": %.9f, \"late_sender_seconds\": %.9f, "
                 "\"late_receiver_seconds\": %.9f, \"lock_seconds\": %.9f, \"sizes\": [",
                 comma, quoted_json(std::get<0>(row->first)).c_str(),
                 quoted_json(std::get<1>(row->first)).c_str(), quoted_json(site.comm).c_str(),
                 site.calls, site.failed, site.bytes, static_cast<double>(site.ns) * 1e-9,
                 static_cast<double>(site.most_ns) * 1e-9, waited(Kind::kLateSender),
                 waited(Kind::kLateReceiver), waited(Kind::kLock));
    for (size_t i = 0; i < kSizeClasses; ++i)
      text += strf("%s%" PRIu64, i == 0 ? "" : ", ", site.sizes[i]);
    text += "], \"rank_seconds\": {";
    const char* inner = "";
    for (const auto& [rank, ns] : site.by_rank) {
      text += strf("%s\"%d\": %.9f", inner, rank, static_cast<double>(ns) * 1e-9);
      inner = ", ";
    }
    text += "}}";
    comma = ",";
  }
  text += "],\n \"waits\": [";
  comma = "";
  for (const WaitState& state : waits()) {
    text += strf(
        "%s\n  {\"kind\": \"%s\", \"function\": %s, \"site\": %s, \"seconds\": %.9f, \"share\": "
        "%.6f, \"cause\": %d, \"cure\": %s}",
        comma, words_of(state.kind).kind, quoted_json(state.function).c_str(),
        quoted_json(state.site).c_str(), state.seconds, state.share, state.cause,
        quoted_json(words_of(state.kind).cure).c_str());
    comma = ",";
  }
  return text + "]}\n";
}

}  // namespace tern::trace

// SPDX-License-Identifier: Apache-2.0
// The page for a browser: page.html with a table of totals (JSON) and arrays of the longest calls
// and messages (base64).
// Why: a page with ten million calls would not open.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "tools/tern_info/json.hpp"
#include "tools/tern_trace/page_text.hpp"
#include "tools/tern_trace/reports.hpp"

namespace tern::trace_tool {
namespace {

// Sizes of the parts; together the page stays below 16 MiB.
constexpr size_t kMostCalls = 180'000, kMostMessages = 60'000, kMostParts = 8'000;
constexpr size_t kMostPlaces = 1'000, kMostRows = 4'096, kMostCells = size_t{1} << 21;
constexpr size_t kMostBins = 2'000, kLongestText = 400;
constexpr uint32_t kMostSide = 256;

/// Of a call in the timeline.
enum class Colour : uint8_t {
  kCompute,
  kSend,
  kReceive,
  kWait,
  kCollective,
  kWindow,
  kFile,
  kOther
};
constexpr size_t kColours = 8;

Colour colour_of(RecordKind kind) noexcept {
  switch (kind) {
    case RecordKind::kSend:
    case RecordKind::kSendStart:
      return Colour::kSend;
    case RecordKind::kReceive:
    case RecordKind::kReceiveStart:
    case RecordKind::kProbe:
      return Colour::kReceive;
    case RecordKind::kWait:
      return Colour::kWait;
    case RecordKind::kCollective:
    case RecordKind::kCollectiveStart:
      return Colour::kCollective;
    case RecordKind::kOneSided:
    case RecordKind::kEpoch:
      return Colour::kWindow;
    case RecordKind::kFile:
      return Colour::kFile;
    default:
      return Colour::kOther;
  }
}

/// Times in the page: seconds from the start. Read by page.js, little-endian.
struct PageCall {
  double begin = 0;
  float length = 0, waited = 0, bytes = 0;
  int32_t peer = -1;
  uint32_t lane = 0;
  uint16_t place = 0, colour = 0;
};
static_assert(sizeof(PageCall) == 32);

struct PageMessage {
  double sent = 0, received = 0;
  uint32_t from = 0, to = 0;  // lanes
};
static_assert(sizeof(PageMessage) == 24);

struct PagePart {
  double begin = 0, end = 0;
  uint32_t lane = 0, kind = 0;
};
static_assert(sizeof(PagePart) == 24);

template <class Item>
std::string base64(const std::vector<Item>& items) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t size = items.size() * sizeof(Item);
  std::vector<unsigned char> bytes(size + 2);
  if (size > 0) std::memcpy(bytes.data(), items.data(), size);
  std::string text;
  text.reserve(size / 3 * 4 + 8);
  for (size_t i = 0; i < size; i += 3) {
    const unsigned word = static_cast<unsigned>(bytes[i]) << 16 |
                          static_cast<unsigned>(bytes[i + 1]) << 8 | bytes[i + 2];
    text += kDigits[word >> 18];
    text += kDigits[word >> 12 & 63];
    text += i + 1 < size ? kDigits[word >> 6 & 63] : '=';
    text += i + 2 < size ? kDigits[word & 63] : '=';
  }
  return text;
}

/// A quoted text without the beginning of a tag.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : info::json_text(text.substr(0, kLongestText)))
    result += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return result;
}

std::string page_seconds(double ns) { return strf("%.9g", ns * 1e-9); }

class PageWriter {
 public:
  explicit PageWriter(Analysis* analysis) : a_(*analysis), trace_(*analysis->trace) {}

  std::string write() {
    choose_lanes();
    choose_places();
    take_calls();
    take_messages();
    take_parts();
    std::string text;
    const std::string parts[][2] = {{"/*style*/", kPageStyle},
                                    {"/*report*/", report()},
                                    {"/*bins*/", base64(bins_)},
                                    {"/*calls*/", base64(calls_)},
                                    {"/*messages*/", base64(messages_)},
                                    {"/*path*/", base64(parts_)},
                                    {"/*matrix*/", matrix()},
                                    {"/*script*/", kPageScript}};
    std::string_view rest = kPageFrame;
    for (const auto& [mark, part] : parts) {
      const size_t at = rest.find(mark);
      TERN_ASSERT(at != std::string_view::npos);
      text.append(rest.substr(0, at)).append(part);
      rest.remove_prefix(at + mark.size());
    }
    return text.append(rest);
  }

 private:
  [[nodiscard]] double time(int64_t job) const noexcept {
    return static_cast<double>(job - trace_.start) * 1e-9;
  }

  void choose_lanes() {
    for (uint32_t i = 0; i < trace_.lanes.size(); ++i)
      if (trace_.lanes[i].records > 0) lanes_.push_back(i);
    const auto row = [&](uint32_t i) {
      const Lane& lane = trace_.lanes[i];
      return std::make_pair(trace_.processes[lane.process].row, lane.thread);
    };
    std::sort(lanes_.begin(), lanes_.end(),
              [&](uint32_t a, uint32_t b) { return row(a) < row(b); });
    if (lanes_.size() > kMostRows) {
      notes_.push_back(
          strf("the timeline shows the first %zu of %zu threads; --ranks chooses others", kMostRows,
               lanes_.size()));
      lanes_.resize(kMostRows);
    }
    line_of_.assign(trace_.lanes.size(), ~0u);
    for (uint32_t line = 0; line < lanes_.size(); ++line) line_of_[lanes_[line]] = line;
    bin_count_ = std::clamp(kMostCells / std::max<size_t>(lanes_.size(), 1), size_t{1}, kMostBins);
  }

  void choose_places() {
    places_ = places_by_time(a_);
    if (places_.size() > kMostPlaces) {
      notes_.push_back(strf("%zu call sites with little time are omitted; --json lists all",
                            places_.size() - kMostPlaces));
      places_.resize(kMostPlaces);
    }
    number_of_.assign(a_.places.size(), static_cast<uint16_t>(kMostPlaces));
    for (size_t i = 0; i < places_.size(); ++i) number_of_[places_[i]] = static_cast<uint16_t>(i);
  }

  /// Calls of at least this length fit into the page, and `ties_` of exactly this length.
  int64_t least_length() {
    std::vector<int64_t> lengths;
    lengths.reserve(a_.calls);
    for (const uint32_t number : lanes_)
      for (const Span& span : trace_.lanes[number].spans)
        for (size_t i = 0; i < span.count; ++i)
          if (is_call(span.first[i])) lengths.push_back(span.first[i].end - span.first[i].begin);
    ties_ = lengths.size();
    if (lengths.size() <= kMostCalls) return 0;
    const auto nth = lengths.end() - static_cast<ptrdiff_t>(kMostCalls);
    std::nth_element(lengths.begin(), nth, lengths.end());
    const int64_t least = *nth;
    ties_ = kMostCalls - static_cast<size_t>(std::count_if(
                             nth, lengths.end(), [&](int64_t length) { return length > least; }));
    notes_.push_back(
        strf("the timeline draws %s of %s calls singly, those of %s and longer; bins "
             "of %s show the others. --from, --to and --ranks make a page of a part",
             count_text(kMostCalls).c_str(), count_text(lengths.size()).c_str(),
             seconds_text(static_cast<double>(least)).c_str(), seconds_text(bin_ns()).c_str()));
    return least;
  }

  [[nodiscard]] double bin_ns() const {
    return static_cast<double>(trace_.end - trace_.start) / static_cast<double>(bin_count_);
  }

  void take_calls() {
    const int64_t least = least_length();
    bins_.assign(lanes_.size() * bin_count_, 0);
    for (uint32_t line = 0; line < lanes_.size(); ++line) {
      const Lane& lane = trace_.lanes[lanes_[line]];
      const std::vector<Edge>& edges = a_.edges[lanes_[line]];
      sums_.assign(bin_count_ * kColours, 0);
      size_t edge = 0;
      for (const Span& span : lane.spans)
        for (size_t i = 0; i < span.count; ++i) {
          const Record& record = span.first[i];
          if (!is_call(record)) continue;
          add_to_bins(lane, record);
          const int64_t length = record.end - record.begin;
          if (length > least || (length == least && ties_ > 0)) {
            ties_ -= length == least;
            take(line, lane, record, edges, &edge);
          }
        }
      settle_bins(line);
    }
  }

  void take(uint32_t line, const Lane& lane, const Record& record, const std::vector<Edge>& edges,
            size_t* edge) {
    const int64_t begin = trace_.begin_of(lane, record);
    while (*edge < edges.size() && edges[*edge].begin < begin) ++*edge;
    double waited = 0;
    for (size_t i = *edge; i < edges.size() && edges[i].begin == begin; ++i)
      waited += static_cast<double>(std::max<int64_t>(edges[i].waited, 0));
    const uint32_t peer = a_.places.peer_of(lane.process, record);
    calls_.push_back(
        {time(begin), static_cast<float>(record.end - record.begin) * 1e-9f,
         static_cast<float>(waited * 1e-9), static_cast<float>(record.bytes),
         peer == Trace::kUnknown ? -1 : static_cast<int32_t>(trace_.processes[peer].row), line,
         number_of_[a_.places.of(lane.process, record)],
         static_cast<uint16_t>(colour_of(record.kind))});
  }

  void add_to_bins(const Lane& lane, const Record& record) {
    const double width = std::max(bin_ns(), 1.0);
    const double from = static_cast<double>(trace_.begin_of(lane, record) - trace_.start) / width;
    const double to = static_cast<double>(trace_.end_of(lane, record) - trace_.start) / width;
    const auto colour = static_cast<size_t>(colour_of(record.kind));
    const auto last = static_cast<double>(bin_count_ - 1);
    const auto first_bin = static_cast<size_t>(std::clamp(from, 0.0, last));
    const auto last_bin = static_cast<size_t>(std::clamp(to, 0.0, last));
    for (size_t bin = first_bin; bin <= last_bin; ++bin) {
      const double begin = std::max(from, static_cast<double>(bin));
      const double end = std::min(to, static_cast<double>(bin + 1));
      if (end > begin) sums_[bin * kColours + colour] += end - begin;
    }
  }

  /// High half: the colour with most time; low half: the share of MPI in 1/15.
  void settle_bins(uint32_t line) {
    for (size_t bin = 0; bin < bin_count_; ++bin) {
      double all = 0;
      size_t most = 0;
      for (size_t colour = 1; colour < kColours; ++colour) {
        const double sum = sums_[bin * kColours + colour];
        all += sum;
        if (sum > sums_[bin * kColours + most]) most = colour;
      }
      const auto share = static_cast<unsigned>(std::ceil(std::min(all, 1.0) * 15));
      bins_[line * bin_count_ + bin] = static_cast<uint8_t>(most << 4 | share);
    }
  }

  void take_messages() {
    struct Long {
      int64_t length;
      uint32_t index;
    };
    const Matching& all = a_.matching;
    std::vector<Long> order;
    order.reserve(all.messages.size());
    for (uint32_t i = 0; i < all.messages.size(); ++i) {
      const End& receive = all.receives[all.messages[i].receive];
      order.push_back({receive.wait->end - receive.wait->begin, i});
    }
    if (order.size() > kMostMessages) {
      std::nth_element(order.begin(), order.begin() + kMostMessages, order.end(),
                       [](const Long& a, const Long& b) { return a.length > b.length; });
      notes_.push_back(strf("arrows: %s of %s messages, those with the longest receives",
                            count_text(kMostMessages).c_str(), count_text(order.size()).c_str()));
      order.resize(kMostMessages);
    }
    for (const Long& one : order) {
      const End& send = all.sends[all.messages[one.index].send];
      const End& receive = all.receives[all.messages[one.index].receive];
      if (line_of_[send.lane] == ~0u || line_of_[receive.lane] == ~0u) continue;
      messages_.push_back({time(trace_.begin_of(trace_.lanes[send.lane], *send.start)),
                           time(trace_.end_of(trace_.lanes[receive.lane], *receive.wait)),
                           line_of_[send.lane], line_of_[receive.lane]});
    }
    std::sort(messages_.begin(), messages_.end(),
              [](const PageMessage& a, const PageMessage& b) { return a.sent < b.sent; });
  }

  void take_parts() {
    for (const PathPart& part : a_.path.parts) {
      const uint32_t line = line_of_[part.lane];
      if (line == ~0u) continue;
      const auto kind = static_cast<uint32_t>(part.kind);
      if (!parts_.empty() && parts_.back().lane == line &&
          (parts_.back().kind == kind || a_.path.parts.size() > kMostParts))
        parts_.back().end = time(part.end);
      else
        parts_.push_back({time(part.begin), time(part.end), line, kind});
    }
    if (parts_.size() <= kMostParts) return;
    notes_.push_back(strf("the critical path is drawn by its %zu longest parts", kMostParts));
    std::nth_element(
        parts_.begin(), parts_.begin() + kMostParts, parts_.end(),
        [](const PagePart& a, const PagePart& b) { return a.end - a.begin > b.end - b.begin; });
    parts_.resize(kMostParts);
    std::sort(parts_.begin(), parts_.end(),
              [](const PagePart& a, const PagePart& b) { return a.begin < b.begin; });
  }

  std::string matrix() {
    const Matrix& all = a_.matrix;
    const uint32_t merged = std::max(1u, (all.side + kMostSide - 1) / kMostSide);
    const uint32_t side = (all.side + merged - 1) / merged;
    std::vector<float> cells(size_t{2} * side * side);
    for (uint32_t row = 0; row < all.side; ++row)
      for (uint32_t column = 0; column < all.side; ++column) {
        const size_t from = size_t{row} * all.side + column;
        const size_t to = 2 * (size_t{row / merged} * side + column / merged);
        cells[to] += static_cast<float>(all.bytes[from]);
        cells[to + 1] += static_cast<float>(all.messages[from]);
      }
    return base64(cells);
  }

  std::string report() {
    const Matrix& all = a_.matrix;
    const uint32_t merged = std::max(1u, (all.side + kMostSide - 1) / kMostSide);
    std::string text =
        "{\"command\":" +
        quoted(trace_.processes.empty() ? "" : trace_.processes[trace_.by_row[0]].command);
    text += strf(",\"run\":%s,\"calls\":%llu,\"mpi\":%.6g,\"bins\":%zu,\"matrixRanks\":%u",
                 page_seconds(static_cast<double>(trace_.end - trace_.start)).c_str(),
                 static_cast<unsigned long long>(a_.calls), a_.run > 0 ? a_.mpi / a_.run : 0,
                 bin_count_, merged * all.ranks_per_row);
    text += strf(",\"path\":[%s,%s,%s]", page_seconds(a_.path.compute).c_str(),
                 page_seconds(a_.path.mpi).c_str(), page_seconds(a_.path.transfer).c_str());
    return text + findings() + waits() + ranks() + lanes() + places() +
           sizes("messageSizes", a_.messages) + sizes("collectiveSizes", a_.collectives) + notes() +
           "}";
  }

  std::string findings() {
    std::string text = ",\"findings\":[";
    for (size_t i = 0; i < a_.findings.size() && i < 50; ++i) {
      const Finding& one = a_.findings[i];
      text += strf(
          "%s{\"title\":%s,\"place\":%s,\"seconds\":%s,\"times\":%llu,\"rank\":%s,"
          "\"rankSeconds\":%s,\"share\":%.4g,\"cure\":%s}",
          i == 0 ? "" : ",", quoted(finding_title(a_, one)).c_str(),
          quoted(a_.places.name(one.place)).c_str(), page_seconds(one.ns).c_str(),
          static_cast<unsigned long long>(one.times),
          quoted(trace_.rank_name(one.worst.process)).c_str(), page_seconds(one.worst.ns).c_str(),
          one.share, quoted(one.cure).c_str());
    }
    text += "],\"slow\":[";
    for (size_t i = 0; i < a_.slow.size() && i < 20; ++i)
      text += strf("%s[%s,%s,%s]", i == 0 ? "" : ",",
                   quoted(trace_.rank_name(a_.slow[i].process)).c_str(),
                   page_seconds(a_.slow[i].ns).c_str(), page_seconds(a_.slow[i].median).c_str());
    return text + "]";
  }

  std::string waits() {
    std::string text = ",\"waits\":[";
    for (size_t i = 0; i < kWaits; ++i)
      text +=
          strf("%s[%s,%s]", i == 0 ? "" : ",", quoted(words_of(static_cast<Wait>(i)).name).c_str(),
               page_seconds(a_.waited_by_kind[i]).c_str());
    return text + "]";
  }

  std::string ranks() {
    const std::vector<std::string> hosts = hosts_of(trace_);
    std::string text = ",\"hosts\":[";
    for (size_t i = 0; i < hosts.size() && i < kMostRows; ++i)
      text += (i == 0 ? "" : ",") + quoted(hosts[i].substr(0, 64));
    text += "],\"ranks\":[";
    for (size_t row = 0; row < trace_.by_row.size() && row < kMostRows; ++row) {
      const uint32_t process = trace_.by_row[row];
      const RankTotals& one = a_.by_rank[process];
      const auto host =
          std::lower_bound(hosts.begin(), hosts.end(), trace_.processes[process].host);
      text += strf("%s[%s,%ld,%s,%s,%s,%llu,%lld,%lld]", row == 0 ? "" : ",",
                   quoted(trace_.rank_name(process).substr(0, 64)).c_str(),
                   static_cast<long>(host - hosts.begin()), page_seconds(one.run - one.mpi).c_str(),
                   page_seconds(one.mpi).c_str(), page_seconds(one.waited).c_str(),
                   static_cast<unsigned long long>(one.calls), static_cast<long long>(one.sent),
                   static_cast<long long>(one.received));
    }
    return text + "]";
  }

  std::string lanes() {
    std::string text = ",\"lanes\":[";
    for (size_t i = 0; i < lanes_.size(); ++i) {
      const Lane& lane = trace_.lanes[lanes_[i]];
      text += strf("%s[%u,%u]", i == 0 ? "" : ",", trace_.processes[lane.process].row, lane.thread);
    }
    return text + "]";
  }

  std::string places() {
    std::string text = ",\"places\":[";
    for (size_t i = 0; i < places_.size(); ++i) {
      const Place& place = a_.places.at(places_[i]);
      const PlaceTotals& one = a_.by_place[places_[i]];
      const auto overlap = a_.overlap.find(places_[i]);
      const double share = overlap == a_.overlap.end() || overlap->second.flight <= 0
                               ? -1
                               : 1 - overlap->second.inside / overlap->second.flight;
      text += strf("%s[%s,%s,%llu,%s,%s,%s,%lld,%.4g]", i == 0 ? "" : ",",
                   quoted(trace_.functions[place.function].name.substr(0, 64)).c_str(),
                   quoted(trace_.names.sites.text(place.site)).c_str(),
                   static_cast<unsigned long long>(one.calls), page_seconds(one.ns).c_str(),
                   page_seconds(one.waited).c_str(),
                   page_seconds(static_cast<double>(one.longest)).c_str(),
                   static_cast<long long>(one.bytes), share);
    }
    return text + "]";
  }

  static std::string sizes(const char* name, const Sizes& sizes) {
    std::string text = strf(",\"%s\":[", name);
    for (size_t bin = 0; bin < sizes.count.size(); ++bin)
      if (sizes.count[bin] > 0)
        text += strf("%s[%llu,%llu,%.6g]", text.back() == '[' ? "" : ",",
                     static_cast<unsigned long long>(least_size(bin)),
                     static_cast<unsigned long long>(sizes.count[bin]), sizes.bytes[bin]);
    return text + "]";
  }

  std::string notes() {
    std::vector<std::string> all = omissions(a_);
    all.insert(all.begin(), notes_.begin(), notes_.end());
    std::string text = ",\"notes\":[";
    for (size_t i = 0; i < all.size() && i < 100; ++i) text += (i == 0 ? "" : ",") + quoted(all[i]);
    return text + "]";
  }

  Analysis& a_;
  Trace& trace_;
  std::vector<uint32_t> lanes_, line_of_;  // lanes by line of the timeline, and back
  std::vector<uint32_t> places_;
  std::vector<uint16_t> number_of_;  // of a place in the page
  std::vector<std::string> notes_;
  std::vector<PageCall> calls_;
  std::vector<PageMessage> messages_;
  std::vector<PagePart> parts_;
  std::vector<uint8_t> bins_;
  std::vector<double> sums_;  // of a lane, by bin and colour
  size_t bin_count_ = 0, ties_ = 0;
};

}  // namespace

std::string page(Analysis* analysis) { return PageWriter(analysis).write(); }

}  // namespace tern::trace_tool

// SPDX-License-Identifier: Apache-2.0
// Wait reports as text: a line per report, fields between unit separators.
#include "base/wait_report.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"

namespace tern {
namespace {

constexpr char kField = '\x1f';
constexpr char kEnd = '\n';
constexpr size_t kFields = 5;

std::string clean(const std::string& text) {
  std::string shown = text;
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return shown;
}

std::string encode_one(const WaitReport& report) {
  std::string line = clean(report.call) + kField + clean(report.words) + kField +
                     (report.any ? "1" : "0") + kField + strf("%.3f", report.seconds) + kField;
  for (const int rank : report.ranks) line += std::to_string(rank) + ",";
  return line + kEnd;
}

WaitReport decode_one(std::string_view line) {
  std::string fields[kFields];
  for (std::string& field : fields) {
    const size_t end = line.find(kField);
    field = clean(std::string(line.substr(0, end)));
    line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
  }
  WaitReport report{fields[0],
                    fields[1],
                    {},
                    fields[2] == "1",
                    std::clamp(std::strtod(fields[3].c_str(), nullptr), 0.0, 1e9)};
  const char* at = fields[4].c_str();
  for (char* end = nullptr;; at = end + (*end == ',' ? 1 : 0)) {
    const long rank = std::strtol(at, &end, 10);
    if (end == at) return report;
    if (rank >= 0 && rank <= INT32_MAX) report.ranks.push_back(static_cast<int>(rank));
  }
}

}  // namespace

void WaitReport::wait_for(int rank) {
  if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
}

std::string encode(const std::vector<WaitReport>& reports, size_t room) {
  const std::string rest = encode_one({"", "further waits", {}, true, 0});
  if (room < rest.size()) return {};
  room -= rest.size();
  std::string text;
  for (const WaitReport& report : reports) {
    std::string line = encode_one(report);
    if (line.size() > room - text.size()) {
      WaitReport less = report;  // a partial list would mislead the verdict
      less.ranks.clear();
      less.words.resize(std::min<size_t>(less.words.size(), 256));
      line = encode_one(less);
    }
    if (line.size() > room - text.size()) return text + rest;
    text += line;
  }
  return text;
}

std::vector<WaitReport> decode_wait_reports(std::string_view text) {
  std::vector<WaitReport> reports;
  while (!text.empty()) {
    const size_t end = text.find(kEnd);
    reports.push_back(decode_one(text.substr(0, end)));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return reports;
}

}  // namespace tern

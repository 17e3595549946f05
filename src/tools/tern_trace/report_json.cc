// SPDX-License-Identifier: Apache-2.0
// The report as JSON: every finding, place and rank. Times are in seconds.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"
#include "tools/tern_info/json.hpp"
#include "tools/tern_trace/reports.hpp"

namespace tern::trace_tool {
namespace {

using info::Json;

class JsonReport {
 public:
  explicit JsonReport(const Analysis& analysis) : a_(analysis), trace_(*analysis.trace) {}

  std::string document() {
    out_.open_object();
    run();
    findings();
    places();
    ranks();
    path();
    sizes("messages_by_size", a_.messages);
    sizes("collectives_by_size", a_.collectives);
    matrix();
    moved("files", a_.files);
    moved("windows", a_.windows);
    out_.close_object();
    return out_.document();
  }

 private:
  void seconds(const char* name, double ns) { out_.real(name, ns * 1e-9); }
  void place(uint32_t number) {
    const Place& one = a_.places.at(number);
    out_.text("function", trace_.functions[one.function].name);
    out_.text("site", trace_.names.sites.text(one.site));
  }

  void run() {
    out_.real("run_seconds", trace_.run_seconds());
    out_.number("ranks", trace_.processes.size());
    out_.number("calls", a_.calls);
    out_.number("records", trace_.records);
    out_.number("messages", a_.matching.messages.size());
    out_.number("sends", a_.matching.sends.size());
    out_.number("receives", a_.matching.receives.size());
    out_.real("mpi_share", a_.run > 0 ? a_.mpi / a_.run : 0);
    out_.real("clock_residual_seconds", static_cast<double>(trace_.worst_residual) * 1e-9);
    out_.open_object("waits");
    for (size_t i = 0; i < kWaits; ++i)
      seconds(words_of(static_cast<Wait>(i)).id, a_.waited_by_kind[i]);
    out_.close_object();
    out_.open_list("omitted");
    for (const std::string& one : omissions(a_)) out_.text("", one);
    out_.close_list();
  }

  void causes(const std::vector<Cause>& all) {
    out_.open_list("causes");
    for (const Cause& cause : all) {
      out_.open_object();
      out_.text("rank", trace_.rank_name(cause.process));
      seconds("seconds", cause.ns);
      out_.number("times", cause.times);
      out_.close_object();
    }
    out_.close_list();
  }

  void findings() {
    out_.open_list("findings");
    for (const Finding& one : a_.findings) {
      out_.open_object();
      out_.text("wait", words_of(one.wait).id);
      place(one.place);
      seconds("seconds", one.ns);
      out_.number("times", one.times);
      out_.text("rank", trace_.rank_name(one.worst.process));
      seconds("rank_seconds", one.worst.ns);
      out_.real("share", one.share);
      causes(one.causes);
      out_.text("cure", one.cure);
      out_.close_object();
    }
    out_.close_list();
    out_.open_list("slow_ranks");
    for (const SlowRank& one : a_.slow) {
      out_.open_object();
      out_.text("rank", trace_.rank_name(one.process));
      out_.text("host", trace_.processes[one.process].host);
      seconds("computes", one.ns);
      seconds("median", one.median);
      out_.close_object();
    }
    out_.close_list();
  }

  void places() {
    out_.open_list("places");
    for (const uint32_t number : places_by_time(a_)) {
      const PlaceTotals& one = a_.by_place[number];
      if (one.calls == 0) continue;
      out_.open_object();
      place(number);
      out_.number("calls", one.calls);
      out_.number("ranks", one.ranks);
      seconds("seconds", one.ns);
      seconds("waited", one.waited);
      seconds("longest", static_cast<double>(one.longest));
      out_.real("bytes", static_cast<double>(one.bytes));
      const auto overlap = a_.overlap.find(number);
      if (overlap != a_.overlap.end()) {
        seconds("in_flight", overlap->second.flight);
        seconds("in_flight_inside_mpi", overlap->second.inside);
      }
      out_.close_object();
    }
    out_.close_list();
  }

  void ranks() {
    out_.open_list("by_rank");
    for (const uint32_t process : trace_.by_row) {
      const RankTotals& one = a_.by_rank[process];
      out_.open_object();
      out_.text("rank", trace_.rank_name(process));
      out_.text("host", trace_.processes[process].host);
      seconds("seconds", one.run);
      seconds("mpi", one.mpi);
      seconds("waited", one.waited);
      out_.number("calls", one.calls);
      out_.real("sent", static_cast<double>(one.sent));
      out_.real("received", static_cast<double>(one.received));
      out_.text("end", trace_.processes[process].end);
      out_.number("lost", trace_.processes[process].lost);
      out_.close_object();
    }
    out_.close_list();
  }

  void path() {
    out_.open_object("critical_path");
    seconds("computation", a_.path.compute);
    seconds("mpi", a_.path.mpi);
    seconds("transfer", a_.path.transfer);
    out_.open_list("computation_by_rank");
    for (const auto& [process, ns] : a_.path.compute_by_rank) {
      out_.open_object();
      out_.text("rank", trace_.rank_name(process));
      seconds("seconds", ns);
      out_.close_object();
    }
    out_.close_list();
    out_.open_list("mpi_by_rank");
    for (const auto& [key, ns] : a_.path.mpi_by_rank) {
      out_.open_object();
      out_.text("rank", trace_.rank_name(key.first));
      place(key.second);
      seconds("seconds", ns);
      out_.close_object();
    }
    out_.close_list();
    out_.close_object();
  }

  void sizes(const char* name, const Sizes& sizes) {
    out_.open_list(name);
    for (size_t bin = 0; bin < sizes.count.size(); ++bin) {
      if (sizes.count[bin] == 0) continue;
      out_.open_object();
      out_.number("least", least_size(bin));
      out_.number("count", sizes.count[bin]);
      out_.real("bytes", sizes.bytes[bin]);
      out_.close_object();
    }
    out_.close_list();
  }

  void matrix() {
    out_.open_object("matrix");
    out_.number("ranks_per_row", a_.matrix.ranks_per_row);
    out_.open_list("cells");
    for (uint32_t row = 0; row < a_.matrix.side; ++row)
      for (uint32_t column = 0; column < a_.matrix.side; ++column) {
        const size_t cell = size_t{row} * a_.matrix.side + column;
        if (a_.matrix.messages[cell] == 0) continue;
        out_.open_object();
        out_.number("from", row);
        out_.number("to", column);
        out_.real("messages", a_.matrix.messages[cell]);
        out_.real("bytes", a_.matrix.bytes[cell]);
        out_.close_object();
      }
    out_.close_list();
    out_.close_object();
  }

  void moved(const char* name, const std::map<uint32_t, Moved>& rows) {
    out_.open_list(name);
    for (const auto& [function, one] : rows) {
      out_.open_object();
      out_.text("function", trace_.functions[function].name);
      out_.number("calls", one.calls);
      seconds("seconds", one.ns);
      out_.real("bytes", one.bytes);
      out_.close_object();
    }
    out_.close_list();
  }

  const Analysis& a_;
  const Trace& trace_;
  Json out_;
};

}  // namespace

std::string json_report(const Analysis& analysis) { return JsonReport(analysis).document(); }

void write_file(const std::string& name, const std::string& text) {
  FILE* const file = name == "-" ? stdout : std::fopen(name.c_str(), "wb");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) written &= (file == stdout ? std::fflush(file) : std::fclose(file)) == 0;
  if (!written)
    throw Error(MPI_ERR_FILE, strf("cannot write %s: %s", name.c_str(), std::strerror(errno)));
}

}  // namespace tern::trace_tool

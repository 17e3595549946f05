// SPDX-License-Identifier: Apache-2.0
// An OTF2 archive: a location per thread, a region per call site, an event per message end.
// See: the headers of OTF2 3, https://perftools.pages.jsc.fz-juelich.de/cicd/otf2/
#include <sys/stat.h>

#include <cctype>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"
#include "tern_config.h"
#include "tools/tern_trace/reports.hpp"

#ifdef HAVE_OTF2
#include <otf2/otf2.h>

namespace tern::trace_tool {
namespace {

struct OpRow {
  const char* word;
  OTF2_CollectiveOp op;
};
// The first word contained in the function's name decides.
constexpr OpRow kOps[] = {{"reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
                          {"reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
                          {"allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
                          {"allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV},
                          {"allgather", OTF2_COLLECTIVE_OP_ALLGATHER},
                          {"alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW},
                          {"alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV},
                          {"alltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
                          {"bcast", OTF2_COLLECTIVE_OP_BCAST},
                          {"gatherv", OTF2_COLLECTIVE_OP_GATHERV},
                          {"gather", OTF2_COLLECTIVE_OP_GATHER},
                          {"scatterv", OTF2_COLLECTIVE_OP_SCATTERV},
                          {"scatter", OTF2_COLLECTIVE_OP_SCATTER},
                          {"exscan", OTF2_COLLECTIVE_OP_EXSCAN},
                          {"scan", OTF2_COLLECTIVE_OP_SCAN},
                          {"reduce", OTF2_COLLECTIVE_OP_REDUCE}};

OTF2_CollectiveOp op_of(const std::string& function) {
  std::string lower;
  for (const char c : function) lower += static_cast<char>(std::tolower(c));
  for (const OpRow& row : kOps)
    if (lower.find(row.word) != std::string::npos) return row.op;
  return OTF2_COLLECTIVE_OP_BARRIER;
}

OTF2_FlushType before_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
const OTF2_FlushCallbacks kFlush = {before_flush, nullptr};

void need(OTF2_ErrorCode code) {
  if (code != OTF2_SUCCESS)
    throw Error(MPI_ERR_FILE,
                strf("cannot write the OTF2 archive: %s", OTF2_Error_GetDescription(code)));
}

/// A rank in a communicator of the archive.
struct Partner {
  OTF2_CommRef comm = 0;
  uint32_t rank = 0;
};

class Otf2Writer {
 public:
  Otf2Writer(Analysis* analysis, const std::string& folder)
      : a_(*analysis),
        trace_(*analysis->trace),
        archive_(OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20,
                                   OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE)) {
    if (archive_ == nullptr)
      throw Error(MPI_ERR_FILE, strf("cannot write the folder %s", folder.c_str()));
    need(OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr));
    need(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
  }
  Otf2Writer(const Otf2Writer&) = delete;
  Otf2Writer& operator=(const Otf2Writer&) = delete;
  ~Otf2Writer() {
    if (archive_ != nullptr) (void)OTF2_Archive_Close(archive_);
  }

  void write() {
    number_comms();
    need(OTF2_Archive_OpenEvtFiles(archive_));
    for (uint32_t lane = 0; lane < trace_.lanes.size(); ++lane) events(lane);
    need(OTF2_Archive_CloseEvtFiles(archive_));
    need(OTF2_Archive_OpenDefFiles(archive_));
    for (uint32_t lane = 0; lane < trace_.lanes.size(); ++lane)
      need(OTF2_Archive_CloseDefWriter(archive_, OTF2_Archive_GetDefWriter(archive_, lane)));
    need(OTF2_Archive_CloseDefFiles(archive_));
    definitions();
    OTF2_Archive* const archive = archive_;
    archive_ = nullptr;
    need(OTF2_Archive_Close(archive));
  }

 private:
  /// Communicator 0 has all ranks; others are those of one group with known members.
  void number_comms() {
    for (const Process& process : trace_.processes)
      for (const auto& [number, comm] : process.comms) {
        const auto& members = trace_.lists[comm.members].processes;
        bool known = !members.empty() && trace_.lists[comm.remote].processes.empty();
        for (const uint32_t member : members) known &= member != Trace::kUnknown;
        if (known && comms_.try_emplace(comm.key, comms_.size() + 1).second)
          lists_.push_back({comm.key, comm.members});
      }
  }

  Partner partner(uint32_t process, const Record& record) {
    const Comm* const comm = a_.places.comm_of(process, record);
    const uint32_t peer = a_.places.peer_of(process, record);
    const auto found = comm == nullptr ? comms_.end() : comms_.find(comm->key);
    if (found != comms_.end())
      return {static_cast<OTF2_CommRef>(found->second), static_cast<uint32_t>(record.peer)};
    return {0, peer == Trace::kUnknown ? 0 : trace_.processes[peer].row};
  }

  /// Times of a location never decrease.
  OTF2_TimeStamp stamp(int64_t job) {
    last_ = std::max(last_, static_cast<OTF2_TimeStamp>(std::max<int64_t>(job - trace_.start, 0)));
    return last_;
  }

  void events(uint32_t number) {
    const Lane& lane = trace_.lanes[number];
    OTF2_EvtWriter* const writer = OTF2_Archive_GetEvtWriter(archive_, number);
    if (writer == nullptr) throw Error(MPI_ERR_FILE, "cannot write events of the OTF2 archive");
    last_ = 0;
    for (size_t i = 0; i < lane.records;) {
      const size_t first = i;
      for (++i; i < lane.records && !is_call(lane.at(i));) ++i;
      if (is_call(lane.at(first))) call(writer, lane, first, i);
    }
    uint64_t count = 0;
    need(OTF2_EvtWriter_GetNumberOfEvents(writer, &count));
    counts_.push_back(count);
    need(OTF2_Archive_CloseEvtWriter(archive_, writer));
  }

  /// A call, and the parts and completions after it.
  void call(OTF2_EvtWriter* writer, const Lane& lane, size_t first, size_t last) {
    const Record& record = lane.at(first);
    const auto region = a_.places.of(lane.process, record);
    const OTF2_TimeStamp begin = stamp(trace_.begin_of(lane, record));
    need(OTF2_EvtWriter_Enter(writer, nullptr, begin, region));
    for (size_t i = first; i < last; ++i) start(writer, lane, lane.at(i), begin);
    const OTF2_TimeStamp end = stamp(trace_.end_of(lane, record));
    for (size_t i = first; i < last; ++i) finish(writer, lane, lane.at(i), end);
    need(OTF2_EvtWriter_Leave(writer, nullptr, end, region));
  }

  static uint64_t size_of(const Record& record) noexcept {
    return record.bytes < 0 ? 0 : static_cast<uint64_t>(record.bytes);
  }
  static uint32_t tag_of(const Record& record) noexcept {
    return record.tag < 0 ? 0 : static_cast<uint32_t>(record.tag);
  }

  void start(OTF2_EvtWriter* writer, const Lane& lane, const Record& record, OTF2_TimeStamp time) {
    const Partner to = partner(lane.process, record);
    const bool real = record.peer >= 0;
    if (record.kind == RecordKind::kSend && real)
      need(OTF2_EvtWriter_MpiSend(writer, nullptr, time, to.rank, to.comm, tag_of(record),
                                  size_of(record)));
    else if (record.kind == RecordKind::kSendStart && real)
      need(OTF2_EvtWriter_MpiIsend(writer, nullptr, time, to.rank, to.comm, tag_of(record),
                                   size_of(record), record.request));
    else if (record.kind == RecordKind::kReceiveStart)
      need(OTF2_EvtWriter_MpiIrecvRequest(writer, nullptr, time, record.request));
    else if (record.kind == RecordKind::kCollective)
      need(OTF2_EvtWriter_MpiCollectiveBegin(writer, nullptr, time));
  }

  void finish(OTF2_EvtWriter* writer, const Lane& lane, const Record& record, OTF2_TimeStamp time) {
    const Partner from = partner(lane.process, record);
    const bool real = record.peer >= 0;
    if (record.kind == RecordKind::kReceive && real)
      need(OTF2_EvtWriter_MpiRecv(writer, nullptr, time, from.rank, from.comm, tag_of(record),
                                  size_of(record)));
    else if (record.kind == RecordKind::kReceiveDone && real)
      need(OTF2_EvtWriter_MpiIrecv(writer, nullptr, time, from.rank, from.comm, tag_of(record),
                                   size_of(record), record.request));
    else if (record.kind == RecordKind::kSendDone)
      need(OTF2_EvtWriter_MpiIsendComplete(writer, nullptr, time, record.request));
    else if (record.kind == RecordKind::kCollective)
      need(OTF2_EvtWriter_MpiCollectiveEnd(
          writer, nullptr, time,
          op_of(trace_.functions[a_.places.function_of(lane.process, record.function)].name),
          from.comm, real ? from.rank : OTF2_UNDEFINED_UINT32, size_of(record), size_of(record)));
  }

  OTF2_StringRef text(const std::string& text) {
    const auto before = strings_.size();
    const uint32_t number = strings_.number(text);
    if (number == before) need(OTF2_GlobalDefWriter_WriteString(global_, number, text.c_str()));
    return number;
  }

  void definitions() {
    global_ = OTF2_Archive_GetGlobalDefWriter(archive_);
    need(OTF2_GlobalDefWriter_WriteClockProperties(
        global_, 1'000'000'000, 0, static_cast<uint64_t>(trace_.end - trace_.start) + 1,
        static_cast<uint64_t>(std::max<int64_t>(trace_.start_unix_ns, 0))));
    need(OTF2_GlobalDefWriter_WriteParadigm(global_, OTF2_PARADIGM_MPI, text("MPI"),
                                            OTF2_PARADIGM_CLASS_PROCESS));
    regions();
    locations();
    groups();
  }

  void regions() {
    for (uint32_t i = 0; i < a_.places.size(); ++i) {
      const Place& place = a_.places.at(i);
      const OTF2_StringRef name = text(trace_.functions[place.function].name);
      need(OTF2_GlobalDefWriter_WriteRegion(
          global_, i, name, name, text(trace_.names.sites.text(place.site)),
          OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE,
          text(trace_.site_name(place.site)), 0, 0));
    }
  }

  void locations() {
    need(OTF2_GlobalDefWriter_WriteSystemTreeNode(global_, 0, text("job"), text("machine"),
                                                  OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    const std::vector<std::string> hosts = hosts_of(trace_);
    for (uint32_t i = 0; i < hosts.size(); ++i)
      need(OTF2_GlobalDefWriter_WriteSystemTreeNode(global_, i + 1, text(hosts[i]), text("node"),
                                                    0));
    for (const uint32_t process : trace_.by_row) {
      const Process& one = trace_.processes[process];
      const auto host = std::lower_bound(hosts.begin(), hosts.end(), one.host) - hosts.begin();
      need(OTF2_GlobalDefWriter_WriteLocationGroup(
          global_, one.row, text("rank " + trace_.rank_name(process)),
          OTF2_LOCATION_GROUP_TYPE_PROCESS, static_cast<OTF2_SystemTreeNodeRef>(host + 1),
          OTF2_UNDEFINED_LOCATION_GROUP));
    }
    for (uint32_t lane = 0; lane < trace_.lanes.size(); ++lane)
      need(OTF2_GlobalDefWriter_WriteLocation(global_, lane,
                                              text(strf("thread %u", trace_.lanes[lane].thread)),
                                              OTF2_LOCATION_TYPE_CPU_THREAD, counts_[lane],
                                              trace_.processes[trace_.lanes[lane].process].row));
  }

  void group(OTF2_GroupRef self, const std::string& name, OTF2_GroupType type,
             const std::vector<uint64_t>& members) {
    need(OTF2_GlobalDefWriter_WriteGroup(global_, self, text(name), type, OTF2_PARADIGM_MPI,
                                         OTF2_GROUP_FLAG_NONE,
                                         static_cast<uint32_t>(members.size()), members.data()));
  }

  /// Group 0 lists the location of each rank; other groups are indices of it.
  void groups() {
    std::vector<uint64_t> locations(trace_.processes.size(), 0), all;
    for (uint32_t lane = static_cast<uint32_t>(trace_.lanes.size()); lane-- > 0;)
      locations[trace_.processes[trace_.lanes[lane].process].row] = lane;
    for (uint64_t row = 0; row < locations.size(); ++row) all.push_back(row);
    group(0, "ranks", OTF2_GROUP_TYPE_COMM_LOCATIONS, locations);
    group(1, "all", OTF2_GROUP_TYPE_COMM_GROUP, all);
    need(OTF2_GlobalDefWriter_WriteComm(global_, 0, text("all"), 1, OTF2_UNDEFINED_COMM,
                                        OTF2_COMM_FLAG_NONE));
    for (uint32_t i = 0; i < lists_.size(); ++i) {
      std::vector<uint64_t> rows;
      for (const uint32_t member : trace_.lists[lists_[i].second].processes)
        rows.push_back(trace_.processes[member].row);
      const std::string& name = trace_.names.keys.text(lists_[i].first);
      group(i + 2, name, OTF2_GROUP_TYPE_COMM_GROUP, rows);
      need(OTF2_GlobalDefWriter_WriteComm(global_, i + 1, text(name), i + 2, 0,
                                          OTF2_COMM_FLAG_NONE));
    }
  }

  Analysis& a_;
  Trace& trace_;
  OTF2_Archive* archive_;
  OTF2_GlobalDefWriter* global_ = nullptr;
  OTF2_TimeStamp last_ = 0;
  std::vector<uint64_t> counts_;  // events by lane
  Names strings_;
  std::map<uint32_t, size_t> comms_;                  // by key
  std::vector<std::pair<uint32_t, uint32_t>> lists_;  // key and list, by communicator - 1
};

}  // namespace

void write_otf2(Analysis* analysis, const std::string& folder) {
  struct stat facts {};
  if (stat(folder.c_str(), &facts) == 0)
    throw Error(MPI_ERR_FILE, strf("%s exists; --otf2 writes a new folder", folder.c_str()));
  Otf2Writer(analysis, folder).write();
}

}  // namespace tern::trace_tool

#else

namespace tern::trace_tool {

void write_otf2(Analysis*, const std::string& folder) {
  throw Error(MPI_ERR_UNSUPPORTED_OPERATION,
              strf("--otf2=%s: this tern_trace was built without OTF2; install "
                   "libopen-trace-format2-dev, and run configure again",
                   folder.c_str()));
}

}  // namespace tern::trace_tool

#endif

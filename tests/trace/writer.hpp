// SPDX-License-Identifier: Apache-2.0
// Writes traces of invented runs, with known waits.
#pragma once

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/format.hpp"

namespace tern::trace_test {

using trace::Record;
using trace::RecordKind;

inline constexpr int64_t kMs = 1'000'000;

/// One process: calls follow each other in time.
class Rank {
 public:
  Rank(int rank, int size, const std::string& host = "node1", const std::string& world = "w")
      : rank_(rank),
        head_("process\t" + world + '\t' + std::to_string(rank) + '\t' + std::to_string(size) +
              '\t' + host + "\t100\t./program\n") {
    comm(1, "world" + world, "0-" + std::to_string(size - 1));
  }

  /// Local time = job's time - offset(job's time).
  void clock(int64_t offset, double drift) {
    offset_ = offset;
    drift_ = drift;
  }
  void comm(uint32_t number, const std::string& key, const std::string& members,
            const std::string& remote = "-") {
    lines_ += "comm\t" + std::to_string(number) + '\t' + key + '\t' + key + '\t' + members + '\t' +
              remote + '\n';
  }
  void line(const std::string& text) { lines_ += text + '\n'; }
  /// The communicator of the next calls.
  void on(uint32_t comm, uint8_t flags = 0) {
    comm_ = comm;
    flags_ = flags;
  }

  Record& add(RecordKind kind, const std::string& function, const std::string& site, double begin,
              double end) {
    Record record{};
    record.begin = local(begin);
    record.end = local(end);
    record.function = static_cast<uint16_t>(number("function", &functions_, function));
    record.kind = kind;
    record.flags = flags_;
    record.peer = trace::kNoPeer;
    record.tag = -1;
    record.comm = comm_;
    record.site = site.empty() ? 0 : number("site", &sites_, site);
    records_.push_back(record);
    return records_.back();
  }
  Record& call(const std::string& function, const std::string& site, double begin, double end) {
    return add(RecordKind::kCall, function, site, begin, end);
  }
  Record& send(int peer, int tag, int64_t bytes, const std::string& site, double begin,
               double end) {
    return message(RecordKind::kSend, "MPI_Send", peer, tag, bytes, site, begin, end);
  }
  Record& receive(int peer, int tag, int64_t bytes, const std::string& site, double begin,
                  double end) {
    return message(RecordKind::kReceive, "MPI_Recv", peer, tag, bytes, site, begin, end);
  }
  uint32_t isend(int peer, int tag, int64_t bytes, const std::string& site, double begin,
                 double end, uint8_t flags = 0) {
    Record& record =
        message(RecordKind::kSendStart, "MPI_Isend", peer, tag, bytes, site, begin, end);
    record.flags |= flags;
    return record.request = ++requests_;
  }
  uint32_t irecv(int peer, int tag, const std::string& site, double begin, double end) {
    Record& record = add(RecordKind::kReceiveStart, "MPI_Irecv", site, begin, end);
    record.peer = peer;
    record.tag = tag;
    return record.request = ++requests_;
  }
  Record& wait(const std::string& site, double begin, double end) {
    return add(RecordKind::kWait, "MPI_Wait", site, begin, end);
  }
  void sent(uint32_t request) {
    Record record = records_.back();
    record.kind = RecordKind::kSendDone;
    record.request = request;
    records_.push_back(record);
  }
  Record& received(uint32_t request, int peer, int tag, int64_t bytes, uint8_t flags = 0) {
    const Record before = records_.back();
    Record& record = message(RecordKind::kReceiveDone, "MPI_Wait", peer, tag, bytes, "", 0, 0);
    record.begin = before.begin;
    record.end = before.end;
    record.request = request;
    record.flags |= flags;
    return record;
  }
  Record& collective(const std::string& function, const std::string& site, double begin, double end,
                     int64_t bytes = 8, int root = trace::kNoPeer) {
    Record& record = add(RecordKind::kCollective, function, site, begin, end);
    record.peer = root;
    record.bytes = bytes;
    record.number = ++numbers_[{comm_, -7, -7, true}];
    return record;
  }

  [[nodiscard]] std::string definitions() const { return head_ + lines_; }
  [[nodiscard]] const std::vector<Record>& records() const { return records_; }
  [[nodiscard]] int rank() const { return rank_; }
  uint64_t lost = 0;

 private:
  using Stream = std::tuple<uint32_t, int, int, bool>;

  [[nodiscard]] int64_t local(double ms) const {
    const double job = ms * 1e6;
    return static_cast<int64_t>(job) - offset_ - static_cast<int64_t>(drift_ * job);
  }
  uint32_t number(const char* word, std::map<std::string, uint32_t>* numbers,
                  const std::string& text) {
    const auto [place, fresh] =
        numbers->try_emplace(text, static_cast<uint32_t>(numbers->size()) + 1);
    if (fresh) lines_ += word + ('\t' + std::to_string(place->second)) + '\t' + text + '\n';
    return place->second;
  }
  Record& message(RecordKind kind, const char* function, int peer, int tag, int64_t bytes,
                  const std::string& site, double begin, double end) {
    Record& record = add(kind, function, site, begin, end);
    record.peer = peer;
    record.tag = tag;
    record.bytes = bytes;
    const bool sends = kind == RecordKind::kSend || kind == RecordKind::kSendStart;
    record.number = ++numbers_[{comm_, peer, tag, sends}];
    return record;
  }

  int rank_;
  std::string head_, lines_;
  std::vector<Record> records_;
  std::map<std::string, uint32_t> functions_, sites_;
  std::map<Stream, uint64_t> numbers_;
  uint32_t comm_ = 1, requests_ = 0;
  uint8_t flags_ = 0;
  int64_t offset_ = 0;
  double drift_ = 0;
};

inline void append(std::string* file, const void* data, size_t bytes) {
  file->append(static_cast<const char*>(data), bytes);
}

inline void append_block(std::string* file, trace::BlockKind kind, uint32_t process,
                         uint32_t thread, const void* data, size_t bytes, uint64_t lost = 0) {
  const trace::BlockHead head{trace::kBlockMagic, kind, 0, process, thread, bytes, lost};
  append(file, &head, sizeof head);
  append(file, data, bytes);
}

[[nodiscard]] inline std::string head_bytes() {
  trace::FileHead head{};
  std::memcpy(head.magic, trace::kMagic, sizeof head.magic);
  head.version = trace::kVersion;
  head.byte_order = trace::kByteOrder;
  head.head_bytes = sizeof head;
  head.start_unix_ns = 1;
  std::string file;
  append(&file, &head, sizeof head);
  return file;
}

[[nodiscard]] inline std::string padded(std::string lines) {
  while (lines.size() % 8 != 0) lines += '\n';
  return lines;
}

/// The bytes of a file with these processes.
[[nodiscard]] inline std::string file_bytes(const std::vector<Rank>& ranks) {
  std::string file = head_bytes();
  for (uint32_t i = 0; i < ranks.size(); ++i) {
    const std::string lines = padded(ranks[i].definitions());
    append_block(&file, trace::BlockKind::kDefinitions, i, 0, lines.data(), lines.size());
    append_block(&file, trace::BlockKind::kRecords, i, 0, ranks[i].records().data(),
                 ranks[i].records().size() * sizeof(Record), ranks[i].lost);
  }
  return file;
}

inline bool write_bytes(const std::string& name, const std::string& bytes) {
  FILE* const file = std::fopen(name.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return (std::fclose(file) == 0) && written;
}

}  // namespace tern::trace_test

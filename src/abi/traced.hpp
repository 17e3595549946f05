// SPDX-License-Identifier: Apache-2.0
// Traced: makes the record of a call from its arguments, in the recorded twin of an entry point.
// Why: a rule per kind of parameter serves all functions.
// Lifetime: the twin's frame. An error handler may leave the frame by a jump, hence no destructor.
// See: emit_traced.py, src/trace/recorder.hpp.
#pragma once

#include "abi/entry.hpp"
#include "trace/recorder.hpp"

namespace tern::abi {

class Traced {
 public:
  /// `frame` and `site` are the twin's frame and return address.
  Traced(uint16_t function, trace::RecordKind kind, const char* name, const void* frame,
         const void* site) noexcept
      : site_(site) {
    open_.record.function = function;
    open_.record.kind = kind;
    open_.name = name;
    trace::begin(open_, site_, frame);
  }
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;
  [[nodiscard]] const void* site() const noexcept { return site_; }

  // Before the body.
  void on(MPI_Comm comm) noexcept;
  void on(MPI_Win win) noexcept;
  void on(MPI_File file) noexcept;
  void on(MPI_Message message) noexcept;
  void peer(int rank) noexcept { open_.record.peer = rank_of(rank); }
  /// The root of a collective between two groups is MPI_ROOT in its own group.
  void root(int rank) noexcept {
    open_.record.peer = rank == MPI_ROOT ? trace::kRootHere : rank_of(rank);
    if (rank == MPI_PROC_NULL) open_.record.bytes = -1;
  }
  /// The data has a block for each of `count` ranks.
  void blocks(int count) noexcept {
    if (open_.record.bytes > 0) open_.record.bytes *= count;
  }
  void tag(int tag) noexcept { open_.record.tag = tag == MPI_ANY_TAG ? -1 : tag; }
  /// The data of the call; a further call adds. MPI_IN_PLACE and unknown types count nothing.
  void data(const void* buffer, MPI_Count count, MPI_Datatype type) noexcept;
  template <class Count>
  void data(const void* buffer, const Count* counts, int length, MPI_Datatype type) noexcept {
    if (buffer == MPI_IN_PLACE || counts == nullptr) return;
    MPI_Count sum = 0;
    for (int i = 0; i < length; ++i) sum += counts[i];
    data(nullptr, sum, type);
  }
  template <class Count>
  void data(const void* buffer, const Count* counts, int length,
            const MPI_Datatype* types) noexcept {
    if (buffer == MPI_IN_PLACE || counts == nullptr || types == nullptr) return;
    for (int i = 0; i < length; ++i) data(nullptr, counts[i], types[i]);
  }
  [[nodiscard]] bool lacks_data() const noexcept { return open_.record.bytes < 0; }
  [[nodiscard]] bool is_root(int root) const noexcept {
    return comm_ != nullptr && (comm_->inter() ? root == MPI_ROOT : root == comm_->rank());
  }
  [[nodiscard]] int peers() const noexcept { return comm_ == nullptr ? 0 : comm_->peer_count(); }
  [[nodiscard]] int members() const noexcept { return comm_ == nullptr ? 0 : comm_->size(); }
  [[nodiscard]] int indegree() const noexcept {
    return comm_ == nullptr ? 0 : abi::indegree(*comm_);
  }
  [[nodiscard]] int outdegree() const noexcept {
    return comm_ == nullptr ? 0 : abi::outdegree(*comm_);
  }
  void address(int dest, int tag) noexcept {
    peer(dest);
    this->tag(tag);
  }
  void send(int dest, int tag) noexcept;
  /// Partitioned messages match apart from others, and have no numbers.
  void partitioned() noexcept { partitioned_ = true; }
  void receive(int source, int tag) noexcept;
  /// The receive of a send-receive.
  void receive_too(int source, int tag) noexcept;
  void collective() noexcept;
  /// The runs on the stream refer to this call.
  void enqueued() noexcept {
    if (open_.live) open_.record.request = trace::next_request();
  }
  /// MPI_Start: a record for each request.
  void start(int count, const MPI_Request* requests) noexcept;
  /// The status for the body: the user's, or an own status.
  [[nodiscard]] MPI_Status* status(MPI_Status* users) noexcept {
    return status_ = users == MPI_STATUS_IGNORE ? &own_ : users;
  }

  // After the body. Each returns `code`.
  int end(int code) noexcept;
  void give_back_number() noexcept;
  /// `flag`: whether a message was found; null: always.
  int end_probe(int code, const int* flag) noexcept;
  int end_start(int code, const MPI_Request* request) noexcept;
  /// A persistent request; `done` is the kind of its completions.
  int end_init(int code, const MPI_Request* request, trace::RecordKind done) noexcept;
  int end_file(int code) noexcept;

 private:
  [[nodiscard]] static int32_t rank_of(int rank) noexcept {
    return rank == MPI_ANY_SOURCE  ? trace::kAnyPeer
           : rank == MPI_PROC_NULL ? trace::kProcNull
                                   : rank;
  }
  void take(core::Communicator* comm) noexcept;
  void take_status(trace::Record& record) noexcept;

  trace::OpenCall open_;
  const void* site_;
  core::Communicator* comm_ = nullptr;
  MPI_Status* status_ = nullptr;
  MPI_Status own_;
  bool partitioned_ = false;
};

}  // namespace tern::abi

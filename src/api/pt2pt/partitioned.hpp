// SPDX-License-Identifier: Apache-2.0
// Partitioned operations: a buffer sent in portions, each as soon as its partitions are ready.
// How: MPI_Psend_init sends the receiver its plan (bytes, portions, tags) in one message, matched
// with MPI_Precv_init in order. Each portion is a message with its own tag: portions of a round may
// overtake each other, rounds may not. Sender and receiver may partition the buffer differently.
// Lifetime: the user's handle is one reference, the polling list another. Threads: under the
// channel's lock. See: MPI-5.0 chapter 4; tests/mpi/partitioned.c.
#pragma once

#include <vector>

#include "core/request.hpp"
#include "pml/pml.hpp"

namespace tern::api {

/// The sender's description for the receiver.
struct PartitionPlan {
  int64_t bytes = 0;          // of the whole buffer
  int64_t portion_bytes = 0;  // of each message except the last
  int32_t portions = 0;
  int32_t first_tag = 0;
};

class PartitionedRequest : public core::Request {
 public:
  /// `partition`: the first partition. MPI_PROC_NULL sends nothing.
  PartitionedRequest(const pml::Buffer& partition, int partitions, const pml::Envelope& envelope);
  ~PartitionedRequest() override;
  [[nodiscard]] int partitions() const noexcept { return partitions_; }
  [[nodiscard]] bool to_proc_null() const noexcept { return envelope_.rank == MPI_PROC_NULL; }

  /// Sends or receives the plan. The caller holds the lock. Returns an error class.
  [[nodiscard]] virtual int introduce() noexcept = 0;
  int start() noexcept override;
  void destroy() noexcept override;

  /// For MPI_Finalize: drops operations still without a plan.
  static void abandon_all() noexcept;

 protected:
  /// Begins a round. The caller holds the lock.
  virtual void begin() = 0;
  /// Makes progress; returns true once finished. The caller holds the lock.
  virtual bool step() noexcept = 0;
  /// Polls the request until step() returns true.
  void look_after();
  /// Records the outcome of a part and releases the part.
  void collect(core::Request* part) noexcept;
  void fail_with(const Failure& why) noexcept;
  void finish() noexcept;
  [[nodiscard]] pml::Envelope portion(int32_t tag) const noexcept;
  [[nodiscard]] int64_t total_bytes() const noexcept {
    return static_cast<int64_t>(partition_.bytes()) * partitions_;
  }

  const pml::Buffer partition_;
  const int partitions_;
  const pml::Envelope envelope_;
  PartitionPlan plan_;
  core::Request* introduction_ = nullptr;  // in flight

 private:
  static int poll(void* self) noexcept;
  bool listed_ = false;
};

class PartitionedSend final : public PartitionedRequest {
 public:
  using PartitionedRequest::PartitionedRequest;
  int introduce() noexcept override;
  /// MPI_Pready of an active request and a valid partition. The caller holds the lock.
  [[nodiscard]] int ready(int partition) noexcept;
  /// MPIX_Pready_enqueue, when the stream reaches the call: progress sends the partition. The
  /// caller holds the lock. Returns an error class with fail() text.
  [[nodiscard]] int ready_in_stream(int partition) noexcept;
  void describe(WaitReport* report) const override;

 private:
  void begin() override;
  bool step() noexcept override;
  [[nodiscard]] int send(int portion) noexcept;

  int group_ = 1;                     // partitions per portion
  int unsent_ = 0;                    // portions
  std::vector<uint8_t> ready_;        // by partition
  std::vector<int> told_;             // partitions marked ready by a stream
  std::vector<int> missing_;          // by portion: partitions not ready
  std::vector<core::Request*> open_;  // portions in flight
};

class PartitionedReceive final : public PartitionedRequest {
 public:
  using PartitionedRequest::PartitionedRequest;
  ~PartitionedReceive() override;
  int introduce() noexcept override;
  /// MPI_Parrived of a valid partition. The caller holds the lock.
  [[nodiscard]] bool arrived(int partition) noexcept;
  void describe(WaitReport* report) const override;

 private:
  void begin() override;
  bool step() noexcept override;
  void post() noexcept;
  [[nodiscard]] int receive(int64_t from, int32_t tag, core::Request** part);
  [[nodiscard]] bool here(size_t portion) noexcept;

  bool introduced_ = false, posted_ = false;
  size_t first_open_ = 0;                       // all earlier portions have arrived
  std::vector<core::Request*> parts_;           // by portion; null after delivery
  std::vector<std::vector<std::byte>> staged_;  // by portion: data ending inside an element
};

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// Partitioned operations: one buffer that travels in portions, each as soon as it is ready.
// How: MPI_Psend_init tells the receiver its plan (bytes, portions, tags) in one message that
// matches MPI_Precv_init in order; each portion is then a message with a tag of its own, so that
// portions overtake each other and rounds do not. Sender and receiver may cut the buffer
// differently.
// Lifetime: the user's handle is one reference; the list of those that need looking after another.
// Threads: under the channel's lock. See: MPI-5.0 chapter 4; tests/mpi/partitioned.c.
#pragma once

#include <vector>

#include "core/request.hpp"
#include "pml/pml.hpp"

namespace tern::api {

/// What the receiver must know of the sender.
struct PartitionPlan {
  int64_t bytes = 0;          // of the whole
  int64_t portion_bytes = 0;  // of each message but the last
  int32_t portions = 0;
  int32_t first_tag = 0;
};

class PartitionedRequest : public core::Request {
 public:
  /// `partition`: the first one. MPI_PROC_NULL: nothing travels.
  PartitionedRequest(const pml::Buffer& partition, int partitions, const pml::Envelope& envelope);
  ~PartitionedRequest() override;
  [[nodiscard]] int partitions() const noexcept { return partitions_; }
  [[nodiscard]] bool to_proc_null() const noexcept { return envelope_.rank == MPI_PROC_NULL; }

  /// The first message of the operation's life. Lock held. Returns an error class.
  [[nodiscard]] virtual int introduce() noexcept = 0;
  int start() noexcept override;
  void destroy() noexcept override;

  /// MPI_Finalize: what was never introduced stays so.
  static void abandon_all() noexcept;

 protected:
  /// A round begins. Lock held.
  virtual void begin() = 0;
  /// Does what can be done; true where nothing is left to look after. Lock held.
  virtual bool step() noexcept = 0;
  /// Progress looks after it until step() says so.
  void look_after();
  /// Notes how a part of the operation ended, and ends it.
  void collect(core::Request* part) noexcept;
  /// Keeps the first failure of a part of the operation.
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
  core::Request* introduction_ = nullptr;  // under way

 private:
  static int poll(void* self) noexcept;
  bool listed_ = false;
};

class PartitionedSend final : public PartitionedRequest {
 public:
  using PartitionedRequest::PartitionedRequest;
  int introduce() noexcept override;
  /// MPI_Pready of an active one and a partition in range. Lock held.
  [[nodiscard]] int ready(int partition) noexcept;
  /// MPIX_Pready_enqueue, when the stream comes to it: progress does the rest. Lock held. An error
  /// class with fail() text.
  [[nodiscard]] int ready_in_stream(int partition) noexcept;
  void describe(WaitReport* report) const override;

 private:
  void begin() override;
  bool step() noexcept override;
  [[nodiscard]] int send(int portion) noexcept;

  int group_ = 1;                     // partitions in a portion
  int unsent_ = 0;                    // portions
  std::vector<uint8_t> ready_;        // by partition
  std::vector<int> told_;             // partitions that a stream has come to
  std::vector<int> missing_;          // by portion: partitions that are not ready
  std::vector<core::Request*> open_;  // portions under way
};

class PartitionedReceive final : public PartitionedRequest {
 public:
  using PartitionedRequest::PartitionedRequest;
  ~PartitionedReceive() override;
  int introduce() noexcept override;
  /// MPI_Parrived of a partition in range. Lock held.
  [[nodiscard]] bool arrived(int partition) noexcept;
  void describe(WaitReport* report) const override;

 private:
  void begin() override;
  bool step() noexcept override;
  void post() noexcept;
  [[nodiscard]] int receive(int64_t from, int32_t tag, core::Request** part);
  [[nodiscard]] bool here(size_t portion) noexcept;

  bool introduced_ = false, posted_ = false;
  size_t first_open_ = 0;                       // all portions before it are here
  std::vector<core::Request*> parts_;           // by portion; null once its data is in place
  std::vector<std::vector<std::byte>> staged_;  // by portion: data that ends inside an element
};

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// Partitioned operations (MPI-5.0 chapter 4): a buffer sent in portions, each as soon as its
// partitions are ready.
// How: the sender's plan (bytes, portions, tags) is one message, matched in order. Each portion has
// its own tag, because portions of a round may overtake each other. Threads: under the channel's
// lock, as all functions here.
#pragma once

#include <vector>

#include "core/request.hpp"
#include "pml/pml.hpp"

namespace tern::api {

struct PartitionPlan {
  int64_t bytes = 0;
  int64_t portion_bytes = 0;  // of each portion except the last
  int32_t portions = 0;
  int32_t first_tag = 0;
};

class PartitionedRequest : public core::Request {
 public:
  /// `partition` is the first partition. MPI_PROC_NULL sends nothing.
  PartitionedRequest(const pml::Buffer& partition, int partitions, const pml::Envelope& envelope);
  ~PartitionedRequest() override;
  [[nodiscard]] int partitions() const noexcept { return partitions_; }
  [[nodiscard]] bool to_proc_null() const noexcept { return envelope_.rank == MPI_PROC_NULL; }

  /// Exchanges the plan. Returns an error class.
  [[nodiscard]] virtual int introduce() noexcept = 0;
  int start() noexcept override;
  void destroy() noexcept override;

  /// Drops operations that have no plan yet, for MPI_Finalize.
  static void abandon_all() noexcept;

 protected:
  virtual void begin() = 0;
  virtual bool step() noexcept = 0;
  void look_after();
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
  core::Request* introduction_ = nullptr;

 private:
  static int poll(void* self) noexcept;
  bool listed_ = false;
};

class PartitionedSend final : public PartitionedRequest {
 public:
  using PartitionedRequest::PartitionedRequest;
  int introduce() noexcept override;
  [[nodiscard]] int ready(int partition) noexcept;
  /// Marks a partition ready when the stream reaches MPIX_Pready_enqueue. Returns an error class
  /// with fail() text.
  [[nodiscard]] int ready_in_stream(int partition) noexcept;
  void describe(WaitReport* report) const override;

 private:
  void begin() override;
  bool step() noexcept override;
  [[nodiscard]] int send(int portion) noexcept;

  int group_ = 1;  // partitions per portion
  int unsent_ = 0;
  std::vector<uint8_t> ready_;
  std::vector<int> told_;
  std::vector<int> missing_;
  std::vector<core::Request*> open_;
};

class PartitionedReceive final : public PartitionedRequest {
 public:
  using PartitionedRequest::PartitionedRequest;
  ~PartitionedReceive() override;
  int introduce() noexcept override;
  [[nodiscard]] bool arrived(int partition) noexcept;
  void describe(WaitReport* report) const override;

 private:
  void begin() override;
  bool step() noexcept override;
  void post() noexcept;
  [[nodiscard]] int receive(int64_t from, int32_t tag, core::Request** part);
  [[nodiscard]] bool here(size_t portion) noexcept;

  bool introduced_ = false, posted_ = false;
  size_t first_open_ = 0;  // earlier portions have arrived
  std::vector<core::Request*> parts_;
  std::vector<std::vector<std::byte>> staged_;  // data ending inside an element
};

}  // namespace tern::api

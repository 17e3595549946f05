// SPDX-License-Identifier: Apache-2.0
// Calls: the functions of an MPIX_Boot, with checks, errors in words, and keys prefixed by the
// job's name.
// Lifetime: shared by a Boot and the thread of its fence; the destructor calls `done`. Threads:
// any.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "mpix.h"

namespace tern::boot {

class Calls {
 public:
  // The constructor throws Error with the invalid member, and then never calls `done`.
  explicit Calls(const MPIX_Boot& given);
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls();

  [[nodiscard]] int rank() const noexcept { return calls_.rank; }
  [[nodiscard]] int size() const noexcept { return calls_.size; }
  [[nodiscard]] const std::string& job() const noexcept { return job_; }
  [[nodiscard]] const std::string& host() const noexcept { return host_; }

  void put(const std::string& key, std::string_view value) const;
  [[nodiscard]] std::string get(int rank, const std::string& key,
                                std::size_t room = kUsualRoom) const;
  void fence() const;
  void abort(int code, const char* text) const noexcept;

  // Rank 0 joins the values of all ranks, `bytes` each, and `rest`. A non-empty `objection` is an
  // error on all ranks.
  using Objection = std::function<std::string(int rank, const std::string& value)>;
  void gather(const std::string& key, std::size_t bytes, const Objection& objection,
              std::string_view rest = {}) const;
  // A null `rest` means that the gathered value must have none.
  [[nodiscard]] std::string gathered(const std::string& key, std::size_t bytes,
                                     std::string* rest = nullptr) const;

 private:
  static constexpr std::size_t kUsualRoom = 1024;
  [[nodiscard]] std::string full(const std::string& key) const { return job_ + "." + key; }
  void check(int code, const char* function, const std::string& what) const;

  MPIX_Boot calls_;
  std::string job_, host_;
};

}  // namespace tern::boot

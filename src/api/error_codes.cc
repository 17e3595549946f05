// SPDX-License-Identifier: Apache-2.0
#include "api/error_codes.hpp"

#include <utility>

namespace tern::api {

int ErrorCodes::add(int mpi_class) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const int code = ++last_;
  entries_[code] = {mpi_class == 0 ? code : mpi_class, {}};
  return code;
}

int ErrorCodes::add_class() { return add(0); }
int ErrorCodes::add_code(int mpi_class) { return add(mpi_class); }

bool ErrorCodes::set_text(int code, std::string text) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = entries_.find(code);
  if (found == entries_.end()) return false;
  found->second.text = std::move(text);
  return true;
}

bool ErrorCodes::remove(int code) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (entries_.erase(code) == 0) return false;
  last_ = entries_.empty() ? MPI_ERR_LASTCODE : entries_.rbegin()->first;
  return true;
}

bool ErrorCodes::remove_text(int code) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = entries_.find(code);
  if (found == entries_.end() || found->second.text.empty()) return false;
  found->second.text.clear();
  return true;
}

bool ErrorCodes::added(int code) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return entries_.count(code) != 0;
}

bool ErrorCodes::has_codes(int mpi_class) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (const auto& [code, entry] : entries_)
    if (entry.mpi_class == mpi_class && code != mpi_class) return true;
  return false;
}

int ErrorCodes::class_of(int code) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = entries_.find(code);
  return found == entries_.end() ? code : found->second.mpi_class;
}

std::string ErrorCodes::text(int code) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = entries_.find(code);
  return found == entries_.end() ? std::string() : found->second.text;
}

int ErrorCodes::last() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return last_;
}

}  // namespace tern::api

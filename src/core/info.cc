// SPDX-License-Identifier: Apache-2.0
// Info: linear search, because infos have few keys.
#include "core/info.hpp"

#include <algorithm>
#include <fstream>

#include "core/process.hpp"

namespace tern::core {
namespace {

template <class Entries>
auto position(Entries& entries, std::string_view key) noexcept {
  return std::find_if(entries.begin(), entries.end(),
                      [key](const auto& entry) { return entry.first == key; });
}

/// Keys "command" and "argv" (MPI-5.0 section 11.5.3).
void set_command(Info* env) {
  std::ifstream line("/proc/self/cmdline", std::ios::binary);
  std::string word, words;
  if (!std::getline(line, word, '\0')) return;
  env->set("command", word.substr(0, MPI_MAX_INFO_VAL - 1));
  while (std::getline(line, word, '\0')) words += (words.empty() ? "" : " ") + word;
  env->set("argv", words.substr(0, MPI_MAX_INFO_VAL - 1));
}

}  // namespace

std::optional<std::string> Info::get(std::string_view key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = position(entries_, key);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

void Info::set(std::string_view key, std::string_view value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = position(entries_, key);
  if (found != entries_.end()) {
    found->second = value;
  } else {
    entries_.emplace_back(key, value);
  }
}

bool Info::erase(std::string_view key) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = position(entries_, key);
  if (found == entries_.end()) return false;
  entries_.erase(found);
  return true;
}

size_t Info::count() const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

std::optional<std::string> Info::key(size_t number) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (number >= entries_.size()) return std::nullopt;
  return entries_[number].first;
}

Info::Entries Info::entries() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_;
}

// merge() takes one lock at a time, because threads may merge two infos into each other.
void Info::merge(const Info& other) {
  for (const auto& [key, value] : other.entries()) set(key, value);
}

void make_predefined_infos(Process& process) {
  auto* env = new Info;
  set_command(env);
  if (!process.params.memory_alloc_kinds.empty())
    env->set("mpi_memory_alloc_kinds", process.params.memory_alloc_kinds);
  if (process.params.initial_errhandler == InitialHandler::kAbort)
    env->set("mpi_initial_errhandler", "mpi_errors_abort");
  if (process.params.initial_errhandler == InitialHandler::kReturn)
    env->set("mpi_initial_errhandler", "mpi_errors_return");
  process.handles.set_predefined(reinterpret_cast<uintptr_t>(MPI_INFO_ENV), *env);
}

}  // namespace tern::core

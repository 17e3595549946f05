// SPDX-License-Identifier: Apache-2.0
// Attributes: setting, copying and deleting by the user's callbacks.
#include "core/attribute.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace tern::core {
namespace {

constexpr uintptr_t kDup = 1;  // MPI_COMM_DUP_FN, MPI_TYPE_DUP_FN, MPI_WIN_DUP_FN, MPI_DUP_FN

void* as_handle(uintptr_t word) noexcept { return reinterpret_cast<void*>(word); }

/// Runs the copy callback: *copied says whether the new object has the attribute.
int run_copy(const Keyval& key, int keyval, uintptr_t owner, void* in, void** out, bool* copied) {
  *copied = false;
  if (key.copy == nullptr) return MPI_SUCCESS;
  if (reinterpret_cast<uintptr_t>(key.copy) == kDup) {
    *copied = true;
    *out = in;
    return MPI_SUCCESS;
  }
  int flag = 0;
  const int rc = key.copy(as_handle(owner), keyval, key.extra, in, out, &flag);
  if (rc != MPI_SUCCESS)
    return fail(rc, "the copy callback of attribute key %d returned %d", keyval, rc);
  *copied = flag != 0;
  return MPI_SUCCESS;
}

}  // namespace

int Keyvals::add(const Keyval& keyval) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::erase_if(slots_, [](const auto& slot) { return slot.second.key.expired(); });
  auto key = std::make_shared<const Keyval>(keyval);
  slots_[next_] = {key, key};
  return next_++;
}

std::shared_ptr<const Keyval> Keyvals::find(int number, Kind kind) const noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = slots_.find(number);
  if (found == slots_.end()) return nullptr;
  auto key = found->second.key.lock();
  return key != nullptr && key->kind == kind ? key : nullptr;
}

bool Keyvals::erase(int number, Kind kind) noexcept {
  if (find(number, kind) == nullptr) return false;
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = slots_.find(number);
  if (found != slots_.end()) found->second.held.reset();
  return true;
}

bool Attributes::get(int keyval, void** value) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.keyval != keyval) continue;
    *value = entry.value;
    return true;
  }
  return false;
}

int Attributes::run_delete(const Entry& entry, uintptr_t owner) {
  if (entry.key->erase == nullptr) return MPI_SUCCESS;
  const int rc = entry.key->erase(as_handle(owner), entry.keyval, entry.value, entry.key->extra);
  if (rc == MPI_SUCCESS) return rc;
  return fail(rc, "the delete callback of attribute key %d returned %d", entry.keyval, rc);
}

int Attributes::set(std::shared_ptr<const Keyval> key, int keyval, void* value, uintptr_t owner) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].keyval != keyval) continue;
    const Entry old = entries_[i];  // the callback may touch the attributes
    const int rc = run_delete(old, owner);
    if (rc != MPI_SUCCESS) return rc;
    if (i < entries_.size() && entries_[i].keyval == keyval) {
      entries_[i].value = value;
      return MPI_SUCCESS;
    }
    break;
  }
  entries_.push_back({keyval, std::move(key), value});
  return MPI_SUCCESS;
}

int Attributes::erase(int keyval, uintptr_t owner) {
  const auto same = [keyval](const Entry& entry) { return entry.keyval == keyval; };
  const auto found = std::find_if(entries_.begin(), entries_.end(), same);
  if (found == entries_.end())
    return fail(MPI_ERR_KEYVAL, "attribute key %d is not set on this object", keyval);
  const Entry old = *found;
  const int rc = run_delete(old, owner);
  if (rc != MPI_SUCCESS) return rc;
  std::erase_if(entries_, same);
  return MPI_SUCCESS;
}

int Attributes::copy_all(const Attributes* from, uintptr_t old_owner, Attributes** to) {
  if (from == nullptr) return MPI_SUCCESS;
  const std::vector<Entry> entries = from->entries_;  // callbacks may change the original
  for (const Entry& entry : entries) {
    void* value = nullptr;
    bool copied = false;
    const int rc = run_copy(*entry.key, entry.keyval, old_owner, entry.value, &value, &copied);
    if (rc != MPI_SUCCESS) return rc;
    if (!copied) continue;
    if (*to == nullptr) *to = new Attributes;
    (*to)->entries_.push_back({entry.keyval, entry.key, value});
  }
  return MPI_SUCCESS;
}

int Attributes::delete_all(Attributes** attributes, uintptr_t owner) {
  while (*attributes != nullptr && !(*attributes)->entries_.empty()) {
    const Entry last = (*attributes)->entries_.back();
    const int rc = run_delete(last, owner);
    if (rc != MPI_SUCCESS) return rc;
    std::erase_if((*attributes)->entries_,
                  [&last](const Entry& entry) { return entry.keyval == last.keyval; });
  }
  delete *attributes;
  *attributes = nullptr;
  return MPI_SUCCESS;
}

}  // namespace tern::core

// SPDX-License-Identifier: Apache-2.0
// Attributes: calls of the user's callbacks.
#include "core/attribute.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "core/user_call.hpp"

namespace tern::core {
namespace {

constexpr uintptr_t kDup = 1;

void* as_handle(uintptr_t word) noexcept { return reinterpret_cast<void*>(word); }

int run_copy(const Keyval& key, int keyval, uintptr_t owner, void* in, void** out, bool* copied) {
  *copied = false;
  if (key.copy == nullptr) return MPI_SUCCESS;
  if (reinterpret_cast<uintptr_t>(key.copy) == kDup) {
    *copied = true;
    *out = in;
    return MPI_SUCCESS;
  }
  int flag = 0;
  bool threw = false;
  const int rc = user_call("the copy callback of an attribute key", &threw, [&] {
    return key.copy(as_handle(owner), keyval, key.extra, in, out, &flag);
  });
  if (threw) return rc;
  if (rc != MPI_SUCCESS)
    return fail(rc, "the copy callback of attribute key %d returned %d", keyval, rc);
  *copied = flag != 0;
  return MPI_SUCCESS;
}

int run_delete(const Keyval& key, int keyval, uintptr_t owner, void* value) {
  if (key.erase == nullptr) return MPI_SUCCESS;
  bool threw = false;
  const int rc = user_call("the delete callback of an attribute key", &threw,
                           [&] { return key.erase(as_handle(owner), keyval, value, key.extra); });
  if (rc == MPI_SUCCESS || threw) return rc;
  return fail(rc, "the delete callback of attribute key %d returned %d", keyval, rc);
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

Attributes::Lock Attributes::hold() const {
  return threads_share_objects ? Lock(mutex_) : Lock(mutex_, std::defer_lock);
}

size_t Attributes::staying(int keyval) const noexcept {
  for (size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].keyval == keyval && !entries_[i].leaving) return i;
  return kNone;
}

size_t Attributes::last_staying() const noexcept {
  for (size_t i = entries_.size(); i-- > 0;)
    if (!entries_[i].leaving) return i;
  return kNone;
}

// The search runs from the back, because a value set during the deletion of the old value comes
// later.
bool Attributes::get(int keyval, void** value) const noexcept {
  const Lock lock = hold();
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->keyval != keyval) continue;
    *value = entry->value;
    return true;
  }
  return false;
}

int Attributes::end_entry(Lock& lock, size_t index, uintptr_t owner) {
  entries_[index].leaving = true;
  const AttributeValue old = entries_[index];
  const bool held = lock.owns_lock();
  if (held) lock.unlock();
  const int code = run_delete(*old.key, old.keyval, owner, old.value);
  if (held) lock.lock();
  const auto found =
      std::find_if(entries_.begin(), entries_.end(),
                   [&old](const AttributeValue& entry) { return entry.number == old.number; });
  if (code == MPI_SUCCESS)
    entries_.erase(found);
  else
    found->leaving = false;
  return code;
}

int Attributes::set(std::shared_ptr<const Keyval> key, int keyval, void* value, uintptr_t owner) {
  Lock lock = hold();
  for (size_t old = staying(keyval); old != kNone; old = staying(keyval))
    if (const int code = end_entry(lock, old, owner); code != MPI_SUCCESS) return code;
  entries_.push_back({keyval, std::move(key), value, next_number_++});
  return MPI_SUCCESS;
}

int Attributes::erase(int keyval, uintptr_t owner) {
  Lock lock = hold();
  const size_t found = staying(keyval);
  if (found == kNone)
    return fail(MPI_ERR_KEYVAL, "attribute key %d is not set on this object", keyval);
  return end_entry(lock, found, owner);
}

int Attributes::copy_all(uintptr_t owner, Attributes& to) const {
  Lock lock = hold();
  const std::vector<AttributeValue> entries = entries_;  // callbacks may change the entries
  if (lock.owns_lock()) lock.unlock();
  for (const AttributeValue& entry : entries) {
    void* value = nullptr;
    bool copied = false;
    if (entry.leaving) continue;
    const int rc = run_copy(*entry.key, entry.keyval, owner, entry.value, &value, &copied);
    if (rc != MPI_SUCCESS) return rc;
    if (copied) to.entries_.push_back({entry.keyval, entry.key, value, to.next_number_++});
  }
  return MPI_SUCCESS;
}

int Attributes::delete_all(uintptr_t owner) {
  Lock lock = hold();
  for (size_t last = last_staying(); last != kNone; last = last_staying())
    if (const int code = end_entry(lock, last, owner); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

}  // namespace tern::core

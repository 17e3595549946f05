// SPDX-License-Identifier: Apache-2.0
// Posted and Unexpected: matching in MPI's order, including wildcards: receives in posting order,
// messages in arrival order.
// Cost: an arrival searches non-empty tables only. The first wildcard receive builds the wildcard
// indices.
#pragma once

#include "base/error.hpp"
#include "mpi.h"
#include "pml/match.hpp"

namespace tern::pml {

inline constexpr uint32_t kAnySource = UINT32_MAX;

/// T has hooks[1], `uint64_t posted_at` and `Key key` (with wildcards).
template <class T>
class Posted {
 public:
  void post(T& receive) {
    receive.posted_at = ++clock_;
    table(receive.key).append(receive.key, receive);
  }
  void remove(T& receive) noexcept { table(receive.key).remove(receive); }

  [[nodiscard]] T* take(const Key& key) noexcept {
    T* best = exact_.empty() ? nullptr : exact_.first(key);
    if (TERN_UNLIKELY(wild())) best = earlier_wild(best, key);
    if (best != nullptr) remove(*best);
    return best;
  }
  [[nodiscard]] bool empty() const noexcept { return exact_.empty() && !wild(); }
  [[nodiscard]] size_t size() const noexcept {
    return exact_.size() + any_tag_.size() + any_source_.size() + any_.size();
  }
  [[nodiscard]] static bool holds(const T& receive) noexcept {
    return receive.hooks[0].queue != nullptr;
  }

 private:
  using Table = KeyedQueues<T, 0>;
  [[nodiscard]] bool wild() const noexcept {
    return !any_tag_.empty() || !any_source_.empty() || !any_.empty();
  }
  Table& table(const Key& key) noexcept {
    if (key.source == kAnySource) return key.tag == MPI_ANY_TAG ? any_ : any_source_;
    return key.tag == MPI_ANY_TAG ? any_tag_ : exact_;
  }
  T* earlier_wild(T* best, const Key& key) const noexcept {
    const auto consider = [&best](T* candidate) {
      if (candidate != nullptr && (best == nullptr || candidate->posted_at < best->posted_at))
        best = candidate;
    };
    consider(any_tag_.first({key.context, key.source, MPI_ANY_TAG}));
    consider(any_source_.first({key.context, kAnySource, key.tag}));
    consider(any_.first({key.context, kAnySource, MPI_ANY_TAG}));
    return best;
  }

  Table exact_, any_tag_, any_source_, any_;
  uint64_t clock_ = 0;
};

/// T has hooks[4], `Key key` (no wildcards) and `T *earlier, *later` (by arrival).
template <class T>
class Unexpected {
 public:
  void add(T& message) {
    exact_.append(message.key, message);
    if (TERN_UNLIKELY(indexed_)) index(message);
    message.earlier = last_;
    message.later = nullptr;
    (last_ == nullptr ? first_ : last_->later) = &message;
    last_ = &message;
  }
  void remove(T& message) noexcept {
    exact_.remove(message);
    if (KeyedQueues<T, 1>::holds(message)) {
      by_source_.remove(message);
      by_tag_.remove(message);
      all_.remove(message);
    }
    (message.earlier == nullptr ? first_ : message.earlier->later) = message.later;
    (message.later == nullptr ? last_ : message.later->earlier) = message.earlier;
  }
  [[nodiscard]] T* find(const Key& key) {
    if (exact_.empty()) return nullptr;
    const bool any_source = key.source == kAnySource, any_tag = key.tag == MPI_ANY_TAG;
    if (!any_source && !any_tag) return exact_.first(key);
    if (!indexed_) build_indices();
    if (any_source && any_tag) return all_.first(key);
    return any_source ? by_tag_.first(key) : by_source_.first(key);
  }
  [[nodiscard]] bool empty() const noexcept { return exact_.empty(); }
  [[nodiscard]] size_t size() const noexcept { return exact_.size(); }
  [[nodiscard]] T* first() const noexcept { return first_; }

 private:
  void index(T& message) {
    const Key& key = message.key;
    by_source_.append({key.context, key.source, MPI_ANY_TAG}, message);
    by_tag_.append({key.context, kAnySource, key.tag}, message);
    all_.append({key.context, kAnySource, MPI_ANY_TAG}, message);
  }
  void build_indices() {
    try {
      for (T* message = first_; message != nullptr; message = message->later) index(*message);
    } catch (...) {
      for (T* message = first_; message != nullptr; message = message->later) {
        if (KeyedQueues<T, 1>::holds(*message)) by_source_.remove(*message);
        if (KeyedQueues<T, 2>::holds(*message)) by_tag_.remove(*message);
        if (KeyedQueues<T, 3>::holds(*message)) all_.remove(*message);
      }
      throw;
    }
    indexed_ = true;
  }

  KeyedQueues<T, 0> exact_;
  KeyedQueues<T, 1> by_source_;
  KeyedQueues<T, 2> by_tag_;
  KeyedQueues<T, 3> all_;
  bool indexed_ = false;
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace tern::pml

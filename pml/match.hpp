// SPDX-License-Identifier: Apache-2.0
// KeyedQueues: hashed, intrusive FIFO queues by (context, source, tag).
// Cost: one hash and a short chain per operation, however many messages wait. Empty queues stay
// until the next rebuild, so repeated patterns allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tern::pml {

struct Key {
  uint32_t context;
  uint32_t source;
  int32_t tag;
  bool operator==(const Key&) const = default;
  [[nodiscard]] uint64_t hash() const noexcept {
    uint64_t h = (uint64_t{context} << 32 | source) * 0x9e3779b97f4a7c15;
    h ^= static_cast<uint32_t>(tag) * 0xc2b2ae3d27d4eb4f;
    return h ^ (h >> 29);
  }
};

template <class T>
struct Queue {
  Key key{};
  T* first = nullptr;
  T* last = nullptr;
  Queue* next = nullptr;
};

template <class T>
struct Hook {
  T* next = nullptr;
  T* previous = nullptr;
  Queue<T>* queue = nullptr;
};

/// T has `Hook<T> hooks[...]`; this table uses hooks[I].
template <class T, int I>
class KeyedQueues {
 public:
  KeyedQueues() : buckets_(kFirstBuckets, nullptr) {}

  [[nodiscard]] bool empty() const noexcept { return items_ == 0; }
  [[nodiscard]] size_t size() const noexcept { return items_; }

  [[nodiscard]] T* first(const Key& key) const noexcept {
    if (recent_ != nullptr && recent_->key == key) return recent_->first;
    for (const Queue<T>* queue = buckets_[slot(key)]; queue != nullptr; queue = queue->next)
      if (queue->key == key) return queue->first;
    return nullptr;
  }

  void append(const Key& key, T& item) {
    Queue<T>& queue = queue_of(key);
    Hook<T>& hook = item.hooks[I];
    hook = {nullptr, queue.last, &queue};
    (queue.last == nullptr ? queue.first : queue.last->hooks[I].next) = &item;
    queue.last = &item;
    ++items_;
  }

  void remove(T& item) noexcept {
    Hook<T>& hook = item.hooks[I];
    Queue<T>& queue = *hook.queue;
    (hook.previous == nullptr ? queue.first : hook.previous->hooks[I].next) = hook.next;
    (hook.next == nullptr ? queue.last : hook.next->hooks[I].previous) = hook.previous;
    hook.queue = nullptr;
    --items_;
  }

  [[nodiscard]] static bool holds(const T& item) noexcept { return item.hooks[I].queue != nullptr; }

 private:
  static constexpr size_t kFirstBuckets = 64;

  [[nodiscard]] size_t slot(const Key& key) const noexcept {
    return key.hash() & (buckets_.size() - 1);
  }
  Queue<T>& queue_of(const Key& key) {
    if (recent_ != nullptr && recent_->key == key) return *recent_;
    for (Queue<T>* queue = buckets_[slot(key)]; queue != nullptr; queue = queue->next)
      if (queue->key == key) return *(recent_ = queue);
    if (in_buckets_ >= buckets_.size()) rebuild();
    Queue<T>* queue = free_;
    if (queue != nullptr) {
      free_ = queue->next;
    } else {
      all_.push_back(std::make_unique<Queue<T>>());
      queue = all_.back().get();
    }
    *queue = {key, nullptr, nullptr, buckets_[slot(key)]};
    buckets_[slot(key)] = queue;
    ++in_buckets_;
    return *(recent_ = queue);
  }
  void rebuild() {
    size_t used = 0;
    for (const Queue<T>* queue : buckets_)
      for (; queue != nullptr; queue = queue->next) used += queue->first != nullptr;
    std::vector<Queue<T>*> kept;
    kept.reserve(used);
    std::vector<Queue<T>*> buckets(buckets_.size() * (used * 2 > buckets_.size() ? 2 : 1));
    recent_ = nullptr;
    for (Queue<T>* queue : buckets_)
      while (queue != nullptr) {
        Queue<T>* next = queue->next;
        if (queue->first != nullptr) {
          kept.push_back(queue);
        } else {
          queue->next = free_;
          free_ = queue;
        }
        queue = next;
      }
    buckets_.swap(buckets);
    for (Queue<T>* queue : kept) {
      queue->next = buckets_[slot(queue->key)];
      buckets_[slot(queue->key)] = queue;
    }
    in_buckets_ = kept.size();
  }

  std::vector<Queue<T>*> buckets_;
  std::vector<std::unique_ptr<Queue<T>>> all_;
  Queue<T>* free_ = nullptr;
  Queue<T>* recent_ = nullptr;  // queue of the last append, because patterns repeat
  size_t items_ = 0;
  size_t in_buckets_ = 0;
};

}  // namespace tern::pml

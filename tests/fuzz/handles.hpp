// SPDX-License-Identifier: Apache-2.0
// drive_handles: bytes as a program for the handle table, checked at each step against a map.
// Shared by libFuzzer and the unit test.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "core/handle.hpp"
#include "core/info.hpp"
#include "core/session.hpp"
#include "tests/fuzz/bytes.hpp"

namespace tern::fuzz {

class HandleModel {
 public:
  explicit HandleModel(core::HandleTable& table) : table_(table) {}
  ~HandleModel() {
    for (const auto& [word, object] : words_) table_.erase(*object);
  }
  void insert(bool session) {
    core::Object* made = session ? static_cast<core::Object*>(new core::Session) : new core::Info;
    objects_.emplace_back(made);
    words_[table_.insert(*made)] = made;
    seen_.push_back(made->handle());
  }
  void erase(size_t which) {
    core::Object* object = pick(which);
    if (object == nullptr) return;
    words_.erase(object->handle());
    table_.erase(*object);
    TERN_ASSERT(object->handle() == 0);
  }
  void renew(size_t which) {
    core::Object* object = pick(which);
    if (object == nullptr) return;
    words_.erase(object->handle());
    words_[table_.renew(*object)] = object;
    seen_.push_back(object->handle());
  }
  void find(uintptr_t word) const {
    const auto known = words_.find(word);
    core::Object* object = known == words_.end() ? nullptr : known->second;
    const bool info = object != nullptr && object->kind() == core::Kind::kInfo;
    TERN_ASSERT(table_.find<core::Info>(word) == (info ? object : nullptr));
    TERN_ASSERT(table_.find<core::Session>(word) == (info ? nullptr : object));
  }
  void convert(int number) const {
    const uintptr_t word = table_.from_int(number);
    if (word >= core::HandleTable::kPredefined) TERN_ASSERT(words_.count(word) == 1);
  }
  /// near() returns a formerly valid handle with some bits changed.
  [[nodiscard]] uintptr_t near(size_t which, uintptr_t flips) const {
    return seen_.empty() ? flips : seen_[which % seen_.size()] ^ flips;
  }

 private:
  [[nodiscard]] core::Object* pick(size_t which) const {
    if (objects_.empty()) return nullptr;
    core::Object* object = objects_[which % objects_.size()].get();
    return object->handle() == 0 ? nullptr : object;
  }

  core::HandleTable& table_;
  std::vector<std::unique_ptr<core::Object>> objects_;
  std::unordered_map<uintptr_t, core::Object*> words_;
  std::vector<uintptr_t> seen_;
};

inline void drive_handles(const uint8_t* data, size_t size) {
  static auto* table = new core::HandleTable;  // creation costs more than a whole program
  HandleModel model(*table);
  Bytes bytes(data, size);
  while (!bytes.empty()) {
    const auto what = bytes.take<uint8_t>();
    const auto which = bytes.take<uint16_t>();
    switch (what % 8) {
      case 0:
      case 1:
        model.insert((what & 8) != 0);
        break;
      case 2:
        model.erase(which);
        break;
      case 3:
        model.renew(which);
        break;
      case 4:
        model.find(bytes.take<uint64_t>());
        break;
      case 5:
        model.find(model.near(which, bytes.take<uint64_t>()));
        break;
      case 6:
        model.find(model.near(which, uintptr_t{1} << (what >> 3)));
        break;
      default:
        model.find(model.near(which, 0));
        model.convert(bytes.take<int32_t>());
    }
  }
}

}  // namespace tern::fuzz

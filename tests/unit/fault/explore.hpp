// SPDX-License-Identifier: Apache-2.0
// explore: visits every reachable state of a model once, and reports the first violation with the
// actions that lead there.
// A model is copyable and has:
//   void key(Key& key) const                 equal for states with equal futures
//   void actions(Visit visit) const          visit(Action) for each possible action
//   void act(Action action)                  throws Violation
//   void check() const                       throws Violation
// Visited states are kept as 128-bit hashes: two of 10^8 states collide with a probability of
// 10^-22.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tern::fault::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

class Violation : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Key {
 public:
  void add(uint64_t value) noexcept {
    low_ = mix(low_ ^ value);
    high_ = mix(high_ + value * 0x9e3779b97f4a7c15);
  }
  template <class Values>
  void add_all(const Values& values) noexcept {
    add(values.size());
    for (const auto value : values) add(static_cast<uint64_t>(value));
  }
  [[nodiscard]] std::pair<uint64_t, uint64_t> halves() const noexcept { return {low_, high_}; }
  bool operator==(const Key&) const = default;
  struct Hash {
    size_t operator()(const Key& key) const noexcept { return key.low_; }
  };

 private:
  static uint64_t mix(uint64_t value) noexcept {
    value = (value ^ value >> 32) * 0xd6e8feb86659fd93;
    value = (value ^ value >> 32) * 0xd6e8feb86659fd93;
    return value ^ value >> 32;
  }
  uint64_t low_ = 1, high_ = 2;
};

struct Action {
  char kind;
  int8_t actor, object;
};

struct Exploration {
  size_t states = 0, final_states = 0;
  std::string violation, actions;  // empty if the model is right
};

template <class Model>
class Explorer {
 public:
  Exploration run(const Model& initial) {
    push(initial, {'.', 0, 0}, 0);
    while (!open_.empty() && found_.violation.empty()) {
      const Open from = std::move(open_.back());
      open_.pop_back();
      expand(from);
    }
    found_.states = visited_.size();
    return found_;
  }

 private:
  struct Open {
    Model model;
    uint32_t place;
  };
  struct Visited {
    Action action;
    uint32_t before;
  };

  void push(Model model, Action action, uint32_t before) {
    Key key;
    model.key(key);
    if (!visited_.insert(key).second) return;
    steps_.push_back({action, before});
    open_.push_back({std::move(model), static_cast<uint32_t>(steps_.size() - 1)});
  }

  void expand(const Open& from) {
    bool final = true;
    try {
      from.model.check();
      from.model.actions([&](Action action) {
        if (!found_.violation.empty()) return;
        final = false;
        Model next = from.model;
        try {
          next.act(action);
        } catch (const Violation& violation) {
          report(violation, from.place);
          found_.actions += text(action);
          return;
        }
        push(std::move(next), action, from.place);
      });
    } catch (const Violation& violation) {
      report(violation, from.place);
    }
    if (final) ++found_.final_states;
  }

  void report(const Violation& violation, uint32_t place) {
    found_.violation = violation.what();
    for (; place != 0; place = steps_[place].before)
      found_.actions.insert(0, text(steps_[place].action));
  }
  static std::string text(Action action) {
    return std::string(1, action.kind) + std::to_string(action.actor) +
           (action.object < 0 ? std::string() : '/' + std::to_string(action.object)) + ' ';
  }

  std::unordered_set<Key, Key::Hash> visited_;
  std::vector<Visited> steps_;
  std::vector<Open> open_;
  Exploration found_;
};

template <class Model>
[[nodiscard]] Exploration explore(const Model& initial) {
  return Explorer<Model>().run(initial);
}

}  // namespace tern::fault::test

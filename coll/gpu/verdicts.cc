// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/verdicts.hpp"

#include <iterator>

#include "base/wire.hpp"
#include "coll/gpu/engine.hpp"

namespace tern::coll {
namespace {

constexpr char kNotYet[] = ": not yet run on hardware";
constexpr Verdict kVerdicts[] = {
#include "gpu_verdicts.inc"
    {"", ""}};

void add(std::string* list, std::string_view one, const char* between) {
  if (!list->empty()) *list += between;
  *list += one;
}

/// The first name means "none".
std::string names_in_words(std::span<const char* const> names, std::span<const Verdict> all) {
  std::string words, not_yet;
  for (const char* const name : names.subspan(1))
    if (record_of(name, all) == nullptr) add(&not_yet, name, ", ");
  if (!not_yet.empty()) words = not_yet + kNotYet;
  for (const char* const name : names.subspan(1))
    if (const char* const record = record_of(name, all); record != nullptr)
      add(&words, std::string(name) + ": " + record, "; ");
  return words;
}

}  // namespace

std::span<const Verdict> verdicts() noexcept {
  return std::span(kVerdicts).first(std::size(kVerdicts) - 1);
}

const char* record_of(std::string_view name, std::span<const Verdict> all) noexcept {
  for (const Verdict& verdict : all)
    if (name == verdict.name) return verdict.record;
  return nullptr;
}

std::string mark_of(std::string_view engine, std::string_view wire, std::span<const Verdict> all) {
  std::string names;
  if (record_of(engine, all) == nullptr) add(&names, engine, ", ");
  if (find_wire(wire) && record_of(wire, all) == nullptr) add(&names, wire, ", ");
  return names.empty() ? names : names + kNotYet;
}

std::string engines_in_words(std::span<const Verdict> all) {
  return names_in_words(kEngineNames, all);
}
std::string wires_in_words(std::span<const Verdict> all) { return names_in_words(kWireNames, all); }

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// drive_chakra: bytes as the traces of two ranks and the ranks of their groups. Shared by libFuzzer
// and tests/unit/coll/chakra_test.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "coll/laboratory/simulate/chakra.hpp"
#include "tests/fuzz/bytes.hpp"

namespace tern::fuzz {

/// The first four bytes divide the input into two traces and the groups.
inline void drive_chakra(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  const size_t one = bytes.take<uint16_t>(), two = bytes.take<uint16_t>();
  const std::string traces[] = {bytes.text(one), bytes.text(two)};
  const std::string names = bytes.text(4096);
  coll::NamedGroups groups{{"pair", {0, 1}}, {"turned", {1, 0}}, {"alone", {1}}};
  try {
    groups = coll::parse_named_groups(names, "groups");
  } catch (const Error&) {
  }
  try {
    std::vector<std::vector<coll::EtNode>> ranks;
    for (const std::string& trace : traces) ranks.push_back(coll::read_et(trace, "trace"));
    const coll::Workload found = coll::workload_of(std::move(ranks), groups);
    // The text is a workload again.
    const std::string text = coll::workload_text(found);
    TERN_ASSERT(coll::workload_text(coll::parse_workload(text, "again")) == text);
    TERN_ASSERT(found.ranks() <= 2);
  } catch (const Error&) {
  }
}

}  // namespace tern::fuzz

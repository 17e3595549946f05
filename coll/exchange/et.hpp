// SPDX-License-Identifier: Apache-2.0
// et: the nodes of a Chakra execution trace of a rank: messages of Protocol Buffers, each behind
// its length; the first is the file's metadata.
// Limits: 64 MiB, kMostEtNodes nodes, kMostEtDependencies dependencies, strings of 4 KiB. Lengths
// are checked before work.
// See: github.com/mlcommons/chakra, schema/protobuf/et_def.proto (numbers of fields and kinds).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::coll {

inline constexpr size_t kMostEtNodes = size_t{1} << 20;
inline constexpr size_t kMostEtDependencies = size_t{1} << 22;

struct EtNode {
  enum class Kind : uint8_t {
    kInvalid,
    kMetadata,
    kLoad,
    kStore,
    kComputation,
    kSend,
    kRecv,
    kCollective
  };
  uint64_t id = 0;
  std::string name;
  Kind kind = Kind::kInvalid;
  std::vector<uint64_t> after;  // ids
  double duration = 0;          // us
  int64_t comm_type = -1;       // -1: absent
  double comm_size = 0;         // bytes of a rank's input
  int64_t source = -1, target = -1, tag = 0;
  std::string group;
};

/// Nodes in the file's order. Throws tern::Error with `name`, byte and fault.
[[nodiscard]] std::vector<EtNode> read_et(const std::string& bytes, const std::string& name);

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// The counts of transfers, and their explanation.
#include <new>

#include "core/process.hpp"
#include "io/transfer.hpp"

namespace tern::io {
namespace {

std::string reason(const Part& part, Way way, bool writes) {
  const std::string blocks =
      strf("blocks have %lld bytes on average", static_cast<long long>(part.view.mean_block()));
  switch (way) {
    case Way::kBlock:
      return "as one block";
    case Way::kMapped:
      return "through a mapping of the file: " + blocks;
    case Way::kSieved:
      return "with the bytes between the blocks: " + blocks;
    case Way::kBlocks:
      break;
  }
  if (writes && !part.file.system().maps)
    return strf("with a system call for each block: %s has no coherent mapping, and %s",
                part.file.system().name, blocks.c_str());
  if (writes ? !part.ways.maps : !part.ways.sieves)
    return "with a system call for each block, as TERN_IO or a hint asks: " + blocks;
  return "with a system call for each block: " + blocks;
}

const char* name_of(Way way) noexcept {
  constexpr const char* kNames[] = {"block", "blocks", "mapped", "sieved"};
  return kNames[static_cast<size_t>(way)];
}

TERN_COLD void explain(const Part& part, const core::Process& process, bool writes, Way way,
                       size_t bytes) noexcept {
  const uint32_t bit = uint32_t{1} << (2 * static_cast<uint32_t>(way) + (writes ? 1 : 0));
  if (!part.file.explains_first(bit)) return;
  try {
    process.explain.say(
        "file_transfer",
        {{"file", part.file.name()},
         {"access", writes ? "write" : "read"},
         {"bytes", static_cast<unsigned long long>(bytes)},
         {"way", name_of(way)}},
        strf("%s %s of %s %s", writes ? "writing" : "reading", bytes_in_words(bytes).c_str(),
             part.file.name().c_str(), reason(part, way, writes).c_str()));
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

void note(const Part& part, core::Process& process, bool writes, size_t bytes) noexcept {
  core::Process::FileOperations& counts = process.file_operations;
  const Way way = writes ? write_way(part, bytes) : read_way(part, bytes);
  core::Process::FileOperations::Count* const of_way[] = {&counts.block, &counts.blocks,
                                                          &counts.mapped, &counts.sieved};
  counts.add_to(*of_way[static_cast<size_t>(way)], 1);
  counts.add_to(writes ? counts.bytes_written : counts.bytes_read, bytes);
  if (TERN_UNLIKELY(process.explain.on())) explain(part, process, writes, way, bytes);
}

}  // namespace tern::io

// SPDX-License-Identifier: Apache-2.0
// tern_coll list: the table of algorithms.
#include "base/error.hpp"
#include "tools/tern_coll/commands.hpp"

namespace tern::coll_tool {
namespace {

std::string limits_of(const coll::Algorithm& row) {
  static constexpr struct {
    coll::Limit limit;
    const char* words;
  } kWords[] = {{coll::kCommutative, "commutative operations"},
                {coll::kEqualBlocks, "equal blocks"},
                {coll::kPowerOfTwo, "powers of two"},
                {coll::kEvenRanks, "even ranks"},
                {coll::kLevels, "several hosts"},
                {coll::kEqualHosts, "of one size"},
                {coll::kHostsInOrder, "of consecutive ranks"},
                {coll::kShared, "one host, blocking"},
                {coll::kPlan, "a plan"}};
  std::string text;
  for (const auto& word : kWords)
    if ((row.limits & word.limit) != 0)
      text += (text.empty() ? "" : ", ") + std::string(word.words);
  return text;
}

}  // namespace

int list(const Options& options) {
  std::string text = strf("%-15s %-19s %-42s %s\n", "collective", "algorithm",
                          "rounds; bytes per rank (n on p ranks)", "only for; see");
  for (const coll::Algorithm* row : rows_of(options)) {
    std::string rest = limits_of(*row);
    if (*row->see != '\0') rest += (rest.empty() ? "" : "; ") + std::string(row->see);
    text += strf("%-15s %-19s %-42s %s\n", coll::name_of(row->collective), row->name, row->formula,
                 rest.c_str());
  }
  write_output(options, text);
  return 0;
}

}  // namespace tern::coll_tool

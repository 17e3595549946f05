// SPDX-License-Identifier: Apache-2.0
// tern_coll validate: errors of the cost model against measured times.
#include "coll/laboratory/validate.hpp"

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "mpi.h"
#include "tools/tern_coll/commands.hpp"

namespace tern::coll_tool {
namespace {

std::string in_words(const std::string& name, const coll::Deviation& deviation) {
  return strf("%-38s %6zu %12.1f %% %8zu %8.3f %8.2f\n", name.c_str(), deviation.times,
              100 * deviation.error, deviation.choices, deviation.regret, deviation.worst);
}

std::string report(const std::string& file) {
  const coll::MeasuredFile measured = coll::parse_measured(text_of_file(file), file);
  const coll::Validation found = coll::validate(measured);
  std::string text = strf("%s: %d ranks, %s\n", file.c_str(), measured.ranks,
                          measured.levels.empty() ? "one host" : measured.levels.text().c_str());
  text += strf("%-38s %6s %14s %8s %8s %8s\n", "", "times", "median error", "choices", "regret",
               "worst");
  for (const auto& [collective, deviation] : found.collectives)
    text += in_words(coll::name_of(collective), deviation);
  text += in_words("all, prices from the other algorithms", found.fitted);
  return text + in_words("all, the figures of tune", found.by_figures);
}

}  // namespace

int validate(const Options& options) {
  if (options.collective.empty())
    throw Error(MPI_ERR_ARG, "validate takes one or two files of tern_coll tune");
  std::string text = report(options.collective);
  if (!options.algorithm.empty()) text += "\n" + report(options.algorithm);
  write_output(options, text);
  return 0;
}

}  // namespace tern::coll_tool

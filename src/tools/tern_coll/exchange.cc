// SPDX-License-Identifier: Apache-2.0
// tern_coll import and export: plans and topologies in the files of other projects.
#include <algorithm>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "coll/exchange/json.hpp"
#include "coll/exchange/msccl_write.hpp"
#include "coll/exchange/read_plan.hpp"
#include "coll/exchange/xml.hpp"
#include "coll/laboratory/simulate/chakra.hpp"
#include "mpi.h"
#include "tools/tern_coll/commands.hpp"

namespace tern::coll_tool {
namespace {

std::string plan_in_words(const coll::FilePlan& plan) {
  size_t most = 0, messages = 0;
  for (const std::vector<coll::FileStep>& steps : plan.steps) {
    most = std::max(most, steps.size());
    for (const coll::FileStep& step : steps) messages += step.verb == coll::Verb::kSend;
  }
  std::string range = plan.least_bytes > 0 || plan.most_bytes >= 0 ? "for " : "";
  if (!range.empty()) range += strf("%lld", static_cast<long long>(plan.least_bytes));
  if (plan.most_bytes >= 0) range += strf("..%lld", static_cast<long long>(plan.most_bytes));
  return strf("%s \"%s\" of %d GPUs%s: proved\n", coll::name_of(plan.collective), plan.name.c_str(),
              plan.ranks(), range.empty() ? "" : (", " + range + " bytes").c_str()) +
         strf(
             "  %d parts, %d lanes, %zu messages, at most %zu steps a GPU, %d parts of scratch\n",
             plan.parts, plan.lanes, messages, most,
             plan.stage + plan.mirrors * plan.parts * (splits(plan.collective) ? 1 : plan.ranks()));
}

}  // namespace

int import(const Options& options) {
  if (options.collective.empty() || !options.algorithm.empty())
    throw Error(MPI_ERR_ARG,
                "import takes one file: a plan of MSCCL (XML) or MSCCL++ (JSON), a topology of "
                "NCCL or RCCL (XML), or the first trace of Chakra (NAME.0.et)");
  const std::string& file = options.collective;
  if (file.size() > 3 && file.substr(file.size() - 3) == ".et") {
    write_output(options, coll::workload_text(coll::load_chakra(file, options.groups)));
    return 0;
  }
  const std::string text = text_of_file(file);
  if (coll::is_json(text)) {
    write_output(options, plan_in_words(*coll::read_plan(text, file)));
    return 0;
  }
  coll::XmlReader reader(text, file);
  (void)reader.next();
  const std::string root = reader.element().name;
  if (root == "system") {
    write_output(options, coll::read_nccl_topology(text, file, options.host));
  } else if (root == "algo") {
    write_output(options, plan_in_words(*coll::read_plan(text, file)));
  } else {
    throw Error(MPI_ERR_ARG, strf("%s: <%s> is neither <algo> (MSCCL) nor <system> (a topology of "
                                  "NCCL or RCCL)",
                                  file.c_str(), root.c_str()));
  }
  return 0;
}

int export_plan(const Options& options) {
  if (options.collective.empty() || options.algorithm.empty() || options.most_ranks == 0)
    throw Error(MPI_ERR_ARG, "export takes a collective, an algorithm and --ranks=N");
  const coll::Algorithm& row = *rows_of(options).front();
  const int32_t ranks = options.most_ranks;
  coll::Levels made;
  const coll::Levels* levels = levels_of(options, ranks, &made);
  if (!coll::has_schedule(row) || !coll::serves(row, ranks, levels))
    throw Error(MPI_ERR_ARG, strf("%s %s does not serve %d ranks%s", coll::name_of(row.collective),
                                  row.name, ranks, levels == nullptr ? " without --levels" : ""));
  const std::vector<coll::Schedule> schedules =
      schedules_of(options, row, ranks, std::max(options.root, 0), levels);
  write_output(options,
               coll::write_msccl(schedules, strf("tern_%s_%s_%d", coll::name_of(row.collective),
                                                 row.name, ranks)));
  return 0;
}

}  // namespace tern::coll_tool

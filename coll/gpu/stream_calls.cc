// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/stream_calls.hpp"

#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/gpu/stream_run.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr MPI_Count kEndOfCall = 2;  // the passed word, and an event
constexpr MPI_Count kSecondLane = 4;

StreamCalls calls_of_pass(const Schedule& schedule) {
  StreamCalls pass;
  size_t waiting = 0;
  for (const Step& step : schedule.steps) {
    if (step.verb == Verb::kWait) {
      pass.calls += waiting++ % StreamRun::kMostWaits == 0 ? 1 : 0;
      ++pass.waits;
      continue;
    }
    waiting = 0;
    if (step.verb == Verb::kReduce)
      pass.kernels += StreamRun::kernels_of(step.sources);
    else if (step.verb == Verb::kSignal)
      ++pass.copies;
    else if (step.verb == Verb::kPut || step.verb == Verb::kCopy)
      pass.copies += step.destinations;
  }
  pass.calls += pass.copies + pass.kernels;
  return pass;
}

MPI_Count passes_of(const Placed& placed, MPI_Count bytes, size_t scratch) {
  core::Process process;
  core::make_predefined_types(process);
  core::Datatype& type = core::predefined_type(process, MPI_FLOAT);
  const auto elements = bytes / type.size();
  const Side side{nullptr, elements, &type};
  const Schedule& schedule = placed.schedule;
  Operation operation;
  operation.collective = schedule.collective;
  operation.input = operation.output = side;
  const ScratchLayout layout{schedule.ranks, scratch, true};
  const MPI_Count passes =
      Pieces(operation, placed, layout, StreamRun::least_passes(placed)).passes();
  core::free_predefined_types(process);
  return passes;
}

}  // namespace

StreamCalls stream_calls(const Placed& placed, MPI_Count bytes, size_t scratch) {
  const StreamCalls pass = calls_of_pass(placed.schedule);
  const MPI_Count passes = passes_of(placed, bytes, scratch);
  return {passes, passes * pass.calls + kEndOfCall + (passes > 1 ? kSecondLane : 0),
          passes * pass.copies, passes * pass.kernels, passes * pass.waits};
}

}  // namespace tern::coll

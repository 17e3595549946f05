// SPDX-License-Identifier: Apache-2.0
// tern_coll draw: a schedule as SVG: ranks across, time down, blocks in colour. A message is a band
// from sender to receiver, a reduction a full box, a copy an open box.
#include <cmath>

#include "base/error.hpp"
#include "coll/laboratory/timeline.hpp"
#include "coll/lower/lower.hpp"
#include "mpi.h"
#include "tools/tern_coll/commands.hpp"

namespace tern::coll_tool {
namespace {

using coll::Schedule;
using coll::Timeline;
using coll::Verb;

constexpr double kLeft = 40, kTop = 70, kColumn = 84, kBottom = 24;

struct Page {
  double scale;
  [[nodiscard]] double x(int32_t rank) const { return kLeft + kColumn * (rank + 0.5); }
  [[nodiscard]] double y(double time) const { return kTop + scale * time; }
};

std::string colour_of(const Schedule& schedule, const coll::Slice& slice) {
  const int32_t blocks = std::max(schedule.parts, schedule.mirrors != 0 ? schedule.ranks : 1);
  const int32_t of = blocks > 1 ? blocks : schedule.ranks;
  const double hue = 360.0 * (slice.first % of) / of;
  return strf("hsl(%.0f,62%%,48%%)", hue);
}

std::string words_of(const Schedule& schedule, const coll::Step& step) {
  if (step.sources + step.destinations == 0) return coll::name_of(step.verb);
  const coll::Slice& slice = schedule.slices[step.operand];
  return slice.blocks == 1 ? strf("%s block %d", coll::name_of(step.verb), slice.first)
                           : strf("%s blocks %d to %d", coll::name_of(step.verb), slice.first,
                                  slice.first + slice.blocks - 1);
}

std::string message(const Page& page, const Schedule& schedule, const coll::Step& step,
                    const Timeline::Event& event) {
  const bool data = step.sources != 0;
  const double share =
      data ? static_cast<double>(schedule.source(step).blocks) / schedule.parts : 0.0;
  const std::string colour = data ? colour_of(schedule, schedule.source(step)) : "#777777";
  return strf(
      "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' stroke-width='%.1f' "
      "marker-end='url(#tip)'><title>rank %d to %d: %s</title></line>\n",
      page.x(event.rank), page.y(event.begin), page.x(step.peer), page.y(event.end), colour.c_str(),
      1.6 + 2.4 * std::min(1.0, std::sqrt(share)), event.rank, step.peer,
      words_of(schedule, step).c_str());
}

/// In lowered schedules, a credit lets a peer write again.
std::string credit(const Page& page, const coll::Step& step, const Timeline::Event& event) {
  return strf(
      "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#aaaaaa' stroke-width='1' "
      "stroke-dasharray='2 4'><title>rank %d to %d: credit</title></line>\n",
      page.x(event.rank), page.y(event.begin), page.x(step.peer), page.y(event.end), event.rank,
      step.peer);
}

bool puts(const coll::Step& step) {
  return step.verb == Verb::kPut || (step.verb == Verb::kReduce && step.peer != coll::kSelf);
}

bool follows_put(const Schedule& schedule, const Timeline::Event& event) {
  return event.step > 0 && puts(schedule.step(event.lane, event.step - 1)) &&
         schedule.step(event.lane, event.step - 1).peer ==
             schedule.step(event.lane, event.step).peer;
}

std::string box(const Page& page, const Schedule& schedule, const coll::Step& step,
                const Timeline::Event& event) {
  const std::string colour = colour_of(schedule, schedule.destination(step));
  const bool full = step.verb == Verb::kReduce;
  return strf(
      "<rect x='%.1f' y='%.1f' width='14' height='%.1f' rx='2' fill='%s' stroke='%s'>"
      "<title>rank %d: %s</title></rect>\n",
      page.x(event.rank) - 7, page.y(event.begin),
      std::max(2.0, page.scale * (event.end - event.begin)), full ? colour.c_str() : "#ffffff",
      colour.c_str(), event.rank, words_of(schedule, step).c_str());
}

std::string frame(const Page& page, const std::string& title, int32_t ranks, double end) {
  const double width = 2 * kLeft + kColumn * ranks, height = page.y(end) + kBottom;
  std::string text = strf(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' width='%.0f' height='%.0f' "
      "font-family='sans-serif' font-size='13'>\n"
      "<defs><marker id='tip' viewBox='0 0 8 8' refX='8' refY='4' markerWidth='9' markerHeight='9' "
      "markerUnits='userSpaceOnUse' orient='auto'><path d='M0,0 L8,4 L0,8 z' "
      "fill='context-stroke'/>"
      "</marker></defs>\n<rect width='100%%' height='100%%' fill='#ffffff'/>\n"
      "<text x='%.0f' y='24' font-size='16'>%s</text>\n",
      width, height, width, height, kLeft, title.c_str());
  for (int32_t r = 0; r < ranks; ++r)
    text += strf(
        "<text x='%.1f' y='52' text-anchor='middle' fill='#444444'>rank %d</text>\n"
        "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#d8d8d8'/>\n",
        page.x(r), r, page.x(r), kTop - 8, page.x(r), page.y(end));
  return text;
}

std::string draw_svg(const std::vector<Schedule>& schedules, const std::string& title) {
  const Timeline line = coll::timeline_of(schedules);
  const Page page{std::min(140.0, 520.0 / std::max(line.end, 0.5))};
  std::string text = frame(page, title, schedules[0].ranks, line.end);
  for (const Timeline::Event& event : line.events) {
    const Schedule& schedule = schedules[static_cast<size_t>(event.rank)];
    const coll::Step& step = schedule.step(event.lane, event.step);
    const bool gives_credit = schedule.words > 0 && step.verb == Verb::kSignal &&
                              schedules[static_cast<size_t>(step.peer)].is_credit(step.slot);
    if (gives_credit)
      text += credit(page, step, event);
    else if (step.verb == Verb::kSend || puts(step) ||
             (step.verb == Verb::kSignal && !follows_put(schedule, event)))
      text += message(page, schedule, step, event);
    if (step.verb == Verb::kReduce || step.verb == Verb::kCopy)
      text += box(page, schedule, step, event);
  }
  return text + "</svg>\n";
}

std::string neighbors_in(const Options& options) {
  return options.neighbors.empty() ? "ring" : options.neighbors;
}

}  // namespace

int draw(const Options& options) {
  if (options.collective.empty() || options.algorithm.empty())
    throw Error(MPI_ERR_ARG,
                "draw needs a collective and an algorithm; tern_coll list prints both");
  const coll::Algorithm& row = *rows_of(options)[0];
  const std::shared_ptr<const coll::Plan> plan = plan_of(options, row);
  const int32_t planned = plan == nullptr ? 8 : plan->ranks();
  const int32_t ranks = options.most_ranks == 0 ? planned : options.most_ranks;
  const int32_t root = std::max(options.root, 0) % ranks;
  coll::Levels levels;
  const coll::Levels* told = levels_of(options, ranks, &levels);
  if (!coll::serves(row, ranks, told, plan.get()))
    throw Error(MPI_ERR_ARG,
                strf("%s %s does not serve %d ranks%s; tern_coll list prints its needs",
                     coll::name_of(row.collective), row.name, ranks,
                     told == nullptr ? " on one host (--levels=4 makes hosts of 4)" : ""));
  std::vector<Schedule> schedules = schedules_of(options, row, ranks, root, told, plan.get());
  if (options.stream) schedules = coll::lower(schedules, [](int32_t, int32_t) { return true; });
  std::string title = strf("%s, %s, %d ranks", coll::name_of(row.collective), row.name, ranks);
  if (coll::neighborly(row.collective)) title += ", " + neighbors_in(options);
  if (coll::rooted(row.collective)) title += strf(", root %d", root);
  if (told != nullptr) title += ", " + told->text();
  if (options.stream) title += ", lowered";
  write_output(options, draw_svg(schedules, title));
  return 0;
}

}  // namespace tern::coll_tool

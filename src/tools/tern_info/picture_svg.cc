// SPDX-License-Identifier: Apache-2.0
// The machine as SVG: nested rectangles; PUs in this process's mask are green, others grey.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/explain.hpp"
#include "tools/tern_info/picture.hpp"

namespace tern::info {
namespace {

using topo::MachinePart;
using Kind = MachinePart::Kind;

constexpr int kTitle = 18, kGap = 6, kLetter = 7, kPuWide = 34, kPuHigh = 20;

struct Size {
  int width = 0, height = 0;
};

std::string label_of(const MachinePart& part) {
  if (part.kind == Kind::kPu) return std::to_string(part.number);
  std::string title = topo::name_of(part.kind);
  if (part.kind != Kind::kMachine) title += ' ' + std::to_string(part.number);
  if (part.bytes > 0) title += ", " + bytes_in_words(part.bytes);
  return title;
}

const char* colour_of(const MachinePart& part) {
  switch (part.kind) {
    case Kind::kMachine:
      return "#ffffff";
    case Kind::kPackage:
      return "#e8e8e8";
    case Kind::kNuma:
      return "#f7efdb";
    case Kind::kL3:
      return "#dbe7f7";
    case Kind::kCore:
      return "#f4f4f4";
    case Kind::kPu:
      return part.allowed ? "#9fd89f" : "#c4c4c4";
  }
  return "none";
}

int columns_for(const MachinePart& part) {
  const auto count = static_cast<double>(part.parts.size());
  return static_cast<int>(part.kind == Kind::kCore ? count : std::ceil(std::sqrt(count)));
}

Size size_of(const MachinePart& part);

Size largest_inside(const MachinePart& part) {
  Size largest;
  for (const MachinePart& inner : part.parts) {
    const Size size = size_of(inner);
    largest = {std::max(largest.width, size.width), std::max(largest.height, size.height)};
  }
  return largest;
}

Size size_of(const MachinePart& part) {
  if (part.kind == Kind::kPu) return {kPuWide, kPuHigh};
  const Size cell = largest_inside(part);
  const int columns = std::max(1, columns_for(part));
  const int rows = (static_cast<int>(part.parts.size()) + columns - 1) / columns;
  const int title = static_cast<int>(label_of(part).size()) * kLetter + 2 * kGap;
  return {std::max(title, columns * (cell.width + kGap) + kGap),
          kTitle + rows * (cell.height + kGap) + kGap};
}

void draw(const MachinePart& part, int x, int y, Size size, std::string* svg) {
  const bool pu = part.kind == Kind::kPu;
  *svg += strf("<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"%s\"/>\n", x, y,
               size.width, size.height, colour_of(part));
  *svg += strf("<text x=\"%d\" y=\"%d\"%s>%s</text>\n", pu ? x + size.width / 2 : x + kGap,
               y + (pu ? 14 : 13), pu ? " text-anchor=\"middle\"" : "", label_of(part).c_str());
  const Size cell = largest_inside(part);
  const int columns = columns_for(part);
  for (int i = 0; i < static_cast<int>(part.parts.size()); ++i)
    draw(part.parts[static_cast<size_t>(i)], x + kGap + i % columns * (cell.width + kGap),
         y + kTitle + i / columns * (cell.height + kGap), cell, svg);
}

}  // namespace

std::string draw_svg(const topo::Tree& tree) {
  const Size size = size_of(tree.machine);
  std::string svg = strf(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
      "font-family=\"sans-serif\" font-size=\"11\" stroke-width=\"0.5\">\n"
      "<style>rect { stroke: #555 }</style>\n",
      size.width + 2, size.height + 2);
  draw(tree.machine, 1, 1, size, &svg);
  return svg + "</svg>\n";
}

}  // namespace tern::info

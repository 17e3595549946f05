// SPDX-License-Identifier: Apache-2.0
// GPUs and their links as SVG.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "tools/tern_info/picture.hpp"

namespace tern::info {
namespace {

constexpr int kWide = 220, kHigh = 30;

struct Point {
  double x, y;
};

std::vector<Point> places_of(size_t count, double radius) {
  std::vector<Point> places;
  for (size_t i = 0; i < count; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(count);
    places.push_back({radius + kWide / 2.0 + radius * std::sin(angle),
                      radius + kHigh - radius * std::cos(angle)});
  }
  return places;
}

const char* stroke_of(const std::string& kind) noexcept {
  if (kind == "nvlink") return "stroke=\"#3a8f3a\" stroke-width=\"3\"";
  return kind == "pcie" ? "stroke=\"#777\" stroke-width=\"1\"" : nullptr;
}

std::string xml_text(const std::string& text) {
  std::string safe;
  for (const char c : text)
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else
      safe += c;
  return safe;
}

}  // namespace

std::string draw_links_svg(const GpuLinks& links) {
  constexpr std::array<const char*, 6> kColours = {"#dbe7f7", "#f7efdb", "#dbf7e0",
                                                   "#f7dbe7", "#e8e8e8", "#efe0ff"};
  const size_t count = links.names.size();
  const double radius = count < 2 ? 0 : std::max(80.0, 40.0 * static_cast<double>(count));
  const std::vector<Point> places = places_of(count, radius);
  std::string svg = strf(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n",
      2 * radius + kWide, 2 * radius + 2 * kHigh);
  for (size_t i = 0; i < count; ++i)
    for (size_t j = i + 1; j < count; ++j)
      if (const char* const stroke = stroke_of(links.kind[i][j]); stroke != nullptr)
        svg += strf(
            "<line x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\" %s><title>%zu-%zu: %s"
            "</title></line>\n",
            places[i].x, places[i].y, places[j].x, places[j].y, stroke, i, j, links.kind[i][j]);
  for (size_t i = 0; i < count; ++i) {
    const auto island = static_cast<size_t>(links.island[i]);
    svg += strf(
        "<rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"%s\" "
        "stroke=\"#555\"/>\n<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
        places[i].x - kWide / 2.0 + 2, places[i].y - kHigh / 2.0, kWide - 4, kHigh,
        kColours[island % kColours.size()], places[i].x, places[i].y + 4,
        xml_text(links.names[i]).c_str());
  }
  return svg + "</svg>\n";
}

}  // namespace tern::info

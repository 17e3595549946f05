// SPDX-License-Identifier: Apache-2.0
// The machine as nested boxes of characters. The layout is ASCII with marks for frames, replaced by
// box-drawing characters on UTF-8 terminals.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/explain.hpp"
#include "tools/tern_info/picture.hpp"
#include "topo/cpus.hpp"

namespace tern::info {
namespace {

using topo::MachinePart;
using Kind = MachinePart::Kind;
using TextBlock = std::vector<std::string>;

constexpr size_t kDrawnWhole = 32;  // PUs of the largest machine drawn in full
constexpr size_t kLongList = 40;    // characters of PU numbers; a longer list becomes a count

struct Mark {
  char mark;
  const char* ascii;
  const char* utf8;
};
constexpr Mark kMarks[] = {{'\1', "-", "\u2500"}, {'\2', "|", "\u2502"}, {'\3', "+", "\u250c"},
                           {'\4', "+", "\u2510"}, {'\5', "+", "\u2514"}, {'\6', "+", "\u2518"}};

size_t width_of(const TextBlock& block) { return block.empty() ? 0 : block.front().size(); }

void widen(TextBlock* block, size_t width) {
  for (std::string& line : *block) line.resize(std::max(width, line.size()), ' ');
}

TextBlock beside(TextBlock left, TextBlock right) {
  const size_t height = std::max(left.size(), right.size());
  const size_t left_width = width_of(left), right_width = width_of(right);
  left.resize(height);
  right.resize(height);
  widen(&left, left_width + 1);
  widen(&right, right_width);
  for (size_t i = 0; i < height; ++i) left[i] += right[i];
  return left;
}

TextBlock below(TextBlock top, TextBlock bottom) {
  const size_t width = std::max(width_of(top), width_of(bottom));
  std::move(bottom.begin(), bottom.end(), std::back_inserter(top));
  widen(&top, width);
  return top;
}

TextBlock in_rows(std::vector<TextBlock> blocks, size_t per_row, size_t room) {
  TextBlock whole, row;
  size_t in_row = 0;
  for (TextBlock& block : blocks) {
    if (in_row > 0 && (in_row == per_row || width_of(row) + 1 + width_of(block) > room)) {
      whole = below(std::move(whole), std::exchange(row, {}));
      in_row = 0;
    }
    row = in_row++ == 0 ? std::move(block) : beside(std::move(row), std::move(block));
  }
  return below(std::move(whole), std::move(row));
}

TextBlock framed(const std::string& title, TextBlock inside) {
  const size_t width = std::max(width_of(inside), title.size());
  widen(&inside, width);
  TextBlock box{"\3 " + title + ' ' + std::string(width - title.size(), '\1') + '\4'};
  for (const std::string& line : inside) box.push_back("\2 " + line + " \2");
  box.push_back('\5' + std::string(width + 2, '\1') + '\6');
  return box;
}

std::string title_of(const MachinePart& part) {
  std::string title = strf("%s %d", topo::name_of(part.kind), part.number);
  if (part.bytes > 0) title += ", " + bytes_in_words(part.bytes);
  return title;
}

// Returns "[0 1]": a core with its PUs; "(0 1)", "[0 (1)]": PUs not available to this process.
std::string cell_of(const MachinePart& core) {
  const bool some = !topo::pus_of(core, true).empty();
  const std::vector<MachinePart> alone{core};
  std::string cell;
  for (const MachinePart& pu : core.kind == Kind::kPu ? alone : core.parts)
    cell += (cell.empty() ? "" : " ") + strf(pu.allowed || !some ? "%d" : "(%d)", pu.number);
  return (some ? '[' : '(') + cell + (some ? ']' : ')');
}

bool is_cell(const MachinePart& part) { return part.kind == Kind::kCore || part.kind == Kind::kPu; }

TextBlock cells_of(const std::vector<MachinePart>& parts, size_t room) {
  size_t widest = 0, cells = 0;
  for (const MachinePart& part : parts)
    if (is_cell(part)) widest = std::max(widest, cell_of(part).size()), ++cells;
  std::vector<TextBlock> blocks;
  for (const MachinePart& part : parts)
    if (is_cell(part))
      blocks.push_back({strf("%-*s", static_cast<int>(widest), cell_of(part).c_str())});
  return in_rows(std::move(blocks), cells <= 16 ? 4 : 8, room);
}

class Drawing {
 public:
  explicit Drawing(bool whole) : whole_(whole) {}

  [[nodiscard]] TextBlock inside(const MachinePart& part, size_t room) const {
    TextBlock drawn = cells_of(part.parts, room);
    std::vector<TextBlock> boxes;
    for (size_t i = 0; i < part.parts.size();) {
      const size_t end = end_of_run(part.parts, i);
      if (!is_cell(part.parts[i])) {
        boxes.push_back(framed(title_of(part.parts[i]), inside(part.parts[i], room - 4)));
        if (end > i + 1) boxes.back() = below(boxes.back(), {the_same(part.parts, i + 1, end)});
      }
      i = end;
    }
    return below(std::move(drawn), in_rows(std::move(boxes), 4, room));
  }

 private:
  [[nodiscard]] size_t end_of_run(const std::vector<MachinePart>& parts, size_t first) const {
    size_t end = first + 1;
    while (!whole_ && !is_cell(parts[first]) && end < parts.size() &&
           topo::alike(parts[first], parts[end]))
      ++end;
    return end;
  }
  static std::string the_same(const std::vector<MachinePart>& parts, size_t first, size_t end) {
    std::vector<int> pus;
    for (size_t i = first; i < end; ++i)
      for (const int pu : topo::pus_of(parts[i])) pus.push_back(pu);
    const std::string last = end - first > 1 ? strf(" to %d", parts[end - 1].number) : "";
    std::string list = "PUs " + topo::format_cpu_list(pus);
    if (list.size() > kLongList) list = strf("%zu PUs", pus.size());
    return strf("%s %d%s: the same, %s", topo::name_of(parts[first].kind), parts[first].number,
                last.c_str(), list.c_str());
  }

  bool whole_;
};

std::string with_frames(const TextBlock& block, bool utf8) {
  std::string text;
  for (const std::string& line : block) {
    for (const char c : line) {
      const auto* mark = std::find_if(std::begin(kMarks), std::end(kMarks),
                                      [c](const Mark& each) { return each.mark == c; });
      if (mark == std::end(kMarks))
        text += c;
      else
        text += utf8 ? mark->utf8 : mark->ascii;
    }
    text.resize(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace

Page page_here() {
  Page page;
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
    page.columns = std::clamp<size_t>(window.ws_col, 60, 120);
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    page.utf8 = std::strstr(value, "UTF-8") != nullptr || std::strstr(value, "utf8") != nullptr;
    break;
  }
  return page;
}

std::string draw_text(const topo::Tree& tree, const Page& page) {
  const MachinePart& machine = tree.machine;
  const size_t all = topo::pus_of(machine).size(), allowed = topo::pus_of(machine, true).size();
  std::string title = strf("Machine, %s, %zu PUs", bytes_in_words(machine.bytes).c_str(), all);
  if (allowed < all) title += strf(", %zu of them for this process", allowed);
  if (!tree.this_machine) title += "; from hwloc's variables";
  const Drawing drawing(all <= kDrawnWhole);
  return with_frames(framed(title, drawing.inside(machine, page.columns - 4)), page.utf8) +
         "[0 1] is a core with its PUs" +
         (allowed < all ? "; (0 1) may not be used by this process\n" : "\n");
}

}  // namespace tern::info

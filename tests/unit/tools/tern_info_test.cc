// SPDX-License-Identifier: Apache-2.0
// tern_info in process: options, paragraphs, JSON, pictures.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/params.hpp"
#include "tools/tern_info/json.hpp"
#include "tools/tern_info/manual.hpp"
#include "tools/tern_info/options.hpp"
#include "tools/tern_info/picture.hpp"
#include "tools/tern_info/words.hpp"

namespace tern::info {
namespace {

using topo::MachinePart;
using Kind = MachinePart::Kind;

std::string refusal(const std::vector<std::string>& words) {
  try {
    (void)parse_options(words);
  } catch (const Error& error) {
    return error.what();
  }
  return "was taken";
}

TEST(InfoOptions, AreTakenInBothForms) {
  const Options options = parse_options({"--json", "--svg=a.svg", "--topology"});
  EXPECT_TRUE(options.json);
  EXPECT_TRUE(options.topology);
  EXPECT_FALSE(options.parameters);
  EXPECT_EQ(options.svg, "a.svg");
  EXPECT_EQ(parse_options({"--svg", "b.svg"}).svg, "b.svg");
  EXPECT_TRUE(chooses(options));
  EXPECT_FALSE(chooses(parse_options({})));
  for (const char* option : {"--all", "--json"}) EXPECT_TRUE(parse_options({option}).topology);
  EXPECT_FALSE(parse_options({"--json", "--build"}).topology);
}

TEST(InfoOptions, WrongOnesAreRefusedWithTheNearest) {
  EXPECT_EQ(refusal({"--parameter"}), "--parameter is no option; did you mean --parameters?");
  EXPECT_EQ(refusal({"--qqq"}), "--qqq is no option; tern_info --help lists them");
  EXPECT_EQ(refusal({"--svg"}), "--svg needs a FILE");
  EXPECT_EQ(refusal({"--json=yes"}), "--json takes no value");
  EXPECT_EQ(refusal({"file"}), "\"file\" is no option, and tern_info takes only options");
}

TEST(InfoWords, ParagraphsBreakBetweenWords) {
  EXPECT_EQ(paragraph("ab ", "one two three", 10), "ab one two\n   three\n");
  EXPECT_EQ(paragraph("", "incomprehensible", 4), "incomprehensible\n");
}

TEST(InfoWords, ValuesHaveUnits) {
  EXPECT_EQ(value_in_words("Size", "8192"), "8192 (8 KiB)");
  EXPECT_EQ(value_in_words("Time", "10"), "10 us");
  EXPECT_EQ(value_in_words("Seconds", "60"), "60 s");
  EXPECT_EQ(value_in_words("Seconds", "1500ms"), "1500 ms");
  EXPECT_EQ(value_in_words("Word", "auto"), "auto");
}

TEST(InfoJson, EscapesAndNests) {
  Json json;
  json.open_object();
  json.text("a\"b", "line\nend\\");
  json.open_list("empty");
  json.close_list();
  json.truth("yes", true);
  json.close_object();
  EXPECT_EQ(json.document(),
            "{\n  \"a\\\"b\": \"line\\u000aend\\\\\",\n  \"empty\": [],\n  \"yes\": true\n}\n");
}

topo::Tree machine(int packages) {
  topo::Tree tree;
  for (int i = 0; i < packages; ++i) {
    MachinePart core{Kind::kCore, i, 0, true, {}};
    for (int pu = 2 * i; pu < 2 * i + 2; ++pu) core.parts.push_back({Kind::kPu, pu, 0, true, {}});
    tree.machine.parts.push_back({Kind::kPackage, i, 0, true, {core}});
  }
  tree.machine.bytes = uint64_t{1} << 30;
  return tree;
}

TEST(InfoPicture, DrawsEveryPartOfASmallMachine) {
  topo::Tree tree = machine(2);
  tree.machine.parts[1].parts[0].parts[1].allowed = false;
  EXPECT_EQ(draw_text(tree, {80, false}),
            "+ Machine, 1 GiB, 4 PUs, 3 of them for this process +\n"
            "| + Package 0 + + Package 1 +                       |\n"
            "| | [0 1]     | | [2 (3)]   |                       |\n"
            "| +-----------+ +-----------+                       |\n"
            "+---------------------------------------------------+\n"
            "[0 1] is a core with its PUs; (0 1) may not be used by this process\n");
}

TEST(InfoPicture, DrawsEqualPartsOfALargeMachineOnceAndKeepsToThePage) {
  const std::string drawn = draw_text(machine(200), {80, true});
  EXPECT_NE(drawn.find("Package 1 to 199: the same, PUs 2-399"), std::string::npos) << drawn;
  EXPECT_LT(std::count(drawn.begin(), drawn.end(), '\n'), 10);
  topo::Tree uneven = machine(40);
  uneven.machine.parts[20].parts[0].parts[0].allowed = false;
  const std::string text = draw_text(uneven, {80, false});
  EXPECT_NE(text.find("[(40) 41]"), std::string::npos) << text;
  for (size_t from = 0, end; (end = text.find('\n', from)) != std::string::npos; from = end + 1)
    EXPECT_LE(end - from, 80u);
}

TEST(InfoPicture, SvgHasARectangleForEachPart) {
  const std::string svg = draw_svg(machine(3));
  size_t rectangles = 0;
  for (size_t at = 0; (at = svg.find("<rect ", at)) != std::string::npos; ++at) ++rectangles;
  EXPECT_EQ(rectangles, 1u + 3 * (1 + 1 + 2));
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
}

TEST(InfoManual, HasEveryParameter) {
  const std::string page = parameters_as_mdoc();
  for (const ParamRow& row : Params::rows())
    EXPECT_NE(page.find(std::string(".It Ev ") + row.name + "\n"), std::string::npos) << row.name;
}

}  // namespace
}  // namespace tern::info

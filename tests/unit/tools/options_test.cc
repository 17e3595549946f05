// SPDX-License-Identifier: Apache-2.0
// What users type after mpirun: taken, or refused by a sentence that helps.
#include "tools/mpirun/options.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.hpp"

namespace tern::mpirun {
namespace {

std::string refusal(const std::vector<std::string>& words) {
  try {
    (void)parse_options(words);
  } catch (const Error& error) {
    return error.what();
  }
  return "(taken)";
}

#define EXPECT_SAYS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << "it says: " << (text)

TEST(Options, OneProgram) {
  const Options options = parse_options({"-n", "4", "./a.out", "-n", "7", "--help"});
  ASSERT_EQ(options.apps.size(), 1u);
  EXPECT_EQ(options.ranks(), 4);
  EXPECT_EQ(options.apps[0].command, (std::vector<std::string>{"./a.out", "-n", "7", "--help"}));
  EXPECT_FALSE(options.help);
}

TEST(Options, NoNumberIsOneRank) { EXPECT_EQ(parse_options({"a"}).ranks(), 1); }

TEST(Options, EverySpellingOfTheNumber) {
  for (const char* name : {"-n", "--n", "-np", "--np", "-c"})
    EXPECT_EQ(parse_options({name, "3", "a"}).ranks(), 3) << name;
  EXPECT_EQ(parse_options({"--np=5", "a"}).ranks(), 5);
}

TEST(Options, Sections) {
  const Options options = parse_options(
      {"-n", "2", "-wdir", "/tmp", "a", "x", ":", "-np", "3", "-env", "K", "v", "b", ":", "c"});
  ASSERT_EQ(options.apps.size(), 3u);
  EXPECT_EQ(options.ranks(), 6);
  EXPECT_EQ(options.apps[0].directory, "/tmp");
  EXPECT_EQ(options.apps[1].directory, "");
  EXPECT_EQ(options.apps[1].environment.at(0).second, "v");
  EXPECT_TRUE(options.apps[2].environment.empty());
  EXPECT_EQ(options.apps[2].ranks, 1);
}

TEST(Options, Variables) {
  ::setenv("TERN_TEST_THERE", "1", 1);
  ::unsetenv("TERN_TEST_MISSING");
  const Options options =
      parse_options({"-x", "A=b=c", "-x", "TERN_TEST_THERE", "-genv", "G", "1", "-x", "E=", "a"});
  EXPECT_EQ(options.apps[0].environment.size(), 2u);
  EXPECT_EQ(options.apps[0].environment[0], (std::pair<std::string, std::string>("A", "b=c")));
  EXPECT_EQ(options.apps[0].environment[1].second, "");
  EXPECT_EQ(options.environment.at(0).first, "G");
  EXPECT_SAYS(refusal({"-x", "TERN_TEST_MISSING", "a"}), "is not set here");
  EXPECT_SAYS(refusal({"-x", "=b", "a"}), "needs a name");
}

TEST(Options, Switches) {
  const Options options = parse_options({"--bind-to", "numa", "--oversubscribe", "--tag-output",
                                         "--timeout", "1.5", "-report-bindings", "a"});
  EXPECT_EQ(options.bind, Bind::kNuma);
  EXPECT_TRUE(options.tag_output);
  EXPECT_TRUE(options.report_bindings);
  EXPECT_DOUBLE_EQ(options.timeout_s, 1.5);
  EXPECT_EQ(parse_options({"--bind-to=none", "a"}).bind, Bind::kNone);
  EXPECT_TRUE(parse_options({"--help"}).help);
  EXPECT_TRUE(parse_options({"-V"}).version);
}

TEST(Options, TwoDashesEndThem) {
  EXPECT_EQ(parse_options({"-n", "2", "--", "a"}).apps[0].command[0], "a");
}

TEST(Options, RefusalsNameTheWordAndTheCure) {
  EXPECT_SAYS(refusal({"--bindto", "core", "a"}), "did you mean --bind-to?");
  EXPECT_SAYS(refusal({"-oversubscrib", "a"}), "did you mean --oversubscribe?");
  EXPECT_SAYS(refusal({"--xyzzy", "a"}), "mpirun --help");
  EXPECT_SAYS(refusal({"-n", "four", "a"}), "\"four\"");
  EXPECT_SAYS(refusal({"-n", "0", "a"}), "from 1 to");
  EXPECT_SAYS(refusal({"-n", "2x", "a"}), "\"2x\"");
  EXPECT_SAYS(refusal({"-n"}), "takes 1 value");
  EXPECT_SAYS(refusal({"--bind-to", "socket", "a"}), "core, numa, none");
  EXPECT_SAYS(refusal({"--timeout", "-3", "a"}), "positive number of seconds");
  EXPECT_SAYS(refusal({"--timeout", "nan", "a"}), "positive number of seconds");
  EXPECT_SAYS(refusal({}), "no program");
  EXPECT_SAYS(refusal({"-n", "2"}), "no program");
  EXPECT_SAYS(refusal({":", "a"}), "word 1");
  EXPECT_SAYS(refusal({"a", ":"}), "no program");
  EXPECT_SAYS(refusal({"--tag-output=yes", "a"}), "takes 0 values");
}

TEST(Options, OthersOptionsAreRefusedByName) {
  EXPECT_SAYS(refusal({"--mca", "btl", "tcp", "a"}), "Open MPI's");
  EXPECT_SAYS(refusal({"-hostfile", "h", "a"}), "names hosts");
  EXPECT_SAYS(refusal({"--map-by", "core", "a"}), "--bind-to");
}

TEST(Options, HelpShowsWhatIsTaken) {
  const std::string help = help_text();
  for (const char* name :
       {"-np", "-wdir", "--bind-to", "--timeout", "--report-bindings", "--version"})
    EXPECT_SAYS(help, name);
}

}  // namespace
}  // namespace tern::mpirun

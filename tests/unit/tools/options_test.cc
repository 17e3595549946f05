// SPDX-License-Identifier: Apache-2.0
// mpirun's command line: accepted options, and errors that help.
#include "tools/mpirun/option_parser.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

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

boot::SpawnRequest request_for(const std::vector<std::string>& options) {
  return {"job", "port", "/here", 7, {{"-n", {":", "--"}, 3, options}}, {"TERN_TEST=a"}};
}

TEST(Options, OfARequestToStartRanks) {
  const Options plain = parse_request(request_for({}));
  ASSERT_EQ(plain.apps.size(), 1u);
  EXPECT_EQ(plain.apps[0].command, (std::vector<std::string>{"-n", ":", "--"}));
  EXPECT_EQ(plain.ranks(), 3);
  EXPECT_EQ(plain.universe, 7);
  EXPECT_EQ(plain.apps[0].directory, "/here");
  EXPECT_EQ(parse_request(request_for({"-wdir", "sub"})).apps[0].directory, "/here/sub");
  EXPECT_EQ(parse_request(request_for({"-wdir", "/top"})).apps[0].directory, "/top");
  const Options joined = parse_request(request_for({"-x", "TERN_TEST=b"}));
  EXPECT_EQ(joined.apps[0].environment, (Pairs{{"TERN_TEST", "a,b"}}));
  EXPECT_THROW((void)parse_request(request_for({"--no-such"})), Error);
  EXPECT_THROW((void)parse_request(request_for({":", "x"})), Error);
  boot::SpawnRequest many = request_for({});
  many.commands[0].ranks = 1 << 20;
  EXPECT_THROW((void)parse_request(many), Error);
}

TEST(Options, ANumberNotSaidIsSettledLater) { EXPECT_EQ(parse_options({"a"}).ranks(), 0); }

TEST(Options, EverySpellingOfTheNumber) {
  for (const char* name : {"-n", "--n", "-np", "--np", "-c"})
    EXPECT_EQ(parse_options({name, "3", "a"}).ranks(), 3) << name;
  EXPECT_EQ(parse_options({"--np=5", "a"}).ranks(), 5);
}

TEST(Options, Sections) {
  const Options options = parse_options(
      {"-n", "2", "-wdir", "/tmp", "a", "x", ":", "-np", "3", "-env", "K", "v", "b", ":", "c"});
  ASSERT_EQ(options.apps.size(), 3u);
  EXPECT_EQ(options.ranks(), 5);
  EXPECT_EQ(options.apps[0].directory, "/tmp");
  EXPECT_EQ(options.apps[1].directory, "");
  EXPECT_EQ(options.apps[1].environment.at(0).second, "v");
  EXPECT_TRUE(options.apps[2].environment.empty());
  EXPECT_EQ(options.apps[2].ranks, 0);
}

TEST(Options, ProcessSets) {
  const Options options =
      parse_options({"-n", "2", "--pset", "ocean", "a", ":", "-n", "1", "b", ":", "-n", "2",
                     "--pset", "ocean", "--pset", "my ice", "--pset", "ocean", "c"});
  const std::vector<boot::ProcessSet> expected{{"ocean", {0, 1, 3, 4}}, {"my ice", {3, 4}}};
  EXPECT_EQ(process_sets_of(options), expected);
  EXPECT_TRUE(process_sets_of(parse_options({"a"})).empty());
  EXPECT_SAYS(refusal({"--pset", "mpi://a", "a"}), "begins with mpi://");
  EXPECT_SAYS(refusal({"--pset", "a,b", "a"}), "without a comma");
  EXPECT_SAYS(refusal({"--pset", "", "a"}), "needs a name");
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

TEST(Options, VariablesOfOtherSpellings) {
  ::setenv("TERN_TEST_THERE", "1", 1);
  ::unsetenv("TERN_TEST_MISSING");
  EXPECT_EQ(
      parse_options({"-envall", "-genvall", "-genvlist", "TERN_TEST_THERE,PATH", "a"}).ranks(), 0);
  EXPECT_SAYS(refusal({"-envlist", "PATH,TERN_TEST_MISSING", "a"}), "TERN_TEST_MISSING is not set");
  EXPECT_SAYS(refusal({"-genv", "A=B", "1", "a"}), "\"A=B\"");
  EXPECT_SAYS(refusal({"-env", "", "1", "a"}), "a variable needs a name");
  EXPECT_EQ(parse_options({"--unset-env", "DISPLAY", "a"}).unset.at(0), "DISPLAY");
}

TEST(Options, Parameters) {
  const Options options =
      parse_options({"--set", "eager_limit=16k", "--set", "TERN_SPIN=1ms", "a"});
  EXPECT_EQ(options.environment.at(0),
            (std::pair<std::string, std::string>("TERN_EAGER_LIMIT", "16k")));
  EXPECT_EQ(options.environment.at(1).first, "TERN_SPIN");
  EXPECT_SAYS(refusal({"--set", "eager_limt=1", "a"}), "did you mean TERN_EAGER_LIMIT?");
  EXPECT_SAYS(refusal({"--set", "eager_limit=1g", "a"}), "65536");
  EXPECT_SAYS(refusal({"--set", "eager_limit", "a"}), "has no value");
}

TEST(Options, RanksOnEachHost) {
  for (const char* name : {"-N", "-ppn", "-npernode", "-perhost"})
    EXPECT_EQ(parse_options({name, "3", "a"}).per_node, 3) << name;
  EXPECT_SAYS(refusal({"-ppn", "0", "a"}), "\"0\"");
}

TEST(Options, Soft) {
  EXPECT_EQ(parse_options({"-n", "8", "-soft", "1,4:8,2:16:2,9:1:-1", "a"}).ranks(), 8);
  for (const char* wrong : {"x", "1:2:3:4", "", "1,", "1:2:0", "-1"})
    EXPECT_SAYS(refusal({"-soft", wrong, "a"}), "is not one of n, a:b, a:b:c") << wrong;
}

TEST(Options, Architecture) {
  EXPECT_SAYS(refusal({"-arch", "vax", "a"}), "\"vax\" does not match this machine");
#ifdef __x86_64__
  EXPECT_EQ(refusal({"-arch", "x86_64", "a"}), "(taken)");
  EXPECT_EQ(refusal({"-arch", "amd64", "a"}), "(taken)");
#endif
}

TEST(Options, Folders) {
  const Options options = parse_options({"-path", "/a:/b", "-wd", "/c", "a"});
  EXPECT_EQ(options.apps[0].search_path, "/a:/b");
  EXPECT_EQ(options.apps[0].directory, "/c");
}

TEST(Options, Hosts) {
  const Options options =
      parse_options({"-host", "a:2,b", "-H", "c", "p", ":", "-hosts", "d", "q"});
  ASSERT_EQ(options.hosts.size(), 4u);
  EXPECT_EQ(options.hosts[0].slots, 2);
  EXPECT_EQ(options.hosts[3].name, "d");
  EXPECT_SAYS(refusal({"-host", "a:0", "p"}), "-host: \"0\" is not a number of ranks");
  EXPECT_SAYS(refusal({"-host", "a,,b", "p"}), "\"\" is not a host");
  EXPECT_SAYS(refusal({"-f", "/no/such", "p"}), "-f: cannot read /no/such");
}

TEST(Options, BindTo) {
  const auto bound = [](const char* what) {
    return parse_options({"--bind-to", what, "a"}).placing;
  };
  EXPECT_EQ(bound("none").bind, Bind::kNone);
  EXPECT_EQ(bound("share").bind, Bind::kShare);
  EXPECT_EQ(bound("core").bind_unit, Unit::kCore);
  EXPECT_EQ(bound("hwthread").bind_unit, Unit::kThread);
  EXPECT_EQ(bound("socket").bind_unit, Unit::kPackage);
  EXPECT_EQ(bound("package").bind_unit, Unit::kPackage);
  EXPECT_EQ(bound("NUMA").bind_unit, Unit::kNuma);
  EXPECT_EQ(bound("l3cache").bind_unit, Unit::kL3);
  EXPECT_TRUE(bound("core:overload-allowed").take_held);
  EXPECT_FALSE(bound("core:if-supported").take_held);
  EXPECT_SAYS(refusal({"--bind-to", "cor", "a"}), "did you mean core?");
  EXPECT_SAYS(refusal({"--bind-to", "user:1", "a"}), "\"user\"");
  EXPECT_SAYS(refusal({"--bind-to", "slot", "a"}), "use none");
  EXPECT_SAYS(refusal({"--bind-to", "core:2", "a"}), "overload-allowed");
}

TEST(Options, MapBy) {
  const auto mapped = [](const char* what) {
    return parse_options({"--map-by", what, "a"}).placing;
  };
  EXPECT_EQ(mapped("slot").map, Unit::kMachine);
  EXPECT_EQ(mapped("node").map, Unit::kMachine);
  EXPECT_EQ(mapped("core").map, Unit::kCore);
  EXPECT_EQ(mapped("socket").map, Unit::kPackage);
  EXPECT_EQ(mapped("ppr:2:numa").map, Unit::kNuma);
  EXPECT_EQ(mapped("ppr:2:numa").per_unit, 2);
  EXPECT_EQ(mapped("ppr:2:socket:PE=3").cores_each, 3);
  EXPECT_EQ(mapped("slot:PE=4").cores_each, 4);
  EXPECT_EQ(mapped(":pe=4").cores_each, 4);
  EXPECT_FALSE(mapped("core:NOOVERSUBSCRIBE").may_oversubscribe);
  EXPECT_FALSE(parse_options({"--nooversubscribe", "a"}).placing.may_oversubscribe);
  EXPECT_SAYS(refusal({"--map-by", "numa:PE=0", "a"}), "\"0\" is not a number of cores");
  EXPECT_SAYS(refusal({"--map-by", "nuam", "a"}), "slot, node, ppr:N:WHAT");
  EXPECT_SAYS(refusal({"--map-by", "ppr:2", "a"}), "ppr:N:WHAT");
  EXPECT_SAYS(refusal({"--map-by", "ppr:x:core", "a"}), "\"x\"");
  EXPECT_SAYS(refusal({"--map-by", "core:span", "a"}), "\"span\"");
}

TEST(Options, RankBy) {
  EXPECT_EQ(parse_options({"--rank-by", "numa", "a"}).placing.rank, Unit::kNuma);
  EXPECT_TRUE(parse_options({"--rank-by", "slot", "a"}).placing.rank_given);
  EXPECT_FALSE(parse_options({"--rank-by", "node", "a"}).placing.rank_given);
  EXPECT_SAYS(refusal({"--rank-by", "fill", "a"}), "\"fill\" is not one of");
}

TEST(Options, Streams) {
  EXPECT_EQ(parse_options({"--stdin", "all", "a"}).input, Input::kAll);
  EXPECT_EQ(parse_options({"-s", "none", "a"}).input, Input::kNone);
  EXPECT_EQ(parse_options({"--stdin", "3", "a"}).input_rank, 3);
  EXPECT_SAYS(refusal({"--stdin", "some", "a"}), "\"some\" is neither a rank nor all nor none");
  EXPECT_SAYS(refusal({"--stdin", "-1", "a"}), "neither a rank");
  EXPECT_EQ(parse_options({"--output", "d", "a"}).output_directory, "d");
  EXPECT_EQ(parse_options({"--output", "dir=d", "a"}).output_directory, "d");
  EXPECT_EQ(parse_options({"--output-filename", "d", "a"}).output_directory, "d");
  EXPECT_TRUE(parse_options({"--output", "tag", "a"}).tag_output);
  EXPECT_TRUE(parse_options({"--output", "timestamp", "a"}).timestamp_output);
  EXPECT_TRUE(parse_options({"-l", "a"}).tag_output);
  EXPECT_TRUE(parse_options({"-prepend-rank", "a"}).tag_output);
  EXPECT_TRUE(parse_options({"--timestamp-output", "a"}).timestamp_output);
  EXPECT_SAYS(refusal({"--output", "", "a"}), "name of a directory");
}

TEST(Options, OfTheStandard) {
  for (const char* name : {"mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"})
    EXPECT_EQ(parse_options({"-initial-errhandler", name, "a"}).environment.at(0),
              (std::pair<std::string, std::string>("TERN_INITIAL_ERRHANDLER", name)));
  EXPECT_SAYS(refusal({"-initial-errhandler", "fatal", "a"}), "mpi_errors_return");
  const char* kinds = "mpi:alloc_mem:win_allocate,system,cuda:device,x.y";
  EXPECT_EQ(parse_options({"-memory-alloc-kinds", kinds, "a"}).environment.at(0).second, kinds);
  EXPECT_SAYS(refusal({"-memory-alloc-kinds", "mpi,,system", "a"}), "is not a list of kinds");
  EXPECT_SAYS(refusal({"-memory-alloc-kinds", "mpi:alloc", "a"}),
              "\"alloc\" is not one of alloc_mem");
  EXPECT_SAYS(refusal({"-memory-alloc-kinds", "system:numa", "a"}), "no restrictions");
}

TEST(Options, Switches) {
  const Options options =
      parse_options({"--oversubscribe", "--tag-output", "--timeout", "1.5", "-report-bindings",
                     "--quiet", "--dry-run", "--timestamp", "--allow-run-as-root", "a"});
  EXPECT_TRUE(options.tag_output);
  EXPECT_TRUE(options.report_bindings);
  EXPECT_TRUE(options.quiet);
  EXPECT_TRUE(options.dry_run);
  EXPECT_TRUE(options.timestamp_output);
  EXPECT_DOUBLE_EQ(options.timeout_s, 1.5);
  EXPECT_TRUE(parse_options({"--help"}).help);
  EXPECT_TRUE(parse_options({"-V"}).version);
}

TEST(Options, ProfileAndTraceSetParameters) {
  EXPECT_EQ(parse_options({"--profile", "a"}).environment, (Pairs{{"TERN_PROFILE", "1"}}));
  EXPECT_EQ(parse_options({"--profile=p.json", "a"}).environment,
            (Pairs{{"TERN_PROFILE", "p.json"}}));
  EXPECT_EQ(parse_options({"--trace=t", "--trace-buffer", "1m", "a"}).environment,
            (Pairs{{"TERN_TRACE", "t"}, {"TERN_TRACE_BUFFER", "1m"}}));
  EXPECT_EQ(parse_options({"--profile", "a"}).apps[0].command[0], "a");
  EXPECT_SAYS(refusal({"--profile=", "a"}), "needs the name of a file");
  EXPECT_SAYS(refusal({"--trace=", "a"}), "needs the name of a file");
  EXPECT_SAYS(refusal({"--trace"}), "takes 1 value");
  EXPECT_SAYS(refusal({"--trace-buffer", "tiny", "a"}), "\"tiny\"");
}

TEST(Options, TwoDashesEndThem) {
  EXPECT_EQ(parse_options({"-n", "2", "--", "a"}).apps[0].command[0], "a");
  EXPECT_EQ(parse_options({"--", "-a", "-n"}).apps[0].command,
            (std::vector<std::string>{"-a", "-n"}));
}

TEST(Options, RefusalsNameTheWordAndTheCure) {
  EXPECT_SAYS(refusal({"--bindto", "core", "a"}), "did you mean --bind-to?");
  EXPECT_SAYS(refusal({"-oversubscrib", "a"}), "did you mean --oversubscribe?");
  EXPECT_SAYS(refusal({"--xyzzy", "a"}), "mpirun --help");
  EXPECT_SAYS(refusal({"-n", "four", "a"}), "\"four\"");
  EXPECT_SAYS(refusal({"-n", "0", "a"}), "from 1 to");
  EXPECT_SAYS(refusal({"-n", "2x", "a"}), "\"2x\"");
  EXPECT_SAYS(refusal({"-n", "99999999999999999999", "a"}), "from 1 to");
  EXPECT_SAYS(refusal({"-n", "65536", "a", ":", "-n", "1", "b"}), "65537 ranks are more");
  EXPECT_SAYS(refusal({"-n"}), "takes 1 value");
  EXPECT_SAYS(refusal({"-env", "A"}), "takes 2 values");
  EXPECT_SAYS(refusal({"--timeout", "-3", "a"}), "positive number of seconds");
  EXPECT_SAYS(refusal({"--timeout", "nan", "a"}), "positive number of seconds");
  EXPECT_SAYS(refusal({}), "no program");
  EXPECT_SAYS(refusal({"-n", "2"}), "no program");
  EXPECT_SAYS(refusal({":", "a"}), "section 1 of 2 (nothing) names no program");
  EXPECT_SAYS(refusal({"--tag-output=yes", "a"}), "takes 0 values");
  EXPECT_SAYS(refusal({"-", "a"}), "(taken)");  // a program called "-"
}

TEST(Options, OthersOptionsAreRefusedByName) {
  const std::pair<const char*, const char*> answers[] = {{"--tune", "--set NAME=VALUE"},
                                                         {"-rf", "--map-by"},
                                                         {"--do-not-launch", "--dry-run"},
                                                         {"-outfile-pattern", "--output"},
                                                         {"-genvnone", "env -i"},
                                                         {"--xterm", "xterm -e"},
                                                         {"--merge-stderr-to-stdout", "2>&1"},
                                                         {"-gpus-per-proc", "CUDA_VISIBLE_DEVICES"},
                                                         {"--ntasks", "use -n"},
                                                         {"--max-restarts", "starts no rank again"},
                                                         {"--debug", "MPIR_proctable"},
                                                         {"-ckpoint-interval", "no checkpoints"}};
  for (const auto& [option, answer] : answers) {
    EXPECT_SAYS(refusal({option, "a"}), answer) << option;
    EXPECT_EQ(refusal({option, "a"}).rfind(option, 0), 0u) << "the error names the option as typed";
  }
}

TEST(Options, WhatChangesNoResultIsTakenAndSaid) {
  const Options options = parse_options({"--mca", "btl", "self,vader", "-n", "2", "-iface", "eth0",
                                         "--mca", "pml", "ob1", "-bootstrap=ssh", "-v", "--display",
                                         "map", "--display-map", "a", "--mca", "x", "y"});
  EXPECT_EQ(options.ranks(), 2);
  EXPECT_EQ(options.apps[0].command, (std::vector<std::string>{"a", "--mca", "x", "y"}));
  ASSERT_EQ(options.remarks.size(), 6u) << "a remark for each name";
  EXPECT_SAYS(options.remarks[0], "--mca has no effect here: this sets Open MPI's parameters");
  EXPECT_SAYS(options.remarks[1], "-iface has no effect here");
  EXPECT_SAYS(options.remarks[2], "-bootstrap has no effect here");
  EXPECT_TRUE(parse_options({"-n", "2", "a"}).remarks.empty());
  EXPECT_SAYS(refusal({"--mca", "btl", ":", "a"}), "--mca: takes 2 values");
  EXPECT_SAYS(refusal({"-iface"}), "-iface: takes 1 value");
}

TEST(Options, OthersSpellingsOfPlaces) {
  const auto placing = [](const std::vector<std::string>& words) {
    return parse_options(words).placing;
  };
  EXPECT_EQ(placing({"--bycore", "a"}).map, Unit::kCore);
  EXPECT_EQ(placing({"-rr", "a"}).map, Unit::kMachine);
  EXPECT_EQ(placing({"--npersocket", "2", "a"}).per_unit, 2);
  EXPECT_EQ(placing({"--npersocket", "2", "a"}).map, Unit::kPackage);
  EXPECT_EQ(placing({"--cpus-per-rank", "3", "a"}).cores_each, 3);
  EXPECT_EQ(placing({"--bind-to-core", "a"}).bind_unit, Unit::kCore);
  EXPECT_EQ(placing({"-binding", "none", "a"}).bind, Bind::kNone);
  EXPECT_EQ(parse_options({"-grr", "3", "a"}).per_node, 3);
}

TEST(Options, ASectionWithoutAProgramIsNamed) {
  EXPECT_SAYS(refusal({"-n", "1", ":", "-n", "1", "a"}),
              "section 1 of 2 (\"-n 1\") names no program");
  EXPECT_SAYS(refusal({"-n", "1", "a", ":", "-n", "2"}), "section 2 of 2 (\"-n 2\")");
  EXPECT_SAYS(refusal({"a", ":", ":", "b"}), "section 2 of 3 (nothing)");
  EXPECT_SAYS(refusal({"a", ":"}), "section 2 of 2 (nothing)");
  EXPECT_SAYS(refusal({"-n", ":", "a"}), "-n: takes 1 value");
}

TEST(Options, HelpShowsWhatIsTaken) {
  const std::string help = help_text();
  for (const char* name : {"-np", "-wdir", "--bind-to", "--timeout", "--report-bindings",
                           "--version", "--stdin", "--output", "--set", "--map-by", "--rank-by",
                           "-initial-errhandler", "-memory-alloc-kinds", "--dry-run", "--app"})
    EXPECT_SAYS(help, name);
}

class AppFile : public ::testing::Test {
 protected:
  AppFile() {
    char name[] = "/tmp/tern-options-test.XXXXXX";
    ::close(::mkstemp(name));
    path = name;
  }
  ~AppFile() override { ::unlink(path.c_str()); }
  void write(const char* text) const { std::ofstream(path) << text; }
  std::string path;
};

TEST_F(AppFile, ALineIsASection) {
  write(
      "# comment\n\n-n 2 -env A 'b c' ./a \"x y\" z\\ w '' # end\n"
      "-n 3 \\\n  ./b\n./c : ./d\n");
  for (const char* name : {"-app", "--file", "-configfile"}) {
    const Options options = parse_options({name, path});
    ASSERT_EQ(options.apps.size(), 4u) << name;
    EXPECT_EQ(options.apps[0].command, (std::vector<std::string>{"./a", "x y", "z w", ""}));
    EXPECT_EQ(options.apps[0].environment[0].second, "b c");
    EXPECT_EQ(options.apps[1].ranks, 3);
    EXPECT_EQ(options.apps[3].command[0], "./d");
  }
}

TEST_F(AppFile, ItsLastLineMayLackAnEnd) {
  write("-n 2 a\n-n 3 b");
  EXPECT_EQ(parse_options({"--app", path}).ranks(), 5);
  write("-n 2 a\n-n 3 b \\\n");
  EXPECT_EQ(parse_options({"--app", path}).ranks(), 5);
}

TEST_F(AppFile, AFolderIsNone) {
  EXPECT_SAYS(refusal({"--app", "/tmp"}), "--app: cannot read /tmp: Is a directory");
}

TEST_F(AppFile, WithOptionsAroundIt) {
  write("-n 2 a\n");
  const Options options = parse_options({"-l", "--app", path, ":", "-n", "1", "b"});
  EXPECT_TRUE(options.tag_output);
  EXPECT_EQ(options.ranks(), 3);
  EXPECT_SAYS(refusal({"--app", path, "b"}), "\"b\" follows an app file");
}

TEST_F(AppFile, ErrorsNameTheLine) {
  write("a\n-n many b\n");
  EXPECT_SAYS(refusal({"--app", path}), path + ":2: -n: \"many\"");
  write("-n 2\n");
  EXPECT_SAYS(refusal({"--app", path}), path + ":1: no program");
  write("a 'b\n");
  EXPECT_SAYS(refusal({"--app", path}), path + ":1: a ' is not closed");
  write("-bindto core a\n");
  EXPECT_SAYS(refusal({"--app", path}), ":1: unknown option -bindto; did you mean --bind-to?");
  write("# nothing\n");
  EXPECT_SAYS(refusal({"--app", path}), "names no program");
  write(("--app " + path + "\n").c_str());
  EXPECT_SAYS(refusal({"--app", path}), "cannot name another");
  EXPECT_SAYS(refusal({"--app", "/no/such"}), "--app: cannot read /no/such: No such file");
}

TEST(Options, ValuesOfAGroupAddUp) {
  ::setenv("TERN_COLL", "gather=linear", 1);
  const Options options =
      parse_options({"--set", "coll=bcast=chain", "--set", "coll=allreduce=ring", "-x",
                     "TERN_COLL=scan=linear", "-x", "TERN_SPIN=1", "true"});
  EXPECT_EQ(options.environment,
            (Pairs{{"TERN_COLL", "gather=linear,bcast=chain,allreduce=ring"}}));
  EXPECT_EQ(options.apps[0].environment,
            (Pairs{{"TERN_COLL", "gather=linear,bcast=chain,allreduce=ring,scan=linear"},
                   {"TERN_SPIN", "1"}}));
  ::unsetenv("TERN_COLL");
  EXPECT_EQ(parse_options({"-x", "TERN_COLL=scan=linear", "true"}).apps[0].environment,
            (Pairs{{"TERN_COLL", "scan=linear"}}));
}

}  // namespace
}  // namespace tern::mpirun

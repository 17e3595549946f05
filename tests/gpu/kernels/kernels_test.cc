// SPDX-License-Identifier: Apache-2.0
// The waiting kernels on one GPU: 1 to 8 ranks in one process make random calls by each wire.
// Usage: kernels_test --help. Exit status 0: success; 1: a fault, with the options to repeat it;
// 77: no device.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/gpu/kernels/round.hpp"

namespace tern::kernels_test {
namespace {

constexpr const char* kHelp =
    "kernels_test [--seed N] [--rounds N] [--first ROUND] [--round ROUND] [--seconds N]\n"
    "  --seed N      random seed (1)            --round N    only this round\n"
    "  --rounds N    number of rounds (300)     --first N    first round (0)\n"
    "  --seconds N   time limit; prints the options to continue\n"
    "  --patience N  timeout of a kernel in seconds (10)\n"
    "  --devices N   maximum (all)              --ranks N    per round (any)\n"
    "  --scratch N   KiB per rank               --bytes N    maximum KiB of a buffer\n"
    "                (32768 and 1024; on the software driver 1024 and 16)\n"
    "  --wire NAME   only ll, ll128, simple, exchange or multimem\n"
    "  --operation NAME   only this row of the table\n"
    "  --late        only the tests of late ranks\n"
    "  --times       event times instead of rounds\n";

double cpu_seconds() {
  rusage used{};
  (void)::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

[[noreturn]] void refuse(const std::string& what) {
  std::printf("kernels_test: %s\n%s", what.c_str(), kHelp);
  std::exit(2);
}

struct Command : Options {
  bool times = false, late = false;

  Command(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string name = argv[i];
      if (name == "--help") refuse("");
      if (name == "--times" || name == "--late") {
        (name == "--times" ? times : late) = true;
        continue;
      }
      if (++i == argc) refuse(name + " has no value");
      take(name, argv[i]);
    }
  }
  [[nodiscard]] bool narrowed() const noexcept { return column >= 0 || !line.empty() || ranks > 0; }
  void fit(bool soft) {
    if (scratch == 0) scratch = size_t{soft ? 1U : 32U} << 20;
    if (bytes == 0) bytes = soft ? size_t{16} << 10 : size_t{1} << 20;
  }

 private:
  void take(const std::string& name, const char* value) {
    const long long number = std::strtoll(value, nullptr, 10);
    if (name == "--seed")
      seed = static_cast<uint64_t>(number);
    else if (name == "--rounds")
      rounds = number;
    else if (name == "--first")
      first = number;
    else if (name == "--round")
      first = number, rounds = 1;
    else if (name == "--seconds")
      seconds = std::strtod(value, nullptr);
    else if (name == "--patience")
      timeout = std::strtod(value, nullptr);
    else if (name == "--devices")
      devices = static_cast<int>(number);
    else if (name == "--ranks")
      ranks = static_cast<int>(std::clamp<long long>(number, 0, 8));
    else if (name == "--scratch")
      scratch = static_cast<size_t>(number) << 10;
    else if (name == "--bytes")
      bytes = static_cast<size_t>(number) << 10;
    else if (name == "--operation")
      line = value;
    else if (name == "--wire")
      column = column_of(value);
    else
      refuse("unknown option " + name);
  }
  static int column_of(const char* name) {
    for (int i = 0; i < kColumns; ++i)
      if (std::strcmp(kColumnNames[static_cast<size_t>(i)], name) == 0) return i;
    refuse(std::string("unknown wire ") + name);
  }
};

int failed(const Command& command, int64_t round, const std::string& words,
           const std::string& why) {
  std::printf(
      "FAIL: round %lld: %s\n%s\nagain: kernels_test --seed %llu --round %lld, or with the "
      "rounds before it: --seed %llu --rounds %lld\n",
      static_cast<long long>(round), why.c_str(), words.c_str(),
      static_cast<unsigned long long>(command.seed), static_cast<long long>(round),
      static_cast<unsigned long long>(command.seed), static_cast<long long>(round + 1));
  std::fflush(stdout);
  std::_Exit(1);  // a timed-out kernel invalidates the team
}

int run_rounds(Rounds& rounds, const Command& command) {
  const int64_t begun = now_ns();
  int64_t round = command.first;
  const int64_t end = command.first + command.rounds;
  for (; round < end; ++round) {
    std::string why;
    try {
      why = rounds.run(round);
    } catch (const Error& error) {
      why = error.what();
    }
    if (!why.empty()) return failed(command, round, rounds.in_words(), why);
    if (command.seconds > 0 && static_cast<double>(now_ns() - begun) * 1e-9 > command.seconds) {
      ++round;
      break;
    }
  }
  rounds.table().print();
  std::printf("%lld rounds, %.1f CPU seconds\n", static_cast<long long>(round - command.first),
              cpu_seconds());
  if (round < end)
    std::printf("time limit reached: continue with --seed %llu --first %lld --rounds %lld\n",
                static_cast<unsigned long long>(command.seed), static_cast<long long>(round),
                static_cast<long long>(end - round));
  constexpr int64_t kEnough = 300;
  const int missed = rounds.table().missed();
  if (missed == 0 || command.narrowed() || round - command.first < kEnough) return 0;
  std::printf("FAIL: %d cells of the table were not tried\n", missed);
  return 1;
}

int run(int argc, char** argv) {
  Command command(argc, argv);
  try {
    Machine machine(command.devices);
    std::printf("%d device%s of the %s driver\n", machine.devices(),
                machine.devices() == 1 ? "" : "s", machine.is_soft() ? "software" : "real");
    command.fit(machine.is_soft());
    if (!command.times && !command.narrowed() && command.rounds > 1)
      if (const std::string why = check_late_ranks(machine, command); !why.empty()) {
        std::printf("FAIL: %s\n", why.c_str());
        return 1;
      }
    if (command.late) return 0;
    Rounds rounds(machine, command);
    if (!command.times) return run_rounds(rounds, command);
    print_times(rounds);
    return 0;
  } catch (const Error& error) {
    std::printf("FAIL: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tern::kernels_test

int main(int argc, char** argv) { return tern::kernels_test::run(argc, argv); }

// SPDX-License-Identifier: Apache-2.0
// Trial: two ranks in one child process.
#include "btl/net/trial.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "boot/boot.hpp"
#include "btl/address_book.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "cuda/driver.hpp"
#include "mpi.h"

namespace tern::btl::net {
namespace {

constexpr int64_t kPatienceNs = 5'000'000'000;
constexpr uint32_t kFrames = 64;

class TrialBoot final : public boot::Boot {
 public:
  struct Keys {
    boot::ConnectionInfo infos[2];
    std::map<std::string, std::string> keys[2];
  };
  TrialBoot(Keys& keys, int rank) : keys_(keys) {
    job_.rank = rank;
    job_.size = 2;
    job_.local_ranks = {rank};
  }
  const char* name() const noexcept override { return "trial"; }
  int node(int rank) override { return rank; }
  std::string host(int) override { return "localhost"; }
  void put_connection_info(const boot::ConnectionInfo& info) override {
    keys_.infos[job_.rank] = info;
  }
  boot::ConnectionInfo connection_info(int rank) override { return keys_.infos[rank]; }
  void put(std::string_view key, std::string_view value) override {
    keys_.keys[job_.rank][std::string(key)] = value;
  }
  std::string get(int rank, std::string_view key) override {
    return keys_.keys[rank][std::string(key)];
  }
  void start_fence() override {}
  bool fence_over() noexcept override { return true; }
  void abort(int, const char*) noexcept override { ::_exit(1); }
  void finalize() override {}

 private:
  Keys& keys_;
};

class Counter final : public Sink {
 public:
  void arrived(Endpoint&, const Frame& frame) noexcept override {
    if (frame.header.context == frames) ++frames;
  }
  uint32_t frames = 0;
};

struct Rank {
  Rank(TrialBoot::Keys& keys, int number, const MakeRank& make)
      : boot(keys, number), book(process) {
    process.boot = &boot;
    process.world_rank = number;
    process.world_size = 2;
    btl = make(process, counter, book);
    ConnectionInfo info = book.own();
    book.list(info, btl->name(), 0, btl->address());
    boot.put_connection_info(boot::connection_info_of(info));
  }
  TrialBoot boot;
  core::Process process;
  Counter counter;
  AddressBook book;
  std::unique_ptr<Btl> btl;
};

// The child's result begins with "+" on success.
[[noreturn]] void try_and_tell(const std::function<std::string()>& attempt, int to) {
  std::string words;
  try {
    words = "+" + attempt();
  } catch (const std::exception& error) {
    words = error.what();
  }
  const ssize_t written = ::write(to, words.data(), words.size());
  ::_exit(written == static_cast<ssize_t>(words.size()) ? 0 : 1);
}

}  // namespace

bool load_gpus() noexcept {
  cuda::load_driver();
  int count = 0;
  const cuda::Driver* const driver = cuda::driver();
  return driver != nullptr && driver->cuInit(0) == CUDA_SUCCESS &&
         driver->cuDeviceGetCount(&count) == CUDA_SUCCESS && count > 0;
}

std::string devices_in_words(bool has_gpus, const std::string& why_not) {
  if (!has_gpus) return {};
  return why_not.empty() ? "; device memory by RDMA" : "; no device memory by RDMA: " + why_not;
}

std::string exchange_frames(const MakeRank& make) {
  TrialBoot::Keys keys{};
  Rank sender(keys, 0, make), receiver(keys, 1, make);
  Endpoint* const to = sender.btl->connect(sender.process.peer(1), 0);
  const std::vector<std::byte> payload(to->max_payload());
  uint32_t sent = 0;
  for (const int64_t end = now_ns() + kPatienceNs; receiver.counter.frames < kFrames;) {
    if (now_ns() > end)
      throw Error(MPI_ERR_OTHER, strf("only %u of %u frames arrived within 5 s",
                                      receiver.counter.frames, kFrames));
    const size_t bytes = sent % 2 == 0 ? 8 : payload.size();
    const Header header{0, 1, static_cast<uint16_t>(bytes), sent, 0, 0};
    if (sent < kFrames && to->send(header, payload.data())) ++sent;
    sender.btl->progress();
    receiver.btl->progress();
  }
  return strf("%u frames of 8 to %zu bytes", kFrames, payload.size());
}

std::string settings_in_words(const Params& params, const Served& served,
                              const std::vector<Option>& options) {
  std::string text = in_words(options);
  if (!text.empty()) text = "; settings: " + text;
  for (const std::string& remark : remarks_on(params, served)) text += "; " + remark;
  return text;
}

Trial try_apart(const char* name, const char* cure, const std::function<std::string()>& attempt) {
  Trial trial{name, kReaches, false, "cannot start a process for the trial", cure};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return trial;
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) try_and_tell(attempt, writer.get());
  writer = Fd();
  if (child < 0) return trial;
  std::string words;
  char part[256];
  for (ssize_t bytes; (bytes = ::read(reader.get(), part, sizeof part)) > 0;)
    words.append(part, static_cast<size_t>(bytes));
  int status = 0;
  ::waitpid(child, &status, 0);
  trial.works = words.starts_with('+');
  if (trial.works) words.erase(0, 1), trial.cure.clear();
  trial.finding = words.empty() ? strf("the trial process ended with status %d", status) : words;
  return trial;
}

}  // namespace tern::btl::net

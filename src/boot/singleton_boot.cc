// SPDX-License-Identifier: Apache-2.0
// SingletonBoot: a world of one rank, without launcher.
#include <unistd.h>

#include <map>

#include "base/error.hpp"
#include "boot/boot.hpp"
#include "boot/ways.hpp"
#include "mpi.h"

namespace tern::boot {
namespace {

class SingletonBoot final : public Boot {
 public:
  SingletonBoot() {
    job_.id = strf("singleton-%s-%d", this_host().c_str(), ::getpid());
    job_.launcher = "none";
    job_.local_ranks = {0};
    job_.universe_size = 1;
  }

  const char* name() const noexcept override { return "singleton"; }
  int node(int rank) override {
    check_rank(*this, rank, "the node");
    return 0;
  }
  std::string host(int rank) override {
    check_rank(*this, rank, "the host");
    return this_host();
  }
  void put_connection_info(const ConnectionInfo& info) override { info_ = info; }
  ConnectionInfo connection_info(int rank) override {
    check_rank(*this, rank, "the connection info");
    return info_;
  }
  void put(std::string_view key, std::string_view value) override {
    values_[std::string(key)] = value;
  }
  std::string get(int rank, std::string_view key) override {
    check_rank(*this, rank, "a key");
    const auto found = values_.find(std::string(key));
    if (found == values_.end())
      throw Error(MPI_ERR_OTHER,
                  strf("no key \"%.*s\" was put", static_cast<int>(key.size()), key.data()));
    return found->second;
  }
  void start_fence() override {}
  bool fence_over() noexcept override { return true; }
  void abort(int code, const char* /*text*/) noexcept override {
    ::_exit((code & 0xff) != 0 ? code & 0xff : 1);
  }
  void tell_session() override { had_sessions_ = true; }
  bool had_sessions() override { return had_sessions_; }
  void finalize() override {}

 private:
  ConnectionInfo info_{};
  bool had_sessions_ = false;
  std::map<std::string, std::string> values_;
};

}  // namespace

std::unique_ptr<Boot> make_singleton_boot() { return std::make_unique<SingletonBoot>(); }

}  // namespace tern::boot

// SPDX-License-Identifier: Apache-2.0
// Trial of UCX: two workers in a child process exchange frames.
#include <unistd.h>

#include "base/error.hpp"
#include "btl/net/trial.hpp"
#include "btl/ucx/ucx.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::btl::ucx {
namespace {

constexpr const char* kCure =
    "ucx_info -d lists the networks visible to UCX; UCX_TLS and UCX_NET_DEVICES choose among them";

std::string attempt() {
  std::string why;
  std::vector<std::string> complaints;
  const Params params = Params::from(::environ, &complaints);
  const bool has_gpus = net::load_gpus();
  const Library* const opened = library(params.ucx_library, &why);
  if (opened == nullptr) throw Error(MPI_ERR_OTHER, why);
  const auto context =
      std::make_shared<UcpContext>(*opened, params, net::Choice{}, UcpContext::Job{2, 1, true});
  const std::string sent =
      net::exchange_frames([&](core::Process& process, Sink& sink, AddressBook& book) {
        return std::make_unique<Ucx>(process, sink, book, context, 0);
      });
  return strf("UCX %u.%u: %s went from one worker to another%s%s", opened->major, opened->minor,
              sent.c_str(),
              net::settings_in_words(params, context->served(), context->options).c_str(),
              net::devices_in_words(has_gpus, context->why_no_devices()).c_str());
}

}  // namespace

std::vector<Trial> try_here() { return {net::try_apart("ucx", kCure, attempt)}; }

}  // namespace tern::btl::ucx

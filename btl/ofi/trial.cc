// SPDX-License-Identifier: Apache-2.0
// Trial of libfabric for tern_info: two ports in a child process exchange frames.
#include <unistd.h>

#include "base/error.hpp"
#include "btl/net/trial.hpp"
#include "btl/ofi/ofi.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::btl::ofi {
namespace {

constexpr const char* kCure =
    "fi_info lists libfabric's providers; TERN_OFI_PROVIDER chooses one, and FI_TCP_IFACE=eth0 "
    "(FI_NET_IFACE for the provider net) the network interface of TCP providers";

std::string attempt() {
  std::string why;
  std::vector<std::string> complaints;
  const Params params = Params::from(::environ, &complaints);
  EnvironmentPresets presets;
  const bool has_gpus = net::load_gpus();
  preset(&presets, 2, has_gpus);
  for (const net::Option& one : net::options_for_libfabric(params))
    presets.set(one.name, one.value);
  const Library* const opened = library(params.ofi_library, &why);
  if (opened == nullptr) throw Error(MPI_ERR_OTHER, why);
  const auto fabric = std::make_shared<Fabric>(*opened, params.ofi_provider, net::Choice{}, Near{},
                                               std::vector<std::string>{}, has_gpus);
  fabric->set_traffic_class(net::traffic_word(params));
  const std::string sent =
      net::exchange_frames([&](core::Process& process, Sink& sink, AddressBook& book) {
        return std::make_unique<Ofi>(process, sink, book, fabric, 0);
      });
  std::string others;
  for (const std::string& name : providers(*opened))
    if (name != fabric->provider()) others += (others.empty() ? "; there are also " : ", ") + name;
  others +=
      net::settings_in_words(params, fabric->served(), net::options_for(params, fabric->served()));
  return strf("libfabric %u.%u: %s went from one port to another by the provider %s (%s)%s%s",
              opened->major, opened->minor, sent.c_str(), fabric->provider().c_str(),
              fabric->info()->domain_attr->name,
              net::devices_in_words(has_gpus, fabric->why_no_devices()).c_str(), others.c_str());
}

}  // namespace

std::vector<Trial> try_here() { return {net::try_apart("ofi", kCure, attempt)}; }

}  // namespace tern::btl::ofi

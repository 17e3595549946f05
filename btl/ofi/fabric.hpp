// SPDX-License-Identifier: Apache-2.0
// Fabric: libfabric's provider for this process, and the fabric object.
// Lifetime: the last Port. Threads: read-only after construction. Errors: the constructor throws
// Error.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "btl/ofi/library.hpp"

namespace tern::btl::ofi {

struct CloseFid {
  template <class T>
  void operator()(T* object) const noexcept {
    ::fi_close(&object->fid);
  }
};
/// Owns a libfabric object.
template <class T>
using Fid = std::unique_ptr<T, CloseFid>;

class Fabric {
 public:
  /// `wanted`: TERN_OFI_PROVIDER, or empty for the best provider.
  Fabric(const Library& library, const std::string& wanted);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  ~Fabric();

  [[nodiscard]] fi_info* info() const noexcept { return chosen_; }
  [[nodiscard]] fid_fabric* get() const noexcept { return fabric_.get(); }
  /// "tcp;ofi_rxm", for example.
  [[nodiscard]] const std::string& provider() const noexcept { return provider_; }
  /// Whether the provider has dedicated adapters, faster to poll than to sleep on.
  [[nodiscard]] bool is_fast() const noexcept;
  /// Whether the wait descriptor is cheap. The descriptor of "net" comes with a thread that polls
  /// the network and needs a core.
  [[nodiscard]] bool sleeps_well() const noexcept;
  /// Whether a multi-receive buffer is released after all of its frames. TCP providers release
  /// earlier but leave no gaps, so frames can be counted.
  [[nodiscard]] bool releases_in_order() const noexcept;
  /// Whether multi-receive works: "ofi_rxm" of libfabric 1.17 reports wrong addresses.
  [[nodiscard]] bool takes_many() const noexcept;
  /// Name of the variable for choosing a TCP provider's interface.
  [[nodiscard]] const char* interface_variable() const noexcept;
  /// Whether addresses are those of TCP connections.
  [[nodiscard]] bool is_sockets() const noexcept;
  /// Whether send and receive memory must be registered.
  [[nodiscard]] bool wants_registration() const noexcept;

  const Library& fi;

 private:
  fi_info* all_ = nullptr;
  fi_info* chosen_ = nullptr;  // element of all_
  std::string provider_;
  Fid<fid_fabric> fabric_;
};

/// Names of the usable providers, without duplicates. Throws Error.
[[nodiscard]] std::vector<std::string> providers(const Library& library);

/// Whether /sys shows an adapter with a native libfabric provider. Does not open libfabric.
[[nodiscard]] bool fast_adapter_here(const std::string& root = "");

}  // namespace tern::btl::ofi

// SPDX-License-Identifier: Apache-2.0
// Fabric: libfabric's provider for this process.
// Lifetime: the last Port. Threads: read-only. Errors: the constructor throws Error.
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
  /// "tcp;ofi_rxm"
  [[nodiscard]] const std::string& provider() const noexcept { return provider_; }
  /// Whether the provider has dedicated adapters, better polled than slept on.
  [[nodiscard]] bool is_fast() const noexcept;
  /// False for "net", whose wait descriptor comes with a polling thread.
  [[nodiscard]] bool sleeps_well() const noexcept;
  /// Whether a multi-receive buffer is released after all frames. TCP providers release earlier.
  [[nodiscard]] bool releases_in_order() const noexcept;
  /// Whether multi-receive works: "ofi_rxm" of libfabric 1.17 reports wrong addresses.
  [[nodiscard]] bool takes_many() const noexcept;
  /// The environment variable for a TCP provider's interface.
  [[nodiscard]] const char* interface_variable() const noexcept;
  [[nodiscard]] bool is_sockets() const noexcept;
  [[nodiscard]] bool wants_registration() const noexcept;

  const Library& fi;

 private:
  fi_info* all_ = nullptr;
  fi_info* chosen_ = nullptr;
  std::string provider_;
  Fid<fid_fabric> fabric_;
};

/// Usable providers, without duplicates. Throws Error.
[[nodiscard]] std::vector<std::string> providers(const Library& library);

/// Whether /sys shows an adapter with a native libfabric provider.
[[nodiscard]] bool fast_adapter_here(const std::string& root = "");

}  // namespace tern::btl::ofi

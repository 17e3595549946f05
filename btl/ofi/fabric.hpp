// SPDX-License-Identifier: Apache-2.0
// Fabric: the provider of libfabric that this process uses, and its fabric.
// Lifetime: the last Port. Threads: read-only after it was made. Errors: the constructor throws
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
/// One of libfabric's objects.
template <class T>
using Fid = std::unique_ptr<T, CloseFid>;

class Fabric {
 public:
  /// `wanted`: TERN_OFI_PROVIDER; empty: the best that is there.
  Fabric(const Library& library, const std::string& wanted);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  ~Fabric();

  [[nodiscard]] fi_info* info() const noexcept { return chosen_; }
  [[nodiscard]] fid_fabric* get() const noexcept { return fabric_.get(); }
  /// "tcp;ofi_rxm": its name.
  [[nodiscard]] const std::string& provider() const noexcept { return provider_; }
  /// Its network has adapters of its own, which are quicker polled than slept on.
  [[nodiscard]] bool is_fast() const noexcept;
  /// Whether its descriptor costs nothing but itself: that of "net" brings a thread that
  /// looks after the network as well, and wants a core.
  [[nodiscard]] bool sleeps_well() const noexcept;
  /// Whether it releases a buffer for many frames only when all of them are there. Those over TCP
  /// are seen to do it earlier, and leave no gaps between frames, so that these can be counted.
  [[nodiscard]] bool releases_in_order() const noexcept;
  /// Whether a buffer for many frames can be relied on: "ofi_rxm" of libfabric 1.17 is seen to name
  /// wrong places in it.
  [[nodiscard]] bool takes_many() const noexcept;
  /// The variable by which users say which interface it is to use, where it is one of TCP's.
  [[nodiscard]] const char* interface_variable() const noexcept;
  /// Whether its addresses are those of TCP connections.
  [[nodiscard]] bool is_sockets() const noexcept;
  /// Whether memory that it reads or writes has to be registered.
  [[nodiscard]] bool wants_registration() const noexcept;

  const Library& fi;

 private:
  fi_info* all_ = nullptr;
  fi_info* chosen_ = nullptr;  // one of them
  std::string provider_;
  Fid<fid_fabric> fabric_;
};

/// Names of providers that serve here, each once. Throws Error.
[[nodiscard]] std::vector<std::string> providers(const Library& library);

/// Whether this host has an adapter of a network that libfabric's own providers are made for:
/// seen in /sys, without opening libfabric.
[[nodiscard]] bool fast_adapter_here(const std::string& root = "");

}  // namespace tern::btl::ofi

// SPDX-License-Identifier: Apache-2.0
// Fabric: libfabric's provider for this process. Errors: the constructor throws Error.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "btl/net/interfaces.hpp"
#include "btl/net/options.hpp"
#include "btl/ofi/library.hpp"
#include "topo/pci.hpp"

namespace tern::btl::ofi {

struct CloseFid {
  template <class T>
  void operator()(T* object) const noexcept {
    ::fi_close(&object->fid);
  }
};
template <class T>
using Fid = std::unique_ptr<T, CloseFid>;

struct FreeInfo {
  decltype(&::fi_freeinfo) free;
  void operator()(fi_info* info) const noexcept { free(info); }
};
using Infos = std::unique_ptr<fi_info, FreeInfo>;

/// The proof that puts are in the peer's memory.
enum class FlushBy : uint8_t {
  kNothing,   // the provider cannot tell, so the port offers no RDMA
  kDelivery,  // FI_DELIVERY_COMPLETE of each write
  kRead,      // a read behind the writes
};

/// An adapter for a rank, of several.
struct Near {
  int numa = -1;    // the node of this rank's cores; -1: unknown
  size_t turn = 0;  // a number per rank of a host, which spreads ranks over equal adapters
  topo::PciAddress gpu = {};  // of this rank; unknown: none
};
/// The entry of the provider with an adapter behind the GPU's switches, else at the node, else any
/// entry; null: no such provider.
[[nodiscard]] fi_info* nearest_of(fi_info* all, std::string_view provider, const Near& near,
                                  const std::string& root = "");

/// The class of a word of TERN_NET_TRAFFIC_CLASS, by its place; 0: unchanged.
void set_traffic_class(fi_info& info, size_t word) noexcept;

class Fabric {
 public:
  /// `choice` is for providers over sockets, `near` for dedicated adapters. Without GPUs of this
  /// process, libfabric is not asked for device memory, because libfabric would initialise CUDA.
  Fabric(const Library& library, const std::string& wanted, const net::Choice& choice,
         const Near& near, const std::vector<std::string>& refused = {}, bool has_gpus = false);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  /// Whether automatic selection without these providers and without provider() finds another.
  [[nodiscard]] bool has_next(std::vector<std::string> refused) const;
  [[nodiscard]] fi_info* info() const noexcept { return chosen_; }
  [[nodiscard]] fid_fabric* get() const noexcept { return fabric_.get(); }
  /// Example: "tcp;ofi_rxm"
  [[nodiscard]] const std::string& provider() const noexcept { return provider_; }
  /// Dedicated adapters are better polled than slept on.
  [[nodiscard]] bool is_fast() const noexcept;
  /// The wait descriptor of "net" comes with a polling thread; the epoll descriptor inside "net"
  /// serves as well.
  [[nodiscard]] bool sleeps_well() const noexcept;
  /// releases_in_order() is true if libfabric releases a multi-receive buffer after all frames. TCP
  /// providers release earlier.
  [[nodiscard]] bool releases_in_order() const noexcept;
  /// "ofi_rxm" of libfabric 1.17 reports wrong addresses for multi-receive buffers.
  [[nodiscard]] bool takes_many() const noexcept;
  /// "cxi1"; libfabric's name of the adapter or interface.
  [[nodiscard]] const char* domain() const noexcept { return chosen_->domain_attr->name; }
  [[nodiscard]] net::Served served() const;
  /// For Ports that open later.
  void set_traffic_class(size_t word) noexcept;
  [[nodiscard]] const char* interface_variable() const noexcept;
  [[nodiscard]] bool is_sockets() const noexcept;
  [[nodiscard]] const net::Choice& interfaces() const noexcept { return choice_; }
  [[nodiscard]] bool wants_registration() const noexcept;
  [[nodiscard]] FlushBy flush_by() const noexcept { return flush_by_; }
  [[nodiscard]] bool has_rdma() const noexcept { return flush_by_ != FlushBy::kNothing; }
  /// Why the provider takes no device memory, with the cure; empty if the provider does.
  [[nodiscard]] std::string why_no_devices() const;

  const Library& fi;

 private:
  void look_for_rdma();
  [[nodiscard]] bool take_rdma(Infos infos, uint64_t op_flags);

  const Infos all_;
  std::vector<Infos> with_rdma_;
  fi_info* chosen_ = nullptr;
  FlushBy flush_by_ = FlushBy::kNothing;
  const net::Choice choice_;
  const Near near_;
  const bool has_gpus_;
  std::string provider_;
  Fid<fid_fabric> fabric_;
};

[[nodiscard]] std::vector<std::string> providers(const Library& library);

[[nodiscard]] bool fast_adapter_here(const std::string& root = "");

}  // namespace tern::btl::ofi

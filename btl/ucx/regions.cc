// SPDX-License-Identifier: Apache-2.0
// Registered memory for puts and gets by a peer. UCX caches registrations. Pulse.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "btl/net/registrations.hpp"
#include "btl/ucx/endpoint.hpp"
#include "mpi.h"

namespace tern::btl::ucx {
namespace {

class UcxRegion : public MemoryRegion {
 public:
  UcxRegion(const std::shared_ptr<UcpContext>& context, void* address, size_t bytes,
            ucs_memory_type_t type = UCS_MEMORY_TYPE_HOST)
      : context_(context) {
    const Library& ucp = context->ucp;
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                        UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
    params.address = address;
    params.length = bytes;
    params.memory_type = type;
    require(ucp, ucp.ucp_mem_map(context->get(), &params, &memory_), "registering memory");
    void* packed = nullptr;
    size_t length = 0;
    if (ucp.ucp_rkey_pack(context->get(), memory_, &packed, &length) != UCS_OK) return;
    const auto* const begin = static_cast<const std::byte*>(packed);
    if (length <= kMostKey) key_.assign(begin, begin + length);
    ucp.ucp_rkey_buffer_release(packed);
  }
  UcxRegion(const UcxRegion&) = delete;
  UcxRegion& operator=(const UcxRegion&) = delete;
  ~UcxRegion() override { context_->ucp.ucp_mem_unmap(context_->get(), memory_); }
  std::span<const std::byte> key() const noexcept override { return key_; }

 private:
  const std::shared_ptr<UcpContext> context_;
  ucp_mem_h memory_ = nullptr;
  std::vector<std::byte> key_;
};

class CountedRegion final : public UcxRegion {
 public:
  CountedRegion(core::Process& process, const std::shared_ptr<UcpContext>& context, void* address,
                size_t bytes)
      : UcxRegion(context, address, bytes), counted_(process, bytes) {}

 private:
  const net::CountedBytes counted_;
};

class UcxRemoteKey final : public RemoteKey {
 public:
  UcxRemoteKey(const std::shared_ptr<UcpContext>& context, ucp_rkey_h key) noexcept
      : context_(context), key_(key) {}
  UcxRemoteKey(const UcxRemoteKey&) = delete;
  UcxRemoteKey& operator=(const UcxRemoteKey&) = delete;
  ~UcxRemoteKey() override { context_->ucp.ucp_rkey_destroy(key_); }
  [[nodiscard]] ucp_rkey_h get() const noexcept { return key_; }

 private:
  const std::shared_ptr<UcpContext> context_;
  const ucp_rkey_h key_;
};

ucp_request_param_t params_of(Direct& direct, ucp_send_nbx_callback_t ended,
                              bool on_device = false) noexcept {
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  params.memory_type = on_device ? UCS_MEMORY_TYPE_CUDA : UCS_MEMORY_TYPE_HOST;
  params.cb.send = ended;
  params.user_data = &direct;
  return params;
}

ucp_rkey_h key_in(const RemoteKey& key) noexcept {
  return static_cast<const UcxRemoteKey&>(key).get();
}

}  // namespace

// UCX repeats refused registrations for ever, with a line each, so a limited host is tried once.
void require_lockable_memory(const std::shared_ptr<UcpContext>& context) {
  net::require_lockable_memory(
      [&](const iovec& memory) { const UcxRegion tried(context, memory.iov_base, memory.iov_len); },
      "UCX_TLS=tcp for TCP");
}

/// A packed key begins with the set of memory domains, of adapters and of CUDA's copies.
uint64_t domains_in(const MemoryRegion& region) noexcept {
  uint64_t domains = 0;
  if (region.key().size() >= sizeof domains)
    std::memcpy(&domains, region.key().data(), sizeof domains);
  return domains;
}

// Without the key of an adapter, UCX would copy device memory itself. TCP has no adapter.
std::unique_ptr<MemoryRegion> register_device(const std::shared_ptr<UcpContext>& context,
                                              const cuda::Memory& memory) {
  if (const std::string why = context->why_no_devices(); !why.empty())
    throw Error(MPI_ERR_OTHER, why);
  auto region = std::make_unique<UcxRegion>(context, reinterpret_cast<void*>(memory.base),
                                            memory.bytes, UCS_MEMORY_TYPE_CUDA);
  const uint64_t word = 0;
  const UcxRegion host(context, const_cast<uint64_t*>(&word), sizeof word);
  if (domains_in(host) == 0 || (domains_in(*region) & domains_in(host)) != 0) return region;
  throw Error(MPI_ERR_OTHER,
              "no adapter of UCX maps the GPU's memory, by nvidia-peermem or dma-buf");
}

Pulse::Pulse(const std::shared_ptr<UcpContext>& context) {
  try {
    region_ = std::make_unique<UcxRegion>(context, &word_, sizeof word_);
  } catch (const Error&) {
  }
}

Pulse::~Pulse() = default;

// A small key means a network without registration.
std::string Pulse::key() const {
  constexpr size_t kEmptyKey = 16;
  if (region_ == nullptr || region_->key().size() <= kEmptyKey) return {};
  const std::span<const std::byte> key = region_->key();
  if (key.size() > UINT8_MAX) return {};
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

std::string packed(const PulseAndAddress& all) {
  std::string bytes(1, static_cast<char>(all.key.size()));
  bytes += all.key;
  bytes.append(reinterpret_cast<const char*>(&all.word), sizeof all.word);
  return bytes + all.address;
}

PulseAndAddress unpacked(const std::string& bytes) {
  PulseAndAddress all;
  const size_t length = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
  const size_t front = 1 + length + sizeof all.word;
  if (bytes.size() <= front)
    throw Error(MPI_ERR_OTHER,
                strf("a peer published an address of only %zu bytes for UCX", bytes.size()));
  all.key = bytes.substr(1, length);
  std::memcpy(&all.word, bytes.data() + 1 + length, sizeof all.word);
  all.address = bytes.substr(front);
  return all;
}

std::unique_ptr<MemoryRegion> UcxEndpoint::register_memory(void* address, size_t bytes) noexcept {
  if (!net::admits_memory(process_, bytes)) return nullptr;
  try {
    return std::make_unique<CountedRegion>(process_, worker_.context, address, bytes);
  } catch (const std::exception& error) {
    net::note_refused_memory(process_, error.what());
    return nullptr;
  }
}

// UCX trusts lengths inside the key, so the key is padded with zeros to the maximum size.
std::unique_ptr<RemoteKey> UcxEndpoint::import_key(std::span<const std::byte> key) noexcept {
  if (fate.dead_locked() || key.empty() || key.size() > MemoryRegion::kMostKey) return nullptr;
  std::array<std::byte, MemoryRegion::kMostKey> whole{};
  std::copy(key.begin(), key.end(), whole.begin());
  ucp_rkey_h handle = nullptr;
  if (worker_.ucp.ucp_ep_rkey_unpack(ep_, whole.data(), &handle) != UCS_OK) return nullptr;
  return std::make_unique<UcxRemoteKey>(worker_.context, handle);
}

Start UcxEndpoint::start_put(const RemoteKey& key, uint64_t address, const LocalMemory& from,
                             Operation& operation) noexcept {
  if (fate.dead_locked()) return lost(operation);
  Direct* const direct = direct_for(operation);
  if (direct == nullptr) return Start::kNoRoom;
  const auto params = params_of(*direct, &UcxEndpoint::ended, from.on_device != nullptr);
  worker_.count_send();
  return begun(
      worker_.ucp.ucp_put_nbx(ep_, from.address, from.bytes, address, key_in(key), &params),
      *direct);
}

Start UcxEndpoint::start_get(const RemoteKey& key, uint64_t address, const LocalMemory& into,
                             Operation& operation) noexcept {
  if (fate.dead_locked()) return lost(operation);
  Direct* const direct = direct_for(operation);
  if (direct == nullptr) return Start::kNoRoom;
  const auto params = params_of(*direct, &UcxEndpoint::ended, into.on_device != nullptr);
  return begun(
      worker_.ucp.ucp_get_nbx(ep_, into.address, into.bytes, address, key_in(key), &params),
      *direct);
}

Start UcxEndpoint::start_flush(Operation& operation) noexcept {
  if (fate.dead_locked()) return Start::kDone;
  Direct* const direct = direct_for(operation);
  if (direct == nullptr) return Start::kNoRoom;
  const ucp_request_param_t params = params_of(*direct, &UcxEndpoint::ended);
  void* const request = worker_.ucp.ucp_ep_flush_nbx(ep_, &params);
  if (!UCS_PTR_IS_ERR(request)) return begun(request, *direct);
  worker_.directs.give_back(*direct);
  failed(this, ep_, UCS_PTR_STATUS(request));
  return Start::kDone;
}

}  // namespace tern::btl::ucx

// SPDX-License-Identifier: Apache-2.0
// UcxEndpoint: frames as eager active messages.
#include "btl/ucx/endpoint.hpp"

#include <array>
#include <cstring>

#include "base/error.hpp"
#include "core/peer.hpp"

namespace tern::btl::ucx {
namespace {

constexpr size_t kSmall = 2048;

}  // namespace

UcxEndpoint::UcxEndpoint(Worker& worker, Sink& sink, const Destination& leads_to, bool maps,
                         const std::string& address, const Origin& own)
    : NetEndpoint(sink, leads_to, {.maps = maps, .zero_copy = this, .rdma = this}, own),
      ZeroCopy(Worker::kMaxZeroCopy),
      Rdma(worker.offloads_puts),
      worker_(worker) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &UcxEndpoint::failed;
  params.err_handler.arg = this;
  require(worker.ucp, worker.ucp.ucp_ep_create(worker.get(), &params, &ep_),
          strf("connecting to rank %u", leads_to.peer.rank).c_str());
}

UcxEndpoint::~UcxEndpoint() = default;

// Small frames need no block if UCX can send at once.
bool UcxEndpoint::send(const Header& header, const void* payload) noexcept {
  if (TERN_UNLIKELY(fate.dead_locked())) return true;
  if (TERN_LIKELY(header.bytes <= kSmall) && send_small(header, payload)) return true;
  std::byte* const room = begin(header.bytes);
  if (room == nullptr) return false;
  if (header.bytes != 0) std::memcpy(room, payload, header.bytes);
  commit(header);
  return true;
}

bool UcxEndpoint::send_small(const Header& header, const void* payload) noexcept {
  std::array<std::byte, sizeof(WireHead) + kSmall> frame;
  const WireHead head = head_for(header);
  std::memcpy(frame.data(), &head, sizeof head);
  if (header.bytes != 0) std::memcpy(frame.data() + sizeof head, payload, header.bytes);
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  params.memory_type = UCS_MEMORY_TYPE_HOST;
  if (worker_.ucp.ucp_am_send_nbx(ep_, kFrameId, nullptr, 0, frame.data(),
                                  sizeof head + header.bytes, &params) != nullptr)
    return false;
  count_sent();
  worker_.count_send();
  return true;
}

std::byte* UcxEndpoint::begin(size_t /*bytes*/) noexcept {
  filling_ = worker_.blocks.take();
  return filling_ == nullptr ? nullptr : filling_->payload;
}

void UcxEndpoint::commit(const Header& header) noexcept {
  FrameBuffer& block = *filling_;
  filling_ = nullptr;
  if (TERN_UNLIKELY(fate.dead_locked())) return worker_.blocks.give_back(block);
  *block.head = head_for(header);
  block.endpoint = this;
  ucp_request_param_t params{};
  params.cb.send = &UcxEndpoint::sent;
  if (post(block.head, sizeof *block.head + header.bytes, &params, &block) == nullptr)
    worker_.blocks.give_back(block);
}

void* UcxEndpoint::post(const void* what, size_t count, ucp_request_param_t* params,
                        void* user_data) noexcept {
  params->op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE |
                          UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params->flags = UCP_AM_SEND_FLAG_EAGER;
  params->memory_type = UCS_MEMORY_TYPE_HOST;
  params->user_data = user_data;
  count_sent();
  worker_.count_send();
  void* const request = worker_.ucp.ucp_am_send_nbx(ep_, kFrameId, nullptr, 0, what, count, params);
  if (UCS_PTR_IS_PTR(request)) return request;
  if (request != nullptr) failed(this, ep_, UCS_PTR_STATUS(request));
  return nullptr;
}

Start UcxEndpoint::start_send(const Header& header, const iovec& prefix, const iovec& data,
                              Operation& operation) noexcept {
  if (TERN_UNLIKELY(fate.dead_locked())) return Start::kDone;
  Direct* const direct = direct_for(operation);
  if (direct == nullptr) return Start::kNoRoom;
  const WireHead head = head_for(header);
  std::memcpy(direct->head.data(), &head, sizeof head);
  if (prefix.iov_len != 0)
    std::memcpy(direct->head.data() + sizeof head, prefix.iov_base, prefix.iov_len);
  direct->parts = {
      {{direct->head.data(), sizeof head + prefix.iov_len}, {data.iov_base, data.iov_len}}};
  ucp_request_param_t params{};
  params.cb.send = &UcxEndpoint::ended;
  params.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
  params.datatype = UCP_DATATYPE_IOV;
  return begun(post(direct->parts.data(), direct->parts.size(), &params, direct), *direct);
}

Direct* UcxEndpoint::direct_for(Operation& operation) noexcept {
  Direct* const direct = worker_.directs.take();
  if (direct == nullptr) return nullptr;
  direct->endpoint = this;
  direct->operation = &operation;
  return direct;
}

Start UcxEndpoint::begun(void* request, Direct& direct) noexcept {
  if (!UCS_PTR_IS_PTR(request)) {
    if (request != nullptr) failed(this, ep_, UCS_PTR_STATUS(request));
    worker_.directs.give_back(direct);
    return Start::kDone;
  }
  ++direct.operation->left;
  return Start::kStarted;
}

void UcxEndpoint::ended(void* request, ucs_status_t status, void* sent) noexcept {
  Direct& direct = *static_cast<Direct*>(sent);
  UcxEndpoint& endpoint = *direct.endpoint;
  Operation& operation = *direct.operation;
  Worker& worker = endpoint.worker_;
  worker.ucp.ucp_request_free(request);
  worker.directs.give_back(direct);
  if (TERN_UNLIKELY(status != UCS_OK)) failed(&endpoint, endpoint.ep_, status);
  if (!worker.sink_gone && --operation.left == 0) endpoint.sink_.done(operation);
}

void UcxEndpoint::sent(void* request, ucs_status_t status, void* sent_block) noexcept {
  FrameBuffer& block = *static_cast<FrameBuffer*>(sent_block);
  auto& endpoint = static_cast<UcxEndpoint&>(*block.endpoint);
  endpoint.worker_.ucp.ucp_request_free(request);
  endpoint.worker_.blocks.give_back(block);
  if (TERN_UNLIKELY(status != UCS_OK)) failed(&endpoint, endpoint.ep_, status);
}

// UCX calls failed() inside progress, so failed() only marks the endpoint.
void UcxEndpoint::failed(void* endpoint, ucp_ep_h, ucs_status_t status) noexcept {
  auto& self = *static_cast<UcxEndpoint*>(endpoint);
  const char* const why = self.worker_.ucp.ucs_status_string(status);
  if (self.fate.end(failure(MPI_ERR_PROC_ABORTED, "%s", why))) self.worker_.has_failures = true;
}

void* UcxEndpoint::close() noexcept {
  if (ep_ == nullptr) return nullptr;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* const request = worker_.ucp.ucp_ep_close_nbx(ep_, &params);
  ep_ = nullptr;
  return UCS_PTR_IS_PTR(request) ? request : nullptr;
}

}  // namespace tern::btl::ucx

// SPDX-License-Identifier: Apache-2.0
// UcxEndpoint: frames as eager active messages.
#include "btl/ucx/endpoint.hpp"

#include <array>
#include <cstring>

#include "base/error.hpp"
#include "btl/net/registrations.hpp"
#include "core/peer.hpp"

namespace tern::btl::ucx {
namespace {

constexpr size_t kSmall = 2048;

}  // namespace

UcxEndpoint::UcxEndpoint(core::Process& process, Worker& worker, Sink& sink,
                         const Destination& leads_to, bool maps, const PulseAndAddress& address,
                         const Origin& own)
    : NetEndpoint(sink, leads_to, {.maps = maps, .zero_copy = this, .rdma = this}, own),
      ZeroCopy(Worker::kMaxZeroCopy),
      Rdma(false),
      process_(process),
      worker_(worker),
      pulse_key_(address.key),
      pulse_word_(address.word) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &UcxEndpoint::failed;
  params.err_handler.arg = this;
  require(worker.ucp, worker.ucp.ucp_ep_create(worker.get(), &params, &ep_),
          strf("connecting to rank %u", leads_to.peer.rank).c_str());
  lanes_ = lanes_of(worker.ucp, ep_);
  offloaded = lanes_.rdma;
  reason_ = "UCX: " + lanes_.words();
  if (!process.explain.on()) return;
  reason_ += net::facts_in_words(
      process.params, {"ucx", worker.context->served().version, !lanes_.rdma && !lanes_.datagrams});
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
  if (!send_now(head_for(header), payload)) return false;
  count_sent();
  return true;
}

bool UcxEndpoint::send_now(const WireHead& head, const void* payload) noexcept {
  std::array<std::byte, sizeof(WireHead) + kSmall> frame;
  const size_t bytes = head.header.bytes;
  std::memcpy(frame.data(), &head, sizeof head);
  if (bytes != 0) std::memcpy(frame.data() + sizeof head, payload, bytes);
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  params.memory_type = UCS_MEMORY_TYPE_HOST;
  if (worker_.ucp.ucp_am_send_nbx(ep_, kFrameId, nullptr, 0, frame.data(), sizeof head + bytes,
                                  &params) != nullptr)
    return false;
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
    Operation& operation = *direct.operation;
    worker_.directs.give_back(direct);
    const Start start = request == nullptr ? Start::kDone : refused(UCS_PTR_STATUS(request));
    operation.failed |= request != nullptr && start == Start::kDone;
    return start;
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
  if (TERN_UNLIKELY(status != UCS_OK)) {
    operation.failed = true;
    failed(&endpoint, endpoint.ep_, status);
  }
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
  const bool silent = self.lanes_.sockets && self.worker_.sockets.has_ended();
  self.fail(silent ? strf("its host does not answer; TERN_NET_TIMEOUT sets the limit (%s)", why)
                   : std::string(why));
}

// An adapter that cannot register the caller's memory refuses at once, with a healthy peer.
Start UcxEndpoint::refused(ucs_status_t status) noexcept {
  if (status == UCS_ERR_IO_ERROR || status == UCS_ERR_NO_MEMORY) {
    net::note_refused_memory(process_, worker_.ucp.ucs_status_string(status));
    return Start::kRefused;
  }
  failed(this, ep_, status);
  return Start::kDone;
}

void UcxEndpoint::fail(const std::string& why) noexcept {
  if (fate.end(failure(MPI_ERR_PROC_ABORTED, "%s", why.c_str()))) worker_.has_failures = true;
}

// The kernel acknowledges frames over sockets; SocketWatch looks at the sockets.
void UcxEndpoint::probe() noexcept {
  if (asked_) return;
  if (!touch_pulse()) (void)send_now(head_for({net::kProbe, 0, 0, 0, 0, 0}), nullptr);
  if (lanes_.sockets && !lanes_.rdma) return;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = &UcxEndpoint::answered;
  params.user_data = this;
  void* const request = worker_.ucp.ucp_ep_flush_nbx(ep_, &params);
  if (UCS_PTR_IS_PTR(request))
    asked_ = true;
  else if (request != nullptr)
    failed(this, ep_, UCS_PTR_STATUS(request));
}

bool UcxEndpoint::touch_pulse() noexcept {
  static const uint64_t word = 0;
  if (!lanes_.rdma || pulse_key_.empty()) return false;
  if (pulse_ == nullptr) pulse_ = import_key(std::as_bytes(std::span(pulse_key_)));
  if (pulse_ == nullptr) return false;
  (void)start_put(*pulse_, pulse_word_, LocalMemory(const_cast<uint64_t*>(&word), sizeof word),
                  worker_.pulses);
  return true;
}

void UcxEndpoint::answered(void* request, ucs_status_t status, void* endpoint) noexcept {
  auto& self = *static_cast<UcxEndpoint*>(endpoint);
  self.worker_.ucp.ucp_request_free(request);
  self.asked_ = false;
  self.note_moved();
  if (TERN_UNLIKELY(status != UCS_OK)) failed(&self, self.ep_, status);
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

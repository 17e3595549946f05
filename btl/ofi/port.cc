// SPDX-License-Identifier: Apache-2.0
// Port: opening libfabric's objects.
#include "btl/ofi/port.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/signals.hpp"
#include "mpi.h"

namespace tern::btl::ofi {

Port::Port(std::shared_ptr<const Fabric> of, bool sleeps, int64_t timeout_us)
    : fabric(std::move(of)), fi(fabric->fi), sockets(timeout_us) {
  const SignalsKept kept;
  fid_domain* domain = nullptr;
  require(fi, ::fi_domain(fabric->get(), fabric->info(), &domain, nullptr), "fi_domain");
  domain_.reset(domain);
  open_queue(sleeps);
  fid_av* av = nullptr;
  fi_av_attr attributes{};
  attributes.type = FI_AV_TABLE;
  require(fi, ::fi_av_open(domain, &attributes, &av, nullptr), "fi_av_open");
  av_.reset(av);
  open_endpoint();
  if (!fabric->sleeps_well()) descriptor_ = net::epoll_listening_at(address());
  divide_buffers();
  const fi_info& info = *fabric->info();
  if (info.ep_attr->max_msg_size < kMostFrame)
    throw Error(MPI_ERR_OTHER,
                strf("libfabric's provider %s has a message limit of %zu bytes, but Tern needs %zu",
                     fabric->provider().c_str(), info.ep_attr->max_msg_size, kMostFrame));
  if (!fabric->wants_registration() && info.tx_attr->iov_limit >= 2) zero_copy_bytes = kMaxZeroCopy;
}

// With FI_MR_ENDPOINT, memory regions are closed before the endpoint. Without FI_MR_ENDPOINT, the
// endpoint is closed first, because libfabric may still read registered memory.
Port::~Port() {
  if ((fabric->info()->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0) ep_.reset();
}

void Port::open_queue(bool sleeps) {
  fi_cq_attr attributes{};
  attributes.format = FI_CQ_FORMAT_DATA;
  fid_cq* cq = nullptr;
  attributes.wait_obj = FI_WAIT_FD;
  int result = -FI_ENOSYS;
  if (sleeps) result = ::fi_cq_open(domain_.get(), &attributes, &cq, nullptr);
  if (result == 0 && ::fi_control(&cq->fid, FI_GETWAIT, &descriptor_) != 0) descriptor_ = -1;
  attributes.wait_obj = FI_WAIT_NONE;
  if (result != 0) result = ::fi_cq_open(domain_.get(), &attributes, &cq, nullptr);
  require(fi, result, "fi_cq_open");
  cq_.reset(cq);
}

void Port::open_endpoint() {
  fid_ep* ep = nullptr;
  require(fi, ::fi_endpoint(domain_.get(), fabric->info(), &ep, nullptr), "fi_endpoint");
  ep_.reset(ep);
  require(fi, ::fi_ep_bind(ep, &av_->fid, 0), "fi_ep_bind of addresses");
  require(fi, ::fi_ep_bind(ep, &cq_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind of the queue");
  require(fi, ::fi_enable(ep), "fi_enable");
  size_t least = kMostFrame;
  if (fabric->takes_many())
    require(fi, ::fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least),
            "FI_OPT_MIN_MULTI_RECV");
  transfers_.emplace(*fabric, domain_.get(), ep, blocks);
  if (fabric->wants_registration()) {
    const uint64_t rdma = fabric->has_rdma() ? FI_WRITE | FI_READ : 0;
    const auto all = blocks.memory();
    transfers_->blocks_key = register_memory({all.data(), all.size()}, FI_SEND | rdma);
    receives_key_ = register_memory({receives_memory_.get(), kReceivedBytes}, FI_RECV);
  }
}

void Port::divide_buffers() {
  receives_.resize(fabric->takes_many() ? kBuffersForMany : kReceivedBytes / kMostFrame);
  receive_bytes_ = fabric->takes_many() ? kReceivedBytes / kBuffersForMany : kMostFrame;
  std::byte* memory = receives_memory_.get();
  for (Receive& receive : receives_) {
    receive.of = CompletionContext::Of::kReceive;
    receive.memory = memory;
    memory += receive_bytes_;
  }
}

void* Port::register_memory(const iovec& memory, uint64_t access) {
  fid_mr* made = nullptr;
  require(fi, transfers_->regions->open(memory, access, &made),
          "fi_mr_reg; is the limit of locked memory (ulimit -l) too low?");
  return ::fi_mr_desc(made);
}

std::string Port::address() const {
  size_t bytes = 0;
  (void)::fi_getname(&ep_->fid, nullptr, &bytes);
  std::string address(bytes, '\0');
  require(fi, ::fi_getname(&ep_->fid, address.data(), &bytes), "fi_getname");
  address.resize(bytes);
  return address;
}

fi_addr_t Port::insert(const std::string& address) {
  fi_addr_t number = FI_ADDR_NOTAVAIL;
  const int inserted = ::fi_av_insert(av_.get(), address.data(), 1, &number, 0, nullptr);
  require(fi, std::min(inserted, 0), "fi_av_insert");
  if (inserted != 1 || number == FI_ADDR_NOTAVAIL)
    throw Error(MPI_ERR_OTHER, "libfabric rejects a peer's address");
  return number;
}

bool Port::post(Receive& receive) noexcept {
  receive.taken = receive.end = 0;
  receive.released = false;
  const iovec where{receive.memory, receive_bytes_};
  fi_msg message{};
  message.msg_iov = &where;
  message.desc = &receives_key_;
  message.iov_count = 1;
  message.addr = FI_ADDR_UNSPEC;
  message.context = static_cast<CompletionContext*>(&receive);
  return ::fi_recvmsg(ep_.get(), &message, fabric->takes_many() ? FI_MULTI_RECV : 0) == 0;
}

void Port::post_all() {
  for (Receive& receive : receives_)
    if (!post(receive))
      throw Error(MPI_ERR_OTHER, strf("libfabric's provider %s accepts no receive buffers",
                                      fabric->provider().c_str()));
}

bool Port::may_sleep() noexcept {
  if (!fabric->sleeps_well()) return true;
  fid* queue = &cq_->fid;
  return ::fi_trywait(fabric->get(), &queue, 1) == FI_SUCCESS;
}

}  // namespace tern::btl::ofi

// SPDX-License-Identifier: Apache-2.0
// Nonblocking send-receives (MPI-5.0 section 3.11): two operations behind a single request.
#include <string>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "api/pt2pt/compound.hpp"
#include "api/pt2pt/send_modes.hpp"
#include "pml/pml.hpp"

namespace tern::api {
namespace {

struct TransferEnd {
  pml::Buffer buffer;
  int rank;
  int tag;
};

class NoPart final : public core::Request {
 public:
  explicit NoPart(const core::Outcome& result) {
    outcome = result;
    complete();
  }
  ~NoPart() override { delete error_text; }
};

core::Request* proc_null_request() {
  return new NoPart({MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, false, 0});
}

core::Request* refused(CompoundRequest& whole, const TransferEnd& end, int code) {
  auto* part = new NoPart({end.rank, end.tag, code, false, 0});
  part->error_text = new std::string(take_last_error().text);
  whole.keep_communicator();
  return part;
}

/// The receive determines the outcome. A receive refused while the send is in flight fails later,
/// because the send uses the request's memory.
int start(core::Ref<CompoundRequest> whole, core::Communicator& comm, const TransferEnd& out,
          const TransferEnd& in, MPI_Request* request) {
  pml::Pml& pml = *comm.channel().pml;
  core::Request *send = nullptr, *receive = nullptr;
  const core::ChannelLock lock(comm.channel().progress);
  if (const int code = null_transfer(comm); code != MPI_SUCCESS)
    return give_failed(comm, code, request);
  if (out.rank == MPI_PROC_NULL)
    send = proc_null_request();
  else if (const int code = pml.isend_locked(out.buffer, {&comm, out.rank, out.tag}, &send);
           code != MPI_SUCCESS)
    return give_failed(comm, code, request);
  whole->add(send);
  if (in.rank == MPI_PROC_NULL)
    receive = proc_null_request();
  else if (const int code = pml.irecv_locked(in.buffer, {&comm, in.rank, in.tag}, &receive);
           code != MPI_SUCCESS)
    receive = refused(*whole, in, code);
  whole->add(receive);
  *request = reinterpret_cast<MPI_Request>(whole->handle());
  whole.leak()->run();
  return MPI_SUCCESS;
}

core::Ref<CompoundRequest> make_whole(core::Communicator& comm) {
  return core::Ref<CompoundRequest>::adopt(new CompoundRequest(&comm));
}

}  // namespace

int isendrecv(const void* sendbuf, MPI_Count sendcount, core::Datatype& sendtype, int dest,
              int sendtag, void* recvbuf, MPI_Count recvcount, core::Datatype& recvtype, int source,
              int recvtag, core::Communicator& comm, MPI_Request* request) noexcept {
  return attempt([&] {
    const TransferEnd out{{const_cast<void*>(sendbuf), sendcount, &sendtype}, dest, sendtag};
    return start(make_whole(comm), comm, out, {{recvbuf, recvcount, &recvtype}, source, recvtag},
                 request);
  });
}

int isendrecv_replace(void* buf, MPI_Count count, core::Datatype& datatype, int dest, int sendtag,
                      int source, int recvtag, core::Communicator& comm,
                      MPI_Request* request) noexcept {
  return attempt([&] {
    auto whole = make_whole(comm);
    const pml::Buffer data{buf, count, &datatype};
    whole->memory.resize(data.bytes());
    if (const Failure why =
            core::pack(*the_process, data, 0, whole->memory.data(), whole->memory.size()))
      throw Error(MPI_ERR_BUFFER, why.text);
    const pml::Buffer copy{whole->memory.data(), static_cast<MPI_Count>(whole->memory.size()),
                           &core::predefined_type(*the_process, MPI_PACKED)};
    return start(std::move(whole), comm, {copy, dest, sendtag}, {data, source, recvtag}, request);
  });
}

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// Requests after an error or after the free of their communicator.
#include <gtest/gtest.h>
#include <mpi.h>

#include <thread>
#include <vector>

#include "api/process.hpp"
#include "core/communicator.hpp"
#include "tests/unit/coll/fake_pml.hpp"

namespace tern::api {
namespace {

class Requests : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    int level = 0;
    ASSERT_EQ(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
  }
  static void TearDownTestSuite() { EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS); }
};

class RefusesReceives final : public coll::FakePml {
 public:
  explicit RefusesReceives(coll::FakeWire& wire) : FakePml(wire) {}
  int isend_locked(const pml::Buffer& buffer, const pml::Envelope&,
                   core::Request** request) noexcept override {
    sent = buffer;
    under_way = new core::Request;
    under_way->retain();
    *request = under_way;
    return MPI_SUCCESS;
  }
  int irecv_locked(const pml::Buffer&, const pml::Envelope&, core::Request**) noexcept override {
    return fail(MPI_ERR_OTHER, "no route to the peer");
  }
  pml::Buffer sent;
  core::Request* under_way = nullptr;
};

TEST_F(Requests, MemoryOfASendOutlivesARefusedReceive) {
  core::Channel& channel = the_process->self->channel();
  pml::Pml* const real = channel.pml;
  coll::FakeWire wire(1);
  RefusesReceives refuses(wire);
  std::vector<int> data(1000, 7);
  MPI_Request request = MPI_REQUEST_NULL;
  channel.pml = &refuses;
  const int code =
      MPI_Isendrecv_replace(data.data(), 1000, MPI_INT, 0, 1, 0, 1, MPI_COMM_SELF, &request);
  channel.pml = real;
  ASSERT_NE(refuses.under_way, nullptr);
  // AddressSanitizer reports a packed copy freed too early.
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(static_cast<int*>(refuses.sent.address)[i], 7);
  EXPECT_EQ(code, MPI_SUCCESS);
  ASSERT_NE(request, MPI_REQUEST_NULL);
  int done = 1;
  EXPECT_EQ(MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(done, 0);
  refuses.under_way->complete();
  refuses.under_way->release();
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
}

struct End {
  core::Communicator::Ending real = nullptr;
  int seen = 0;
  bool locked = false;
};
End end;

/// Another thread checks that the caller holds the channel's lock.
void note_end(core::Communicator& communicator) noexcept {
  core::Progress& progress = communicator.channel().progress;
  std::thread([&progress] {
    end.locked = !progress.mutex.try_lock();
    if (!end.locked) progress.mutex.unlock();
  }).join();
  ++end.seen;
  end.real(communicator);
}

template <class Begin>
void outlive(const Begin& begin) {
  MPI_Comm comm = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &comm), MPI_SUCCESS);
  auto* const made = the_process->handles.find<core::Communicator>(comm);
  end = {made->ending, 0, false};
  made->ending = note_end;
  MPI_Request request = begin(comm);
  ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  EXPECT_EQ(end.seen, 1);
  EXPECT_TRUE(end.locked);
}

TEST_F(Requests, ACommunicatorEndsUnderItsLock) {
  std::vector<char> room(1024);
  int data = 5, in = 0;
  ASSERT_EQ(MPI_Buffer_attach(room.data(), 1024), MPI_SUCCESS);
  outlive([&](MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Ibsend(&data, 1, MPI_INT, 0, 1, comm, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Recv(&in, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    return request;
  });
  outlive([&](MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Bsend_init(&data, 1, MPI_INT, 0, 1, comm, &request), MPI_SUCCESS);
    return request;
  });
  void* detached = nullptr;
  int bytes = 0;
  EXPECT_EQ(MPI_Buffer_detach(&detached, &bytes), MPI_SUCCESS);
}

}  // namespace
}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// C++ exceptions and longjmp out of error handlers, exceptions out of other callbacks: MPI still
// works.
// ranks: singleton 2 3
// mpirun: --oversubscribe
#include <csetjmp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "mpix.h"

namespace {

jmp_buf back;
bool jumps;
int ranks;

void out_of_handler(const char* object) {
  if (jumps) longjmp(back, 1);
  throw std::runtime_error(object);
}
void comm_handler(MPI_Comm*, int*, ...) { out_of_handler("comm"); }
void win_handler(MPI_Win*, int*, ...) { out_of_handler("win"); }
void session_handler(MPI_Session*, int*, ...) { out_of_handler("session"); }
void freeing_handler(MPI_Comm* comm, int*, ...) {
  MPI_Comm_free(comm);
  throw std::runtime_error("freed");
}

template <class Call>
void expect(const char* text, Call&& call) {
  std::string caught = "nothing";
  try {
    call();
  } catch (const std::exception& error) {
    caught = error.what();
  }
  if (caught != text) std::fprintf(stderr, "caught %s, not %s\n", caught.c_str(), text);
  CHECK(caught == text);
  CHECK_EQ(std::uncaught_exceptions(), 0);
}

template <class Call>
void expect_jump(Call&& call) {
  jumps = true;
  if (setjmp(back) == 0) {
    call();
    CHECK(false);
  }
  jumps = false;
}

MPI_Comm duplicate(MPI_Comm_errhandler_function* function) {
  MPI_Comm comm;
  MPI_Errhandler handler;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_create_errhandler(function, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Errhandler_free(&handler));
  return comm;
}

void still_works(MPI_Comm comm) {
  int sum = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQ(sum, ranks * (ranks - 1) / 2);
}

void communicators() {
  MPI_Comm comm = duplicate(comm_handler);
  const int peer = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  std::vector<int> counts(static_cast<size_t>(ranks), 1);
  for (int i = 0; i < 20; ++i) {
    int value = 0, four[4] = {}, two[2];
    MPI_Request request;
    expect("comm", [&] { MPI_Send(&value, 1, MPI_INT, ranks, 0, comm); });
    expect("comm", [&] { MPI_Send(nullptr, 1, MPI_INT, 0, 0, comm); });
    expect("comm", [&] { MPI_Bcast(&value, 1, MPI_INT, ranks, comm); });
    expect("comm", [&] { MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); });
    // The entry point widens the arrays.
    expect("comm", [&] {
      MPI_Alltoallv(&value, counts.data(), nullptr, MPI_INT, &value, counts.data(), nullptr,
                    MPI_INT, comm);
    });
    OK(MPI_Irecv(two, 2, MPI_INT, from, 5, comm, &request));
    OK(MPI_Send(four, 4, MPI_INT, peer, 5, comm));
    expect("comm", [&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
    OK(MPI_Irecv(two, 2, MPI_INT, from, 5, comm, &request));
    OK(MPI_Send(four, 4, MPI_INT, peer, 5, comm));
    expect("comm", [&] { MPI_Waitall(1, &request, MPI_STATUSES_IGNORE); });
    expect_jump([&] { MPI_Send(&value, 1, MPI_INT, ranks, 0, comm); });
    expect_jump([&] { MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); });
    std::thread([&] { still_works(comm); }).join();
    still_works(comm);
  }
  OK(MPI_Comm_free(&comm));
  comm = duplicate(freeing_handler);
  expect("freed", [&] { MPI_Send(&rank, 1, MPI_INT, ranks, 0, comm); });
}

void windows_and_sessions() {
  MPI_Win win;
  MPI_Session session;
  MPI_Errhandler handler;
  int *base, value = 0;
  OK(MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  OK(MPI_Win_create_errhandler(win_handler, &handler));
  OK(MPI_Win_set_errhandler(win, handler));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Win_fence(0, win));
  expect("win", [&] { MPI_Put(&value, 1, MPI_INT, ranks, 0, 1, MPI_INT, win); });
  expect("win", [&] { MPI_Win_call_errhandler(win, MPI_ERR_OTHER); });
  expect_jump([&] { MPI_Put(&value, 1, MPI_INT, ranks, 0, 1, MPI_INT, win); });
  OK(MPI_Win_fence(0, win));
  OK(MPI_Win_free(&win));

  OK(MPI_Session_create_errhandler(session_handler, &handler));
  OK(MPI_Session_init(MPI_INFO_NULL, handler, &session));
  OK(MPI_Errhandler_free(&handler));
  MPI_Group group;
  expect("session", [&] { MPI_Group_from_session_pset(session, "no such set", &group); });
  OK(MPI_Session_finalize(&session));
}

int throwing_copy(MPI_Comm, int, void*, void*, void*, int*) { throw std::runtime_error("copy"); }
bool keeps;
int throwing_delete(MPI_Comm, int, void*, void*) {
  if (keeps) throw std::runtime_error("delete");
  return MPI_SUCCESS;
}

void attributes() {
  int key;
  MPI_Comm comm, copy;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_create_keyval(throwing_copy, throwing_delete, &key, nullptr));
  OK(MPI_Comm_set_attr(comm, key, &key));
  expect("copy", [&] { MPI_Comm_dup(comm, &copy); });
  CHECK(copy == MPI_COMM_NULL);
  keeps = true;
  expect("delete", [&] { MPI_Comm_delete_attr(comm, key); });
  expect("delete", [&] { MPI_Comm_set_attr(comm, key, &copy); });
  keeps = false;
  void* value;
  int flag;
  OK(MPI_Comm_get_attr(comm, key, &value, &flag));
  CHECK(flag && value == &key);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_free_keyval(&key));
}

void throwing_sum(void*, void*, int*, MPI_Datatype*) { throw std::runtime_error("sum"); }

void operations() {
  MPI_Op op;
  OK(MPI_Op_create(throwing_sum, 1, &op));
  int one = 1, sum = 0;
  expect("sum", [&] { MPI_Reduce_local(&one, &sum, 1, MPI_INT, op); });
  for (int count : {1, 3000, 300000}) {
    std::vector<int> in(static_cast<size_t>(count), 1), out(in);
    MPI_Comm comm;
    MPI_Request request;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (ranks > 1) {
      // Without a user function, a rank may get the error of another rank.
      int caught = 0, failed = 0, all[2] = {};
      try {
        failed = MPI_Allreduce(in.data(), out.data(), count, MPI_INT, op, comm) != MPI_SUCCESS;
      } catch (const std::exception&) {
        caught = 1;
      }
      int mine[2] = {caught, caught + failed};
      OK(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
      CHECK(all[0] > 0);
      CHECK_EQ(all[1], ranks);
      caught = 0;
      OK(MPI_Comm_free(&comm));
      OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
      OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
      OK(MPI_Ireduce(in.data(), out.data(), count, MPI_INT, op, 0, comm, &request));
      try {
        (void)MPI_Wait(&request, MPI_STATUS_IGNORE);
      } catch (const std::exception&) {
        caught = 1;
      }
      mine[0] = caught;
      OK(MPI_Allreduce(mine, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
      CHECK(all[0] > 0);
    }
    OK(MPI_Comm_free(&comm));
  }
  OK(MPI_Op_free(&op));
}

const char* throws_in;
int query(void*, MPI_Status* status) {
  if (throws_in == std::string("query")) throw std::runtime_error("query");
  return MPI_Status_set_elements(status, MPI_INT, 0);
}
int release(void*) {
  if (throws_in == std::string("free")) throw std::runtime_error("free");
  return MPI_SUCCESS;
}
int cancel(void*, int) { throw std::runtime_error("cancel"); }
int minus_one(MPI_Comm, int, void*, void*) { return keeps ? -1 : MPI_SUCCESS; }

// A callback's code after a handler ran is an error, and no handler runs twice.
void codes_of_callbacks() {
  MPI_Comm comm = duplicate(comm_handler), own;
  int key;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &own));
  OK(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, minus_one, &key, nullptr));
  OK(MPI_Comm_set_attr(own, key, &key));
  expect("comm", [&] { MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); });
  keeps = true;
  CHECK_EQ(MPI_Comm_delete_attr(own, key), -1);
  keeps = false;
  OK(MPI_Comm_free(&own));
  OK(MPI_Comm_free_keyval(&key));
  OK(MPI_Comm_free(&comm));
}

int resume(int, void*) { throw std::runtime_error("continuation"); }

void unheard() {
  MPI_Comm comm = duplicate(comm_handler), copy;
  MPI_Request request;
  throws_in = "free";
  OK(MPI_Grequest_start(query, release, cancel, nullptr, &request));
  MPI_Request handle = request;
  OK(MPI_Request_free(&request));
  OK(MPI_Grequest_complete(handle));
  throws_in = "none";
  expect("comm", [&] { MPI_Send(&ranks, 1, MPI_INT, ranks, 0, comm); });
  OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&comm));
}

void requests() {
  MPI_Request request, continuations;
  for (const char* in : {"query", "free"}) {
    throws_in = in;
    OK(MPI_Grequest_start(query, release, cancel, nullptr, &request));
    expect("cancel", [&] { MPI_Cancel(&request); });
    OK(MPI_Grequest_complete(request));
    expect(in, [&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
    CHECK(request == MPI_REQUEST_NULL);
  }
  throws_in = "none";
  int sent = 1, got = 0;
  OK(MPIX_Continue_init(0, 0, MPI_INFO_NULL, &continuations));
  OK(MPI_Start(&continuations));
  OK(MPI_Irecv(&got, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request));
  OK(MPIX_Continue(&request, resume, nullptr, 0, MPI_STATUS_IGNORE, continuations));
  OK(MPI_Send(&sent, 1, MPI_INT, 0, 9, MPI_COMM_SELF));
  expect("continuation", [&] { MPI_Wait(&continuations, MPI_STATUS_IGNORE); });
  OK(MPI_Request_free(&continuations));
}

}  // namespace

int main(int argc, char** argv) {
  int level;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  communicators();
  windows_and_sessions();
  attributes();
  operations();
  requests();
  codes_of_callbacks();
  unheard();
  still_works(MPI_COMM_WORLD);
  OK(MPI_Finalize());
  return 0;
}

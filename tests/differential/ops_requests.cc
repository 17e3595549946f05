// SPDX-License-Identifier: Apache-2.0
// Truncated, cancelled, partitioned messages; inactive and null requests.
#include <memory>

#include "buffer.hpp"
#include "completing.hpp"
#include "peer.hpp"
#include "step.hpp"

namespace {

void truncation(Step& step) {
  if (step.size == 1) return;
  const int from = step.all.below(step.size), to = (from + 1) % step.size;
  const int sent = step.all.between(2, step.all.one_in(3) ? 100000 : 100);
  const int room = step.all.between(0, sent - 1);
  const int way = step.all.below(3);
  step.say("%d ints from %d to %d with room for %d, way %d", sent, from, to, room, way);
  if (sent > 100 && peer::kNoLargeTruncation) return step.skip("a large message is truncated");
  std::vector<int> out(static_cast<size_t>(sent), 7), in(static_cast<size_t>(room) + 8, 3);
  MPI_Status status;
  MPI_Request request;
  if (step.rank == from) {
    step.ok(MPI_Isend(out.data(), sent, MPI_INT, to, step.tags, step.comm, &request), "MPI_Isend");
    step.ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    step.ok(MPI_Send(out.data(), 1, MPI_INT, to, step.tags + 1, step.comm), "MPI_Send");
  }
  if (step.rank != to) return;
  int error;
  if (way == 0) {
    error = MPI_Recv(in.data(), room, MPI_INT, from, step.tags, step.comm, &status);
  } else {
    MPI_Irecv(in.data(), room, MPI_INT, from, step.tags, step.comm, &request);
    error = way == 1 ? MPI_Wait(&request, &status) : MPI_Waitall(1, &request, &status);
    if (way == 2 && class_of(error) == MPI_ERR_IN_STATUS) error = status.MPI_ERROR;
  }
  step.ok(error, "truncated");
  step.see("behind", in.data() + room, 8 * sizeof(int));
  step.ok(MPI_Recv(in.data(), 1, MPI_INT, from, step.tags + 1, step.comm, &status), "MPI_Recv");
  step.see("next", in[0]);
}

// No message arrives, so the cancel must succeed.
void cancelled(Step& step) {
  const bool persistent = step.all.one_in(2);
  int value = 5, flag = -1;
  MPI_Request request;
  MPI_Status status;
  const int source = step.mine.one_in(2) ? MPI_ANY_SOURCE : step.rank;
  (persistent ? MPI_Recv_init : MPI_Irecv)(&value, 1, MPI_INT, source, step.tags + 5, step.comm,
                                           &request);
  if (persistent) step.ok(MPI_Start(&request), "MPI_Start");
  step.ok(MPI_Cancel(&request), "MPI_Cancel");
  step.ok(MPI_Wait(&request, &status), "MPI_Wait");
  step.ok(MPI_Test_cancelled(&status, &flag), "MPI_Test_cancelled");
  step.see("cancelled", flag);
  step.see("value", value);
  step.see("null", request == MPI_REQUEST_NULL);
  if (persistent) MPI_Request_free(&request);
}

void partitioned(Step& step) {
  if (step.size == 1) return;
  const int from = step.all.below(step.size),
            to = (from + 1 + step.all.below(step.size - 1)) % step.size;
  const int parts = step.all.between(1, 6), count = step.all.between(1, 200);
  const int receive_parts = step.all.one_in(2) ? parts : 1;
  const int receive_count = parts * count / receive_parts, rounds = step.all.between(1, 3);
  if (peer::kNoPartitions) return step.skip("partitioned messages");
  step.say("%d partitions of %d ints from %d to %d, into %d", parts, count, from, to,
           receive_parts);
  MPI_Request request;
  MPI_Status status;
  std::vector<int> data(static_cast<size_t>(parts * count));
  if (step.rank == from) {
    step.ok(MPI_Psend_init(data.data(), parts, count, MPI_INT, to, step.tags, step.comm,
                           MPI_INFO_NULL, &request),
            "MPI_Psend_init");
    for (int round = 0; round < rounds; ++round) {
      step.ok(MPI_Start(&request), "MPI_Start");
      std::vector<int> order;
      for (int i = 0; i < parts; ++i) order.push_back(i);
      step.mine.shuffle(order);
      for (int part : order) {
        for (int i = 0; i < count; ++i) {
          data[static_cast<size_t>(part * count + i)] = step.mine.below(1000);
        }
        step.ok(MPI_Pready(part, request), "MPI_Pready");
      }
      step.ok(MPI_Wait(&request, &status), "MPI_Wait");
    }
    MPI_Request_free(&request);
  }
  if (step.rank == to) {
    step.ok(MPI_Precv_init(data.data(), receive_parts, receive_count, MPI_INT, from, step.tags,
                           step.comm, MPI_INFO_NULL, &request),
            "MPI_Precv_init");
    for (int round = 0; round < rounds; ++round) {
      step.ok(MPI_Start(&request), "MPI_Start");
      const int part = step.mine.below(receive_parts);
      int flag = 0;
      while (!flag && step.ok(MPI_Parrived(request, part, &flag), "MPI_Parrived")) {
      }
      step.see("part", &data[static_cast<size_t>(part * receive_count)],
               static_cast<size_t>(receive_count) * sizeof(int));
      step.ok(MPI_Wait(&request, &status), "MPI_Wait");
      step.see("all", data.data(), data.size() * sizeof(int));
    }
    MPI_Request_free(&request);
  }
}

void empty(Step& step) {
  int value = 0, flag = -1, index = -5, number = -5;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (step.all.one_in(2)) {
    MPI_Recv_init(&value, 1, MPI_INT, step.rank, step.tags, step.comm, &requests[0]);
  }
  MPI_Status status[2];
  step.ok(MPI_Test(&requests[0], &flag, status), "MPI_Test");
  step.see("flag", flag);
  step.see("status", status[0], MPI_INT);
  step.ok(MPI_Waitall(2, requests, status), "MPI_Waitall");
  step.see("status", status[1], MPI_INT);
  step.ok(MPI_Waitany(2, requests, &index, status), "MPI_Waitany");
  step.see("index", index == MPI_UNDEFINED);
  step.ok(MPI_Testany(2, requests, &index, &flag, status), "MPI_Testany");
  step.see("index", (index == MPI_UNDEFINED) + 2 * flag);
  int indices[2];
  step.ok(MPI_Waitsome(2, requests, &number, indices, status), "MPI_Waitsome");
  step.see("number", number == MPI_UNDEFINED);
  step.ok(MPI_Testsome(2, requests, &number, indices, status), "MPI_Testsome");
  step.see("number", number == MPI_UNDEFINED);
  step.ok(MPI_Request_get_status(requests[0], &flag, status), "MPI_Request_get_status");
  step.see("flag", flag);
  step.see("status", status[0], MPI_INT);
  if (requests[0] != MPI_REQUEST_NULL) MPI_Request_free(&requests[0]);
}

void to_nothing(Step& step) {
  int value = 9;
  MPI_Status status;
  MPI_Request requests[2];
  step.ok(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, step.comm), "MPI_Send");
  step.ok(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, step.comm, &status), "MPI_Recv");
  step.see("status", status, MPI_INT);
  step.ok(MPI_Probe(MPI_PROC_NULL, 3, step.comm, &status), "MPI_Probe");
  step.see("status", status, MPI_INT);
  MPI_Message message;
  step.ok(MPI_Mprobe(MPI_PROC_NULL, 3, step.comm, &message, &status), "MPI_Mprobe");
  step.see("message", message == MPI_MESSAGE_NO_PROC);
  step.ok(MPI_Mrecv(&value, 1, MPI_INT, &message, &status), "MPI_Mrecv");
  step.see("status", status, MPI_INT);
  step.ok(MPI_Issend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, step.comm, &requests[0]), "MPI_Issend");
  step.ok(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, step.comm, &requests[1]), "MPI_Irecv");
  MPI_Status both[2];
  step.ok(MPI_Waitall(2, requests, both), "MPI_Waitall");
  step.see("status", both[1], MPI_INT);
  step.see("value", value);
}

}  // namespace

const Operation kRequests[] = {{"truncation", truncation, 2},   {"cancelled", cancelled, 1},
                               {"partitioned", partitioned, 3}, {"empty", empty, 1},
                               {"to_nothing", to_nothing, 1},   {}};

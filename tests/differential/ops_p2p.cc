// SPDX-License-Identifier: Apache-2.0
// Exchanges of nonblocking and persistent messages, and consecutive blocking messages.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <set>

#include "buffer.hpp"
#include "completing.hpp"
#include "peer.hpp"
#include "step.hpp"

namespace {

enum Mode { standard, synchronous, buffered, ready };
const char* const kModes[] = {"standard", "synchronous", "buffered", "ready"};

struct Message {
  int from, to, tag, count;
  Signature signature;
  Mode mode;
  bool persistent;
  bool any_source, any_tag;
};

std::vector<Message> any_messages(Step& step, bool to_self) {
  Random& all = step.all;
  std::vector<Message> messages;
  const int number = all.between(1, 8);
  const int wild = all.below(4);  // 0, 1: no wildcard; 2: any tag; 3: any source, with a tag for
                                  // each
  const bool own_tags = wild == 3 || all.one_in(2);
  for (int i = 0; i < number; ++i) {
    Message m;
    m.from = all.below(step.size);
    m.to = all.below(step.size);
    if (!to_self && m.from == m.to) m.to = (m.from + 1) % step.size;
    m.tag = step.tags + (own_tags ? 10 + i : all.below(3));
    m.signature = any_signature(all);
    m.count = any_count(all, m.signature, number);
    m.mode = static_cast<Mode>(all.one_in(2) ? 0 : all.below(4));
    m.persistent = all.one_in(3);
    m.any_source = wild == 3 && all.one_in(2);
    m.any_tag = wild == 2 && all.one_in(2);
    messages.push_back(m);
  }
  return messages;
}

void describe(Step& step, const Message& m, size_t i) {
  if (!step.verbose()) return;
  step.say("message %zu: %d to %d, tag %d, %d * (%s), %s%s%s%s", i, m.from, m.to, m.tag, m.count,
           text_of(m.signature).c_str(), kModes[m.mode], m.persistent ? ", persistent" : "",
           m.any_source ? ", any source" : "", m.any_tag ? ", any tag" : "");
}

std::unique_ptr<Buffer> side(Step& step, const char* who, const Signature& signature, int items,
                             int more) {
  int count = 0;
  Layout layout = Buffer::wrapped(step.mine, signature, items, &count);
  step.say("%s: %d of %s", who, count, layout.text.c_str());
  auto buffer = std::make_unique<Buffer>(std::move(layout), count + more, count + more);
  buffer->fill(step.mine.next(), Values::raw);
  return buffer;
}

class Attached {
 public:
  explicit Attached(size_t bytes) : memory_(bytes + 65536) {
    MPI_Buffer_attach(memory_.data(), static_cast<int>(memory_.size()));
  }
  ~Attached() {
    void* address;
    int size;
    MPI_Buffer_detach(&address, &size);
  }

 private:
  std::vector<char> memory_;
};

size_t bytes_buffered(const std::vector<Message>& messages) {
  size_t sum = 0;
  for (const Message& m : messages) {
    if (m.mode != buffered) continue;
    // A sender may be rounds ahead of the receiver.
    sum += 4 * static_cast<size_t>(m.count) * static_cast<size_t>(bytes_of(m.signature)) + 1024;
  }
  return sum;
}

void start_send(Step& step, const Message& m, Buffer& b, MPI_Request* request) {
  using Call = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  static const Call kOnce[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
  static const Call kInit[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
  const Call call = (m.persistent ? kInit : kOnce)[m.mode];
  step.ok(call(b.at(), b.count, b.type(), m.to, m.tag, step.comm, request), "send");
}

void exchange(Step& step) {
  const std::vector<Message> messages = any_messages(step, true);
  const int rounds = step.all.between(1, 3);
  Attached attached(step.all.one_in(2) || bytes_buffered(messages) ? bytes_buffered(messages) : 0);
  bool any_ready = false;
  std::vector<std::unique_ptr<Buffer>> received, sent;
  for (size_t i = 0; i < messages.size(); ++i) {
    const Message& m = messages[i];
    describe(step, m, i);
    any_ready |= m.mode == ready;
    const int more = step.mine.one_in(3) ? step.mine.below(4) : 0;
    received.push_back(m.to == step.rank ? side(step, "receive", m.signature, m.count, more)
                                         : nullptr);
    sent.push_back(m.from == step.rank ? side(step, "send", m.signature, m.count, 0) : nullptr);
  }
  std::vector<MPI_Request> requests(2 * messages.size(), MPI_REQUEST_NULL), active;
  std::vector<MPI_Status> statuses;
  for (int round = 0; round < rounds; ++round) {
    const auto begun = [&](const Message& m, bool first) { return first || m.persistent; };
    for (size_t i = 0; i < messages.size(); ++i) {
      const Message& m = messages[i];
      if (!received[i] || !begun(m, round == 0)) continue;
      Buffer& b = *received[i];
      const int source = m.any_source ? MPI_ANY_SOURCE : m.from;
      const int tag = m.any_tag ? MPI_ANY_TAG : m.tag;
      MPI_Request* request = &requests[2 * i];
      if (round == 0) {
        step.ok((m.persistent ? MPI_Recv_init : MPI_Irecv)(b.at(), b.count, b.type(), source, tag,
                                                           step.comm, request),
                "receive");
      }
      if (m.persistent) step.ok(MPI_Start(request), "MPI_Start");
    }
    if (any_ready) MPI_Barrier(step.comm);
    for (size_t i = 0; i < messages.size(); ++i) {
      const Message& m = messages[i];
      if (!sent[i] || !begun(m, round == 0)) continue;
      MPI_Request* request = &requests[2 * i + 1];
      if (round == 0) start_send(step, m, *sent[i], request);
      if (m.persistent) step.ok(MPI_Start(request), "MPI_Start");
    }
    complete(step, requests, statuses);
    for (size_t i = 0; i < messages.size(); ++i) {
      if (!received[i] || !begun(messages[i], round == 0)) continue;
      step.see("status", statuses[2 * i], received[i]->type());
      step.see("received", *received[i]);
      received[i]->fill(step.mine.next(), Values::raw);
    }
    for (auto& buffer : sent) {
      if (buffer) step.see("sent", *buffer);
      if (buffer) buffer->fill(step.mine.next(), Values::raw);
    }
  }
  for (MPI_Request& request : requests) {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

void receive(Step& step, const Message& m, Buffer& b) {
  const int source = m.any_source ? MPI_ANY_SOURCE : m.from;
  const int tag = m.any_tag ? MPI_ANY_TAG : m.tag;
  const int way = step.mine.below(6);
  MPI_Status status, probed;
  MPI_Message message = MPI_MESSAGE_NULL;
  int found = 0;
  step.say("received by way %d", way);
  switch (way) {
    case 0:
      step.ok(MPI_Probe(source, tag, step.comm, &probed), "MPI_Probe");
      break;
    case 1:
      while (!found) {
        if (!step.ok(MPI_Iprobe(source, tag, step.comm, &found, &probed), "MPI_Iprobe")) break;
      }
      break;
    case 2:
      step.ok(MPI_Mprobe(source, tag, step.comm, &message, &probed), "MPI_Mprobe");
      break;
    case 3:
      while (!found) {
        if (!step.ok(MPI_Improbe(source, tag, step.comm, &found, &message, &probed), "MPI_Improbe"))
          break;
      }
      break;
    default:
      step.ok(MPI_Recv(b.at(), b.count, b.type(), source, tag, step.comm, &status), "MPI_Recv");
  }
  if (way < 4) step.see("probed", probed, b.type());
  if (way < 2) {
    step.ok(
        MPI_Recv(b.at(), b.count, b.type(), probed.MPI_SOURCE, probed.MPI_TAG, step.comm, &status),
        "MPI_Recv");
  } else if (way == 2) {
    step.ok(MPI_Mrecv(b.at(), b.count, b.type(), &message, &status), "MPI_Mrecv");
  } else if (way == 3) {
    MPI_Request request;
    step.ok(MPI_Imrecv(b.at(), b.count, b.type(), &message, &request), "MPI_Imrecv");
    step.ok(MPI_Wait(&request, &status), "MPI_Wait");
  }
  if (way == 2 || way == 3) step.see("message left", message != MPI_MESSAGE_NULL);
  // The standard leaves the number of elements in a pair open.
  int elements = -1;
  if (peer::kNoElementsOfStructs && m.signature.size() > 1) step.skip("MPI_Get_elements");
  if (!has_pairs(m.signature) && step.skipped().empty())
    MPI_Get_elements(&status, b.type(), &elements);
  step.see("elements", elements == MPI_UNDEFINED ? -2 : elements);
  step.see("status", status, b.type());
  step.see("received", b);
}

void in_turn(Step& step) {
  if (step.size == 1) return;
  const std::vector<Message> messages = any_messages(step, false);
  Attached attached(bytes_buffered(messages));
  for (size_t i = 0; i < messages.size(); ++i) {
    Message m = messages[i];
    // The receiver may not have posted the receive yet.
    if (m.mode == ready) m.mode = standard;
    describe(step, m, i);
    if (m.from == step.rank) {
      using Call = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
      static const Call kCalls[] = {MPI_Send, MPI_Ssend, MPI_Bsend};
      auto b = side(step, "send", m.signature, m.count, 0);
      step.ok(kCalls[m.mode](b->at(), b->count, b->type(), m.to, m.tag, step.comm), "send");
    }
    if (m.to == step.rank) {
      auto b = side(step, "receive", m.signature, m.count, step.mine.below(3));
      receive(step, m, *b);
    }
  }
}

void sendrecv(Step& step) {
  std::vector<int> next(static_cast<size_t>(step.size));
  for (size_t i = 0; i < next.size(); ++i) next[i] = static_cast<int>(i);
  step.all.shuffle(next);
  const bool open = step.all.one_in(4);
  int to = next[static_cast<size_t>(step.rank)], from = -1;
  for (int i = 0; i < step.size; ++i) {
    if (next[static_cast<size_t>(i)] == step.rank) from = i;
  }
  if (open) {
    to = step.rank + 1 < step.size ? step.rank + 1 : MPI_PROC_NULL;
    from = step.rank > 0 ? step.rank - 1 : MPI_PROC_NULL;
  }
  const int way = step.all.below(4), tag = step.tags + step.all.below(1000);
  const bool wild = !open && step.all.one_in(4);
  const Signature signature = any_signature(step.all);
  const int items = any_count(step.all, signature, 2);
  auto out = side(step, "send", signature, items, 0),
       in = side(step, "receive", signature, items, 0);
  if (step.verbose()) {
    step.say("way %d: to %d, from %d, %d * (%s)", way, to, from, items, text_of(signature).c_str());
  }
  const int source = wild ? MPI_ANY_SOURCE : from, wanted = wild ? MPI_ANY_TAG : tag;
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  if (way == 0) {
    step.ok(MPI_Sendrecv(out->at(), out->count, out->type(), to, tag, in->at(), in->count,
                         in->type(), source, wanted, step.comm, &status),
            "MPI_Sendrecv");
  } else if (way == 1) {
    step.ok(MPI_Sendrecv_replace(in->at(), in->count, in->type(), to, tag, source, wanted,
                                 step.comm, &status),
            "MPI_Sendrecv_replace");
  } else if (way == 2) {
    step.ok(MPI_Isendrecv(out->at(), out->count, out->type(), to, tag, in->at(), in->count,
                          in->type(), source, wanted, step.comm, &request),
            "MPI_Isendrecv");
  } else {
    step.ok(MPI_Isendrecv_replace(in->at(), in->count, in->type(), to, tag, source, wanted,
                                  step.comm, &request),
            "MPI_Isendrecv_replace");
  }
  if (way >= 2) step.ok(MPI_Wait(&request, &status), "MPI_Wait");
  // The status of a send-receive belongs to the receive.
  if (way >= 2 && peer::kNoStatusOfIsendrecv) step.skip("the status of MPI_Isendrecv");
  step.see("status", status, in->type());
  step.see("received", *in);
  step.see("sent", *out);
  // A wildcard must not match the next message of a faster rank.
  if (wild) MPI_Barrier(step.comm);
}

}  // namespace

const Operation kPointToPoint[] = {
    {"exchange", exchange, 12}, {"in_turn", in_turn, 5}, {"sendrecv", sendrecv, 4}, {}};

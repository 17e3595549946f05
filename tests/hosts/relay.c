// SPDX-License-Identifier: Apache-2.0
// A link with delays, reordering, losses and a rate: passes frames between two interfaces, impaired
// from the first to the second, unchanged in the other direction.
// usage: relay FROM TO DELAY_US JITTER_US REORDER_PERCENT LOSS_PERCENT BYTES_PER_SECOND (0: no
// limit)
// Why: not every kernel has netem, and a network without losses proves little. A frame is the
// kernel's unit: with offloads on up to 64 KiB of a stream, as in netem.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kLargest = 128 << 10, kQueued = 10000 };

// Waiting frames are ordered by departure.
struct Frame {
  struct Frame* next;
  int64_t due;  // ns
  size_t bytes;
  char data[];
};
static struct Frame* queue;
static int queued;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static double chance(void) { return random() / (RAND_MAX + 1.0); }

static int open_on(const char* name) {
  const int one = 1;
  struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
  struct packet_mreq all = {.mr_type = PACKET_MR_PROMISC};
  at.sll_ifindex = all.mr_ifindex = (int)if_nametoindex(name);
  const int fd = socket(AF_PACKET, SOCK_RAW, 0);
  // With PACKET_VNET_HDR a frame keeps the offloads: checksums not yet made, segments not yet cut.
  if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one) != 0 ||
      setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) != 0 ||
      setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0 ||
      bind(fd, (struct sockaddr*)&at, sizeof at) != 0) {
    perror(name);
    exit(1);
  }
  return fd;
}

// An oversized frame is lost, as on any link.
static void pass(int fd, const void* data, size_t bytes) {
  if (write(fd, data, bytes) < 0) return;
}

static void enqueue(const char* data, size_t bytes, int64_t due) {
  struct Frame *frame, **place = &queue;
  if (queued == kQueued || (frame = malloc(sizeof *frame + bytes)) == NULL) return;
  memcpy(frame->data, data, bytes);
  frame->bytes = bytes;
  frame->due = due;
  while (*place != NULL && (*place)->due <= due) place = &(*place)->next;
  frame->next = *place;
  *place = frame;
  ++queued;
}

static void send_due(int fd) {
  const int64_t time = now();
  while (queue != NULL && queue->due <= time) {
    struct Frame* const frame = queue;
    queue = frame->next;
    --queued;
    pass(fd, frame->data, frame->bytes);
    free(frame);
  }
}

int main(int argc, char** argv) {
  static char data[kLargest];
  int64_t last = 0;  // departure of the previous frame at this rate
  if (argc != 8) return 2;
  const int from = open_on(argv[1]), to = open_on(argv[2]);
  const double delay = atof(argv[3]) * 1e3, jitter = atof(argv[4]) * 1e3;
  const double reorder = atof(argv[5]) / 100, loss = atof(argv[6]) / 100, rate = atof(argv[7]);
  prctl(PR_SET_TIMERSLACK, 1);
  printf("up\n");
  fflush(stdout);
  for (;;) {
    struct pollfd events[2] = {{.fd = from, .events = POLLIN}, {.fd = to, .events = POLLIN}};
    int64_t left = queue == NULL ? 1000000000 : queue->due - now();
    if (left < 0) left = 0;
    const struct timespec limit = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    ppoll(events, 2, &limit, NULL);
    send_due(to);
    ssize_t bytes;
    if (events[1].revents & POLLIN && (bytes = read(to, data, sizeof data)) > 0)
      pass(from, data, (size_t)bytes);
    if (!(events[0].revents & POLLIN) || (bytes = read(from, data, sizeof data)) <= 0) continue;
    if (chance() < loss) continue;
    int64_t due = now();
    if (chance() >= reorder) due += (int64_t)(delay + jitter * (2 * chance() - 1));
    if (rate > 0) {
      if (last > due) due = last;
      due += (int64_t)(1e9 * ((double)bytes - sizeof(struct virtio_net_hdr)) / rate);
      last = due;
    }
    enqueue(data, (size_t)bytes, due);
  }
}

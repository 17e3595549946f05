// SPDX-License-Identifier: Apache-2.0
// SocketWatch. A silent host needs another machine: tests/hosts/lost.sh.
#include "btl/net/sockets.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace tern::btl::net {
namespace {

constexpr int64_t kTick = 1'000'000'000;

struct Connection {
  Connection() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &bytes), 0);
    out = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(out, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    in = ::accept(listener, nullptr, nullptr);
    ::close(listener);
    address.assign(reinterpret_cast<const char*>(&at), sizeof at);
  }
  ~Connection() {
    ::close(out);
    ::close(in);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  int out = -1, in = -1;
  std::string address;
};

TEST(SocketWatchTest, FindsConnectionsByAddress) {
  const Connection one, other;
  SocketWatch watch(kTick / 1000);
  EXPECT_EQ(watch.look(kTick), 0);
  watch.add(one.address);
  watch.add("");
  EXPECT_EQ(watch.look(kTick), 2);  // both ends are here
  EXPECT_TRUE(watch.answers(one.address));
  EXPECT_FALSE(watch.is_silent(one.address));
}

TEST(SocketWatchTest, FindsConnectionsBehindNestedEpolls) {
  const Connection one;
  const int outer = ::epoll_create1(0), inner = ::epoll_create1(0);
  epoll_event event{};
  ASSERT_EQ(::epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event), 0);
  ASSERT_EQ(::epoll_ctl(inner, EPOLL_CTL_ADD, one.out, &event), 0);
  SocketWatch watch(kTick / 1000);
  EXPECT_EQ(watch.look_below(outer, kTick), 1);
  ::close(inner);
  ::close(outer);
}

TEST(SocketWatchTest, AFullSocketOfAnAnsweringHostLives) {
  const Connection one;
  const std::vector<char> bytes(1 << 16);
  while (::send(one.out, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
  ASSERT_EQ(errno, EAGAIN);
  SocketWatch watch(1000);
  watch.add(one.address);
  for (int64_t now = kTick; now < 1000 * kTick; now += kTick) {
    ASSERT_EQ(watch.look(now), 2);
    ASSERT_FALSE(watch.has_ended()) << now;
  }
  int limit_ms = -1;
  socklen_t size = sizeof limit_ms;
  ASSERT_EQ(::getsockopt(one.out, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, &size), 0);
  EXPECT_EQ(limit_ms, 0);
}

}  // namespace
}  // namespace tern::btl::net

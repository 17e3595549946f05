// SPDX-License-Identifier: Apache-2.0
// The door of mpirun takes whole requests only, and tells reasons to callers that wait. The loop
// forgets the timers of one owner.
#include "tools/mpirun/door.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tern::mpirun {
namespace {

class DoorTest : public ::testing::Test {
 protected:
  Fd call() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    door.name().copy(address.sun_path + 1, sizeof address.sun_path - 1);
    Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    const auto length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + door.name().size());
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    return socket;
  }
  static void send(const Fd& socket, const std::string& text) {
    EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  static std::string framed(const std::string& text) {
    const uint64_t length = text.size();
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
  }
  void run(double seconds = 0.05) {
    loop.after(seconds, [this] { loop.stop(); });
    loop.run();
  }

  Loop loop;
  std::vector<std::string> requests;
  std::shared_ptr<Caller> last;
  Door door{loop, [this](std::shared_ptr<Caller> caller, const std::string& request) {
              requests.push_back(request);
              last = std::move(caller);
            }};
};

TEST_F(DoorTest, ARequestInParts) {
  const Fd caller = call();
  const std::string text = framed(std::string(200000, 'x'));
  loop.after(0.01, [&] { send(caller, text.substr(0, 5)); });
  loop.after(0.02, [&] { send(caller, text.substr(5, 100000)); });
  loop.after(0.03, [&] {
    EXPECT_TRUE(requests.empty());
    send(caller, text.substr(100005));
  });
  run(0.3);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0], std::string(200000, 'x'));
}

TEST_F(DoorTest, CutAndEndlessRequestsAreNone) {
  {
    const Fd cut = call();
    send(cut, framed("hello").substr(0, 10));
  }
  const Fd endless = call(), silent = call();
  send(endless, std::string(24, '\377'));
  Fd good;
  loop.after(0.02, [&] {
    EXPECT_TRUE(requests.empty());
    good = call();
    send(good, framed("good"));
  });
  run();
  EXPECT_EQ(requests, std::vector<std::string>{"good"});
}

TEST_F(DoorTest, ACallerHearsAReason) {
  const Fd caller = call();
  send(caller, framed("x"));
  run();
  ASSERT_NE(last, nullptr);
  EXPECT_TRUE(last->waits());
  EXPECT_TRUE(last->tell("why"));
  char answer[32];
  EXPECT_EQ(::recv(caller.get(), answer, sizeof answer, 0), 11);
  EXPECT_EQ(std::string(answer + 8, 3), "why");
  EXPECT_FALSE(last->waits());
  EXPECT_FALSE(last->tell("again"));
}

TEST_F(DoorTest, ACallerThatHasHungUp) {
  {
    const Fd caller = call();
    send(caller, framed("x"));
  }
  run();
  ASSERT_NE(last, nullptr);
  EXPECT_FALSE(last->waits());
  EXPECT_FALSE(last->tell("why"));
}

TEST(Loop, ForgetsTheTimersOfOneOwner) {
  Loop loop;
  int rings = 0;
  const int one = 1, other = 2;
  loop.after(0.01, &one, [&] { rings += 1; });
  loop.after(0.01, &other, [&] { rings += 10; });
  loop.after(0.01, [&] { rings += 100; });
  loop.forget_timers(&one);
  loop.after(0.03, [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(rings, 110);
}

}  // namespace
}  // namespace tern::mpirun

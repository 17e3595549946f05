// SPDX-License-Identifier: Apache-2.0
// Networks in UCX's descriptions of endpoints and contexts.
#include "btl/ucx/lanes.hpp"

#include <gtest/gtest.h>

namespace tern::btl::ucx {
namespace {

TEST(UcxLanes, OfAnEndpoint) {
  const Lanes lanes = lanes_in(
      "#               peer: <no debug data>\n"
      "#                 lane[0]:  2:rc_mlx5/mlx5_0:1.0 md[1]      -> md[1]/ib/sysdev[255] am "
      "am_bw#0\n"
      "#                 lane[1]:  7:rc_mlx5/mlx5_1:1.0 md[2]      -> md[2]/ib/sysdev[255] "
      "am_bw#1\n"
      "#                 lane[2]:  7:rc_mlx5/mlx5_1:1.1 md[2]      -> md[2]/ib/sysdev[255] "
      "am_bw#2\n"
      "#                 lane[3]:  1:tcp/eth0.0 md[0]              -> md[0]/tcp/sysdev[255]\n"
      "#                tag_send: 0..<egr/short>..230..<egr/bcopy>..8246\n");
  EXPECT_TRUE(lanes.rdma);
  EXPECT_TRUE(lanes.sockets);
  EXPECT_FALSE(lanes.datagrams);
  EXPECT_EQ(lanes.words(), "rc_mlx5 over mlx5_0:1 and mlx5_1:1, tcp over eth0, 3 rails");
}

// The texts are UCX 1.13's.
TEST(UcxLanes, KindsOfTransport) {
  const Lanes tcp = lanes_in(
      "#     lane[0]:  1:tcp/lo.0 md[0]    -> md[0]/tcp/sysdev[255] am am_bw#0 keepalive wireup\n");
  EXPECT_TRUE(tcp.sockets);
  EXPECT_FALSE(tcp.rdma || tcp.datagrams);
  EXPECT_EQ(tcp.words(), "tcp over lo");
  const Lanes rc = lanes_in(
      "# lane[0]:  2:rc_verbs/rxe0:1.0 md[1]  -> md[1]/ib/sysdev[255] am am_bw#0\n"
      "# lane[1]:  3:ud_verbs/rxe0:1.0 md[1]  -> md[1]/ib/sysdev[255] wireup\n");
  EXPECT_TRUE(rc.rdma && rc.datagrams);
  EXPECT_FALSE(rc.sockets);
  EXPECT_EQ(rc.words(), "rc_verbs over rxe0:1, ud_verbs over rxe0:1");
  EXPECT_EQ(lanes_in("").words(), "");
}

TEST(UcxLanes, OfAContext) {
  const Lanes lanes = lanes_in(
      "#            md 0  :  component 2  rxe0 \n"
      "#      resource 0  :  md 0  dev 0  flags -- rc_verbs/rxe0:1\n"
      "#      resource 1  :  md 0  dev 0  flags a- ud_verbs/rxe0:1\n");
  EXPECT_EQ(lanes.names, (std::vector<std::string>{"rc_verbs/rxe0:1", "ud_verbs/rxe0:1"}));
  EXPECT_TRUE(lanes.rdma);
  EXPECT_TRUE(lanes.datagrams);
  EXPECT_EQ(lanes.words(), "rc_verbs over rxe0:1, ud_verbs over rxe0:1");
}

}  // namespace
}  // namespace tern::btl::ucx

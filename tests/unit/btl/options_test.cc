// SPDX-License-Identifier: Apache-2.0
// Parameters of networks as variables of UCX and libfabric.
#include "btl/net/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace tern::btl::net {
namespace {

const Served kUcx{"ucx", 119}, kOldUcx{"ucx", 113}, kUcxOverTcp{"ucx", 119, true};
const Served kVerbs{"verbs;ofi_rxm", 117}, kTcp{"tcp", 118, true}, kOpx{"opx", 121};
const Served kOldOpx{"opx", 120}, kPsm3{"psm3", 117}, kCxi{"cxi", 200}, kEfa{"efa", 200};

Params with(const char* name, const char* value) {
  Params params;
  params.set(name, value);
  return params;
}

std::string value_in(const std::vector<Option>& options, const std::string& name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option& one) { return one.name == name; });
  return found == options.end() ? "" : found->value;
}

std::string value_for(const Params& params, const Served& served, const std::string& name) {
  return value_in(options_for(params, served), name);
}

enum class Answer : uint8_t { kSilent, kRemark, kError };
Answer answer(const Params& params, const Served& served) {
  try {
    return remarks_on(params, served).empty() ? Answer::kSilent : Answer::kRemark;
  } catch (const Error&) {
    return Answer::kError;
  }
}

TEST(NetOptions, RailsCarryFramesMessagesAndPuts) {
  const Params two = with("TERN_NET_RAILS", "2");
  for (const Served& served : {kUcx, kUcxOverTcp}) {
    EXPECT_EQ(value_for(two, served, "UCX_MAX_EAGER_RAILS"), "2");
    EXPECT_EQ(value_for(two, served, "UCX_MAX_RNDV_RAILS"), "2");
    EXPECT_EQ(value_for(two, served, "UCX_MAX_RMA_RAILS"), "2");
    EXPECT_EQ(answer(two, served), Answer::kSilent);
  }
  EXPECT_EQ(value_for(two, kOldUcx, "UCX_MAX_EAGER_RAILS"), "2");
  EXPECT_EQ(value_for(two, kOldUcx, "UCX_MAX_RMA_RAILS"), "");
  EXPECT_EQ(value_for(Params(), kUcx, "UCX_MAX_EAGER_RAILS"), "");
  EXPECT_EQ(answer(two, kVerbs), Answer::kRemark);
  EXPECT_EQ(answer(two, kTcp), Answer::kRemark);
}

TEST(NetOptions, ConnectionsAreUcxsTransports) {
  EXPECT_EQ(value_for(Params(), kUcx, "UCX_TLS"), "^sm,self");
  EXPECT_EQ(value_for(Params(), kUcx, "UCX_RC_MAX_NUM_EPS"), "");
  const Params rc = with("TERN_NET_CONNECTIONS", "rc"), dc = with("TERN_NET_CONNECTIONS", "dc");
  const Params ud = with("TERN_NET_CONNECTIONS", "ud");
  EXPECT_EQ(value_for(rc, kUcx, "UCX_TLS"), "^sm,self,dc_mlx5");
  EXPECT_EQ(value_for(rc, kUcx, "UCX_RC_MAX_NUM_EPS"), "inf");
  EXPECT_EQ(value_for(dc, kUcx, "UCX_TLS"), "^sm,self,rc_verbs,rc_mlx5");
  EXPECT_EQ(value_for(ud, kUcx, "UCX_TLS"), "^sm,self,rc_verbs,rc_mlx5,dc_mlx5");
  EXPECT_EQ(answer(dc, kUcx), Answer::kSilent);
  EXPECT_EQ(answer(rc, kUcxOverTcp), Answer::kRemark);
  EXPECT_EQ(answer(rc, kVerbs), Answer::kSilent);
  EXPECT_EQ(answer(dc, kVerbs), Answer::kRemark);
  EXPECT_EQ(answer(Params(), kTcp), Answer::kSilent);
}

TEST(NetOptions, AMissingPartitionIsAnError) {
  const Params key = with("TERN_NET_PKEY", "0x8001");
  EXPECT_EQ(value_for(key, kUcx, "UCX_IB_PKEY"), "0x1");
  EXPECT_EQ(value_for(with("TERN_NET_PKEY", "0xffff"), kUcx, "UCX_IB_PKEY"), "0x7fff");
  EXPECT_EQ(value_for(key, kOpx, "FI_OPX_PKEY"), "0x8001");
  EXPECT_EQ(value_for(with("TERN_NET_PKEY", "0x22"), kOpx, "FI_OPX_PKEY"), "0x8022");
  EXPECT_EQ(value_for(key, kOldOpx, "FI_OPX_PKEY"), "");
  EXPECT_EQ(value_for(key, kPsm3, "PSM3_PKEY"), "0x1");
  EXPECT_EQ(answer(key, kUcx), Answer::kSilent);
  for (const Served& served : {kUcxOverTcp, kVerbs, kTcp, kOldOpx, kCxi, kEfa})
    EXPECT_EQ(answer(key, served), Answer::kError) << served.network;
}

TEST(NetOptions, TheGidIsUcxs) {
  const Params gid = with("TERN_NET_GID", "0");
  EXPECT_EQ(value_for(gid, kUcx, "UCX_IB_GID_INDEX"), "0");
  EXPECT_EQ(value_for(Params(), kUcx, "UCX_IB_GID_INDEX"), "");
  EXPECT_EQ(value_for(gid, kUcxOverTcp, "UCX_IB_GID_INDEX"), "");
  EXPECT_EQ(answer(gid, kUcxOverTcp), Answer::kRemark);
  EXPECT_EQ(answer(gid, kVerbs), Answer::kError);
}

TEST(NetOptions, ServiceLevels) {
  const Params level = with("TERN_NET_SERVICE_LEVEL", "3");
  EXPECT_EQ(value_for(level, kUcx, "UCX_IB_SL"), "3");
  EXPECT_EQ(value_for(level, kOpx, "FI_OPX_SL"), "3");
  EXPECT_EQ(value_for(level, kPsm3, "PSM3_NIC_SL"), "3");
  EXPECT_EQ(answer(level, kCxi), Answer::kError);
  EXPECT_EQ(answer(level, kTcp), Answer::kRemark);
}

TEST(NetOptions, ATrafficClassIsANumberForUcxAndAWordForLibfabric) {
  const Params number = with("TERN_NET_TRAFFIC_CLASS", "104");
  EXPECT_EQ(value_for(number, kUcx, "UCX_IB_TRAFFIC_CLASS"), "104");
  EXPECT_EQ(traffic_word(number), 0U);
  EXPECT_EQ(answer(number, kCxi), Answer::kError);
  const Params bulk = with("TERN_NET_TRAFFIC_CLASS", "bulk-data");
  const Params low = with("TERN_NET_TRAFFIC_CLASS", "low-latency");
  EXPECT_EQ(value_for(bulk, kUcx, "UCX_IB_TRAFFIC_CLASS"), "");
  EXPECT_EQ(answer(bulk, kUcx), Answer::kError);
  EXPECT_EQ(answer(bulk, kUcxOverTcp), Answer::kRemark);
  EXPECT_EQ(answer(bulk, kCxi), Answer::kSilent);
  EXPECT_EQ(answer(bulk, kEfa), Answer::kError);
  EXPECT_EQ(answer(low, kEfa), Answer::kSilent);
  EXPECT_EQ(traffic_word(low), 2U);
  EXPECT_EQ(traffic_word(bulk), 4U);
}

TEST(NetOptions, LibfabricReadsTheVariablesOfAllProvidersBeforeTheChoice) {
  Params params = with("TERN_NET_PKEY", "1");
  params.set("TERN_NET_CACHE", "1m");
  const std::vector<Option> all = options_for_libfabric(params);
  EXPECT_EQ(value_in(all, "FI_OPX_PKEY"), "0x8001");
  EXPECT_EQ(value_in(all, "PSM3_PKEY"), "0x1");
  EXPECT_EQ(value_in(all, "FI_MR_CACHE_MAX_SIZE"), "1048576");
  EXPECT_EQ(value_in(all, "UCX_TLS"), "");
}

TEST(NetOptions, ErrorsAndRemarksNameParameterNetworkAndCure) {
  try {
    (void)remarks_on(with("TERN_NET_PKEY", "0x8001"), kOldOpx);
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("TERN_NET_PKEY=0x8001: libfabric's provider opx (1.20) has the setting "
                        "since 1.21; unset TERN_NET_PKEY"),
              std::string::npos)
        << text;
  }
  EXPECT_EQ(remarks_on(with("TERN_NET_GID", "3"), kUcxOverTcp),
            std::vector<std::string>{
                "TERN_NET_GID=3 has no effect: UCX over TCP (1.19) has no such setting"});
}

TEST(NetOptions, FactsAreTheUsersVariablesFirst) {
  Params params = with("TERN_NET_GID", "3");
  params.set("TERN_NET_PKEY", "0xffff");
  EXPECT_EQ(facts_in_words(params, kUcx), ", P_Key 0x7fff, GID 3");
  EXPECT_EQ(facts_in_words(params, kUcxOverTcp), "");
  ::setenv("UCX_IB_GID_INDEX", "1", 1);
  EXPECT_EQ(facts_in_words(params, kUcx), ", P_Key 0x7fff, GID 1");
  EXPECT_EQ(in_words(options_for(params, kUcx)).find("GID"), std::string::npos);
  ::unsetenv("UCX_IB_GID_INDEX");
  EXPECT_EQ(facts_in_words(with("TERN_NET_TRAFFIC_CLASS", "bulk-data"), kCxi),
            ", traffic class bulk-data");
}

}  // namespace
}  // namespace tern::btl::net

// SPDX-License-Identifier: Apache-2.0
// Addresses that ranks publish: in the connection info, or under separate keys.
#include "btl/connection_info.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "boot/fake.hpp"
#include "btl/address_book.hpp"
#include "btl/sm/segment.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"

namespace tern::btl {
namespace {

using Found = ConnectionInfo::Found;

TEST(ConnectionInfo, AddressesAreFoundByTransportAndChannel) {
  ConnectionInfo info{};
  EXPECT_TRUE(info.add("sm", 0, "here"));
  EXPECT_TRUE(info.add("ucx", 0, ""));
  EXPECT_TRUE(info.add_elsewhere("ofi"));
  std::string address = "old";
  EXPECT_EQ(info.find("sm", 0, &address), Found::kHere);
  EXPECT_EQ(address, "here");
  EXPECT_EQ(info.find("ucx", 0, &address), Found::kHere);
  EXPECT_EQ(address, "");
  EXPECT_EQ(info.find("ofi", 3, &address), Found::kElsewhere);
  EXPECT_EQ(info.find("ucx", 1, &address), Found::kNowhere);
  EXPECT_EQ(info.find("s", 0, &address), Found::kNowhere);
  EXPECT_EQ(info.find("", 0, &address), Found::kNowhere);
}

TEST(ConnectionInfo, WhatDoesNotFitChangesNothing) {
  ConnectionInfo info{};
  const std::string longest(ConnectionInfo::kLongest - 8, 'x');
  EXPECT_FALSE(info.add("sm", 0, std::string(ConnectionInfo::kLongest + 1, 'x')));
  EXPECT_FALSE(info.add("toolong", 0, "x"));
  EXPECT_FALSE(info.add("sm", 256, "x"));
  EXPECT_EQ(info.used, 0U);
  EXPECT_TRUE(info.add("sm", 0, longest));
  EXPECT_TRUE(info.add("sm", 1, longest));
  EXPECT_FALSE(info.add("sm", 2, "x"));
  EXPECT_TRUE(info.add_elsewhere("ucx"));
  EXPECT_TRUE(info.add_elsewhere("ofi"));
  EXPECT_FALSE(info.add_elsewhere("sm"));
  std::string address;
  EXPECT_EQ(info.find("sm", 1, &address), Found::kHere);
  EXPECT_EQ(address, longest);
}

TEST(ConnectionInfo, RandomBytesAreReadWithinBounds) {
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    const auto info = std::make_unique<ConnectionInfo>();
    auto* bytes = reinterpret_cast<unsigned char*>(info.get());
    for (size_t i = 0; i < sizeof *info; ++i)
      bytes[i] = static_cast<unsigned char>(random() % (round % 2 == 0 ? 256 : 4));
    std::string address;
    (void)info->find("", 0, &address);
    EXPECT_LE(address.size(), info->addresses.size());
  }
}

TEST(AddressBook, TheConnectionInfoHasRoomForEveryTransport) {
  constexpr uint32_t kChannels = core::Process::kMostChannels;
  for (size_t bytes = 1; bytes <= 64; ++bytes) {
    const boot::FakeJob job(2);
    const auto here = job.boot(0), there = job.boot(1);
    core::Process process;
    process.boot = there.get();
    AddressBook theirs(process);
    ConnectionInfo info = theirs.own();
    info.channels = kChannels;
    const auto address = [&](char of, uint32_t channel) {
      return std::string(channel + 1 == kChannels ? 1 : bytes, static_cast<char>(of + channel));
    };
    theirs.list(info, "sm", 0, std::string(sizeof(sm::SmAddress), 's'));
    for (uint32_t channel = 0; channel < kChannels; ++channel) {
      ASSERT_NO_THROW(theirs.list(info, "ofi", channel, address('a', channel))) << bytes;
      ASSERT_NO_THROW(theirs.list(info, "ucx", channel, address('A', channel))) << bytes;
    }
    there->put_connection_info(boot::connection_info_of(info));
    core::Process own;
    own.boot = here.get();
    AddressBook book(own);
    const core::Peer peer{1, 0, 1};
    std::thread fence([&] { there->fence(); });
    here->fence();
    fence.join();
    for (uint32_t channel = 0; channel < kChannels; ++channel) {
      EXPECT_EQ(book.address(peer, "ofi", channel), address('a', channel)) << bytes;
      EXPECT_EQ(book.address(peer, "ucx", channel), address('A', channel)) << bytes;
    }
  }
}

TEST(AddressBook, LongAddressesHaveKeysOfTheirOwn) {
  const boot::FakeJob job(2);
  const auto here = job.boot(0), there = job.boot(1);
  core::Process process;
  process.boot = there.get();
  AddressBook theirs(process);
  ConnectionInfo info = theirs.own();
  const std::string address(300, 'a');
  theirs.list(info, "ucx", 0, address);
  theirs.list(info, "ucx", 1, std::string(90, 'b'));
  theirs.list(info, "sm", 0, "c");
  there->put_connection_info(boot::connection_info_of(info));
  core::Process own;
  own.boot = here.get();
  AddressBook book(own);
  const core::Peer peer{1, 0, 1};
  std::thread fence([&] { there->fence(); });
  here->fence();
  fence.join();
  EXPECT_EQ(book.address(peer, "ucx", 0), address);
  EXPECT_EQ(book.address(peer, "ucx", 1), std::string(90, 'b'));
  EXPECT_EQ(book.address(peer, "sm", 0), "c");
  EXPECT_EQ(book.address(peer, "ofi", 0), "");
  EXPECT_THROW((void)book.address(peer, "ucx", 2), Error) << "the address was not published";
  EXPECT_EQ(book.address_as<char>(peer, "sm", 0), 'c');
  EXPECT_THROW((void)book.address_as<int>(peer, "sm", 0), Error);
}

// Equal graphs of different files agree; a rank without a graph differs from one with.
TEST(AddressBook, GraphsOfTheTopologyMustBeEqual) {
  for (const uint64_t mine : {0, 5, 6})
    for (const uint64_t others : {0, 5, 6}) {
      const boot::FakeJob job(2);
      const auto here = job.boot(0), there = job.boot(1);
      core::Process own, other;
      own.boot = here.get();
      other.boot = there.get();
      own.params.content = mine << 32;
      other.params.content = others << 32;
      own.params.topology = mine == 0 ? "" : "mine.topo";
      other.params.topology = others == 0 ? "" : "others.topo";
      there->put_connection_info(boot::connection_info_of(AddressBook(other).own()));
      std::thread fence([&] { there->fence(); });
      here->fence();
      fence.join();
      AddressBook book(own);
      std::string fault;
      try {
        (void)book.of(core::Peer{1, 0, 1});
      } catch (const Error& error) {
        fault = error.what();
      }
      EXPECT_EQ(fault.empty(), mine == others) << fault;
      if (fault.empty()) continue;
      EXPECT_NE(fault.find("rank 1 and this rank differ in the content"), std::string::npos)
          << fault;
      EXPECT_NE(
          fault.find(mine == 0 ? "TERN_TOPOLOGY (here none)" : "TERN_TOPOLOGY (here mine.topo)"),
          std::string::npos)
          << fault;
    }
}

TEST(AddressBook, MoreAddressesThanRoomAreAnError) {
  const boot::FakeJob job(1);
  const auto boot = job.boot(0);
  core::Process process;
  process.boot = boot.get();
  AddressBook book(process);
  ConnectionInfo info = book.own();
  for (uint32_t channel = 0; channel < 14; ++channel) book.list(info, "sm", channel, "");
  EXPECT_NO_THROW(book.list(info, "ofi", 0, "x"));
  EXPECT_THROW(book.list(info, "ucx", 0, "x"), Error);
}

TEST(AddressBook, EveryTransportHasRoomForTheChannelsOfAProcess) {
  const boot::FakeJob job(1);
  const auto boot = job.boot(0);
  core::Process process;
  process.boot = boot.get();
  AddressBook book(process);
  ConnectionInfo info = book.own();
  book.list(info, "sm", 0, std::string(40, 'x'));
  for (const char* transport : {"ucx", "ofi", "more", "still"})
    for (uint32_t channel = 0; channel < core::Process::kMostChannels; ++channel)
      EXPECT_NO_THROW(book.list(info, transport, channel, std::string(90, 'y')));
}

}  // namespace
}  // namespace tern::btl

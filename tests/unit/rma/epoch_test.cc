// SPDX-License-Identifier: Apache-2.0
// The legal order of calls on a window.
#include "rma/epoch.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::rma {
namespace {

using Access = Epoch::Access;

void call(const char* name) { core::current_call.call = name; }

std::string refused(int code) {
  EXPECT_EQ(code, MPI_ERR_RMA_SYNC);
  return take_last_error().text;
}

bool names(const std::string& text, const char* what) {
  return text.find(what) != std::string::npos;
}

TEST(Epoch, NothingIsReachedWithoutOne) {
  Epoch epoch(2);
  EXPECT_TRUE(names(refused(epoch.use(1)), "no access epoch is open to rank 1"));
  EXPECT_TRUE(names(refused(epoch.may_unlock(1)), "MPI_Win_lock"));
  EXPECT_TRUE(names(refused(epoch.may_complete()), "MPI_Win_start"));
  EXPECT_TRUE(names(refused(epoch.may_wait()), "MPI_Win_post"));
  EXPECT_TRUE(names(refused(epoch.may_flush(0)), "MPI_Win_lock"));
  EXPECT_EQ(epoch.may_free(), MPI_SUCCESS);
}

TEST(Epoch, AFenceThatNothingUsedEndsByItself) {
  Epoch epoch(2);
  call("MPI_Win_fence");
  epoch.fenced(true);
  EXPECT_EQ(epoch.may_lock(1), MPI_SUCCESS);
  EXPECT_EQ(epoch.may_free(), MPI_SUCCESS);
  EXPECT_EQ(epoch.use(1), MPI_SUCCESS);
  EXPECT_TRUE(names(refused(epoch.may_lock(1)), "MPI_Win_fence"));
  EXPECT_TRUE(names(refused(epoch.may_free()), "MPI_Win_fence"));
  EXPECT_EQ(epoch.may_fence(), MPI_SUCCESS);
  epoch.fenced(false);
  EXPECT_TRUE(names(refused(epoch.use(1)), "ended by MPI_Win_fence"));
}

TEST(Epoch, LocksOfSeveralRanksNest) {
  Epoch epoch(3);
  call("MPI_Win_lock");
  EXPECT_EQ(epoch.may_lock(0), MPI_SUCCESS);
  epoch.locked(0, true);
  EXPECT_EQ(epoch.may_lock(2), MPI_SUCCESS);
  epoch.locked(2, false);
  EXPECT_TRUE(names(refused(epoch.may_lock(2)), "already locked"));
  EXPECT_EQ(epoch.use(0), MPI_SUCCESS);
  EXPECT_TRUE(names(refused(epoch.use(1)), "MPI_Win_lock"));
  EXPECT_TRUE(names(refused(epoch.may_fence()), "end the epoch with MPI_Win_unlock"));
  EXPECT_TRUE(names(refused(epoch.may_begin_access()), "MPI_Win_lock"));
  EXPECT_EQ(epoch.may_request(0), MPI_SUCCESS);
  EXPECT_EQ(epoch.reach(0), Epoch::Reach::kExclusive);
  call("MPI_Win_unlock");
  epoch.unlocked(0);
  EXPECT_TRUE(names(refused(epoch.may_unlock(0)), "MPI_Win_lock"));
  epoch.unlocked(2);
  EXPECT_EQ(epoch.access(), Access::kNone);
  EXPECT_TRUE(names(refused(epoch.may_unlock(2)), "MPI_Win_unlock"));
}

TEST(Epoch, ActiveEpochsTakeNoRequests) {
  Epoch epoch(2);
  call("MPI_Win_start");
  epoch.begin(Access::kStart);
  epoch.set_reach(1, Epoch::Reach::kStarted);
  EXPECT_EQ(epoch.use(1), MPI_SUCCESS);
  EXPECT_TRUE(names(refused(epoch.use(0)), "not in the group"));
  EXPECT_TRUE(names(refused(epoch.may_request(1)), "MPI_Win_start"));
  EXPECT_TRUE(names(refused(epoch.may_flush()), "MPI_Win_start"));
  EXPECT_EQ(epoch.may_complete(), MPI_SUCCESS);
  epoch.end_access();
  EXPECT_EQ(epoch.reach(1), Epoch::Reach::kNone);
}

TEST(Epoch, AnExposureEpochIsEndedByItsOwnCall) {
  Epoch epoch(2);
  call("MPI_Win_post");
  EXPECT_EQ(epoch.may_post(), MPI_SUCCESS);
  epoch.posted();
  EXPECT_TRUE(names(refused(epoch.may_post()), "end the epoch with MPI_Win_wait"));
  EXPECT_TRUE(names(refused(epoch.may_fence()), "MPI_Win_post"));
  EXPECT_TRUE(names(refused(epoch.may_free()), "MPI_Win_post"));
  EXPECT_EQ(epoch.may_begin_access(), MPI_SUCCESS);
  EXPECT_EQ(epoch.may_wait(), MPI_SUCCESS);
  epoch.end_exposure();
  EXPECT_EQ(epoch.may_free(), MPI_SUCCESS);
}

}  // namespace
}  // namespace tern::rma

// SPDX-License-Identifier: Apache-2.0
// Tags of the messages of a file, on the internal plane of its communicator.
#pragma once

namespace tern::io {

enum Tag : int {
  kCardTag = 1,      // Meeting
  kQuestionTag = 2,  // Service
  kClosedTag = 3,
  kWatchTag = 4,
  kAskTag = 5,      // HostExchange
  kGivenTag = 6,    // + the asking slot
  kBlocksTag = 15,  // OverlapCheck
  kFirstAnswerTag = 16,
};

}  // namespace tern::io

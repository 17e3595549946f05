// SPDX-License-Identifier: Apache-2.0
// Tags of the messages of a file's communicator, on the internal plane.
#pragma once

namespace tern::io {

enum Tag : int {
  kCardTag = 1,  // Meeting
  kQuestionTag,  // Service
  kClosedTag,
  kWatchTag,
  kAskTag,                   // HostExchange
  kAnswerTag = 16,           // and following: the asking slot
  kFirstReplyTag = 1 << 20,  // Service: kReplyTags tags
};
inline constexpr int kReplyTags = 1 << 20;

}  // namespace tern::io

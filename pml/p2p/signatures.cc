// SPDX-License-Identifier: Apache-2.0
// TERN_CHECK=types: compares the sender's signature with the receiver's.
#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "core/signature.hpp"
#include "pml/p2p/matcher.hpp"

namespace tern::pml {
namespace {

bool untyped(const core::Datatype& type) noexcept {
  const core::Datatype* basic = type.basic();
  return basic != nullptr && reinterpret_cast<MPI_Datatype>(basic->handle()) == MPI_PACKED;
}

}  // namespace

wire::TypeSignature signature_of(const Buffer& buffer) noexcept {
  const core::Signature one = core::signature_of(*buffer.type);
  const core::Signature all = core::repeated(one, static_cast<uint64_t>(buffer.count));
  wire::TypeSignature sent{all.hash, all.elements, untyped(*buffer.type) ? uint64_t{1} : 0, {}};
  const std::string words = core::in_words(*buffer.type, buffer.count);
  words.copy(sent.words, sizeof sent.words - 1);
  if (words.size() >= sizeof sent.words) std::memcpy(sent.words + sizeof sent.words - 4, "...", 4);
  return sent;
}

// Truncation has a separate error. The data is delivered even if the types differ.
void check_signature(RecvRequest& request, const PeerState& peer, const btl::Header& header,
                     const wire::TypeSignature* sent, size_t bytes) {
  const Buffer& buffer = request.buffer;
  if (TERN_LIKELY(sent == nullptr) || bytes > buffer.bytes()) return;
  if (sent->untyped != 0 || untyped(*buffer.type)) return;
  const core::Signature room = core::signature_prefix(*buffer.type, buffer.count, sent->elements);
  if (room == core::Signature{sent->hash, sent->elements}) return;
  request.outcome.error = MPI_ERR_TYPE;
  set_error_text(
      request,
      strf("rank %d sent %s with tag %d, but the receive is for %s: their basic types differ "
           "(TERN_CHECK=types)",
           source_of(request.from, peer, header), sent->words, header.tag,
           core::in_words(*buffer.type, buffer.count).c_str()));
}

}  // namespace tern::pml

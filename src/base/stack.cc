// SPDX-License-Identifier: Apache-2.0
// GCC's unwinder, which does not allocate here; names from libbacktrace, with memory from mmap.
#include "base/stack.hpp"

#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "base/log.hpp"
#include "tern_config.h"

#ifdef HAVE_LIBBACKTRACE
#include <backtrace.h>
#endif

// Demangles without malloc; libstdc++.so lacks the function.
extern "C" __attribute__((weak)) int __gcclibcxx_demangle_callback(
    const char* name, void (*text)(const char*, size_t, void*), void* to);

namespace tern {
namespace {

constexpr int kMostFrames = 64;

struct Frame {
  std::uintptr_t at;
  std::uintptr_t call;
};

struct Frames {
  Frame all[kMostFrames];
  int count = 0;
  bool more = false;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* data) {
  Frames& frames = *static_cast<Frames*>(data);
  int interrupted = 0;
  const std::uintptr_t at = _Unwind_GetIPInfo(context, &interrupted);
  if (at == 0) return _URC_END_OF_STACK;
  if (frames.count == kMostFrames) {
    frames.more = true;
    return _URC_END_OF_STACK;
  }
  frames.all[frames.count++] = {at, interrupted != 0 ? at : at - 1};
  return _URC_NO_REASON;
}

struct Name {
  char text[512] = {};
  size_t length = 0;
  void add(const char* part, size_t bytes) noexcept {
    const size_t room = std::min(bytes, sizeof text - 1 - length);
    std::memcpy(text + length, part, room);
    length += room;
    text[length] = '\0';
  }
};

Name readable(const char* name) noexcept {
  constexpr size_t kLongest = 1024;  // the demangler's stack grows with the name
  Name out;
  const auto add = [](const char* part, size_t bytes, void* to) {
    static_cast<Name*>(to)->add(part, bytes);
  };
  if (std::strncmp(name, "_Z", 2) == 0 && __gcclibcxx_demangle_callback != nullptr &&
      ::strnlen(name, kLongest) < kLongest && __gcclibcxx_demangle_callback(name, add, &out) != 0)
    return out;
  if (out.length == 0) out.add(name, std::strlen(name));
  return out;
}

const char* last_part(const char* path) noexcept {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// `number` also counts inlined functions.
struct Writer {
  int number = 0;
  std::uintptr_t call = 0;
  bool written = false;

  void line(const char* function, const char* file, int line_number) noexcept {
    log_line("  #%d %s at %s:%d", number++, readable(function).text, file, line_number);
    written = true;
  }

  void place(const char* symbol, std::uintptr_t symbol_at) noexcept {
    Dl_info info{};
    const bool known = ::dladdr(reinterpret_cast<void*>(call), &info) != 0;
    if (symbol == nullptr && known && info.dli_sname != nullptr) {
      symbol = info.dli_sname;
      symbol_at = reinterpret_cast<std::uintptr_t>(info.dli_saddr);
    }
    const char* file = known && info.dli_fname != nullptr ? info.dli_fname : "";
    const auto base = known ? reinterpret_cast<std::uintptr_t>(info.dli_fbase) : 0;
    if (symbol != nullptr)
      log_line("  #%d %s+0x%zx (%s+0x%zx)", number++, readable(symbol).text,
               static_cast<size_t>(call - symbol_at), last_part(file),
               static_cast<size_t>(call - base));
    else if (known)
      log_line("  #%d %s+0x%zx (addr2line -e %s 0x%zx)", number++, last_part(file),
               static_cast<size_t>(call - base), file, static_cast<size_t>(call - base));
    else
      log_line("  #%d 0x%zx, without code", number++, static_cast<size_t>(call));
    written = true;
  }
};

#ifdef HAVE_LIBBACKTRACE
void no_complaint(void*, const char*, int) {}

backtrace_state* symbols() noexcept {
  static backtrace_state* state = nullptr;
  if (state == nullptr) state = ::backtrace_create_state(nullptr, 1, no_complaint, nullptr);
  return state;
}

int on_line(void* data, std::uintptr_t, const char* file, int line, const char* function) {
  if (function != nullptr && file != nullptr)
    static_cast<Writer*>(data)->line(function, file, line);
  return 0;
}

void on_symbol(void* data, std::uintptr_t, const char* name, std::uintptr_t at, std::uintptr_t) {
  static_cast<Writer*>(data)->place(name, at);
}

void write_frame(Writer& writer) noexcept {
  backtrace_state* state = symbols();
  if (state == nullptr) return writer.place(nullptr, 0);
  ::backtrace_pcinfo(state, writer.call, on_line, no_complaint, &writer);
  if (!writer.written) ::backtrace_syminfo(state, writer.call, on_symbol, no_complaint, &writer);
  if (!writer.written) writer.place(nullptr, 0);
}
#else
void write_frame(Writer& writer) noexcept { writer.place(nullptr, 0); }
#endif

}  // namespace

void write_stack(std::uintptr_t from) noexcept {
  static Frames frames;  // static, because an overflowed stack may lack 1 KiB
  frames.count = 0;
  _Unwind_Backtrace(add_frame, &frames);
  const Frame* const end = frames.all + frames.count;
  const Frame* first = std::find_if(frames.all, frames.all + frames.count,
                                    [from](const Frame& frame) { return frame.at == from; });
  if (first == end) first = frames.all;
  Writer writer;
  for (; first != end; ++first) {
    writer.call = first->call;
    writer.written = false;
    write_frame(writer);
  }
  if (frames.more) log_line("  and more");
}

}  // namespace tern

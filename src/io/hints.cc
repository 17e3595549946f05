// SPDX-License-Identifier: Apache-2.0
#include "io/hints.hpp"

#include <fcntl.h>
#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "io/say_once.hpp"

namespace tern::io {
namespace {

enum class HintForm : uint8_t {
  kWord,     // the value is the index in `words`
  kStyles,   // words, separated by commas; the value has a bit for each word
  kNumber,   // from `least`; larger than `most` means `most`
  kPerHost,  // "*:N" or "*:*"
  kMode,     // octal
};

struct HintRow {
  Hint hint;
  const char* key;
  HintForm form;
  int64_t standard;
  bool at_open;  // has an effect in MPI_File_open alone
  bool common;   // must be equal on all ranks
  const char* words = "";
  int64_t least = 0, most = 0;
};

constexpr const char* kSwitch = "false|true";
constexpr const char* kThree = "automatic|enable|disable";
constexpr const char* kStyleWords =
    "read_once|write_once|read_mostly|write_mostly|sequential|reverse_sequential|random";
constexpr const char* kNoStyle = "unspecified";
constexpr int64_t kMostNumber = std::numeric_limits<int>::max();
constexpr int64_t kLeastBuffer = 64 * 1024, kMostBuffer = int64_t{1} << 30;

constexpr HintRow kRows[] = {
    {Hint::kAccessStyle, "access_style", HintForm::kStyles, 0, false, false, kStyleWords},
    {Hint::kCbBufferSize, "cb_buffer_size", HintForm::kNumber, 16 << 20, true, true, "",
     kLeastBuffer, kMostBuffer},
    {Hint::kCbConfigList, "cb_config_list", HintForm::kPerHost, 1, true, true, "", 0, kMostNumber},
    {Hint::kCbNodes, "cb_nodes", HintForm::kNumber, 0, true, true, "", 0, kMostNumber},
    {Hint::kCollectiveBuffering, "collective_buffering", HintForm::kWord, 1, false, true, kSwitch},
    {Hint::kDirectIo, "direct_io", HintForm::kWord, 0, true, true, kSwitch},
    {Hint::kFilePerm, "file_perm", HintForm::kMode, 0666, true, true, "", 0, 07777},
    {Hint::kIndRdBufferSize, "ind_rd_buffer_size", HintForm::kNumber, 512 << 10, false, false, "",
     kLeastBuffer, kMostBuffer},
    {Hint::kIndWrBufferSize, "ind_wr_buffer_size", HintForm::kNumber, 64 << 20, false, false, "",
     kLeastBuffer, kMostBuffer},
    {Hint::kCbRead, "romio_cb_read", HintForm::kWord, 0, false, true, kThree},
    {Hint::kCbWrite, "romio_cb_write", HintForm::kWord, 0, false, true, kThree},
    {Hint::kDsRead, "romio_ds_read", HintForm::kWord, 0, false, false, kThree},
    {Hint::kDsWrite, "romio_ds_write", HintForm::kWord, 0, false, false, kThree},
    {Hint::kNoIndepRw, "romio_no_indep_rw", HintForm::kWord, 0, true, true, kSwitch},
    {Hint::kSynchronizedFlush, "romio_synchronized_flush", HintForm::kWord, 2, true, true, kThree},
    {Hint::kVisibilityImmediate, "romio_visibility_immediate", HintForm::kWord, 1, true, true,
     kSwitch},
    {Hint::kStartIodevice, "start_iodevice", HintForm::kNumber, -1, true, true, "", -1,
     kMostNumber},
    {Hint::kStripingFactor, "striping_factor", HintForm::kNumber, 0, true, true, "", 0,
     kMostNumber},
    {Hint::kStripingUnit, "striping_unit", HintForm::kNumber, 0, true, true, "", 0, kMostNumber},
    {Hint::kSharedPointer, "tern_shared_pointer", HintForm::kWord, 0, true, true, kSwitch},
};
constexpr size_t kRowCount = std::size(kRows);

constexpr bool rows_have_the_order_of_hints() noexcept {
  for (size_t row = 0; row < kRowCount; ++row)
    if (static_cast<size_t>(kRows[row].hint) != row) return false;
  return kRowCount == static_cast<size_t>(Hint::kEnd);
}
static_assert(rows_have_the_order_of_hints());

/// Calls visit(index, word) for the words of "a|b|c" until a call returns true.
template <class Visit>
bool any_word(std::string_view words, char separator, Visit&& visit) {
  for (int64_t number = 0;; ++number) {
    const size_t end = words.find(separator);
    if (visit(number, words.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    words.remove_prefix(end + 1);
  }
}

std::optional<int64_t> index_of(const char* words, std::string_view wanted) {
  std::optional<int64_t> found;
  any_word(words, '|', [&](int64_t number, std::string_view word) {
    if (word.size() == wanted.size() && ::strncasecmp(word.data(), wanted.data(), word.size()) == 0)
      found = number;
    return found.has_value();
  });
  return found;
}

std::optional<int64_t> number_of(const std::string& text, int base) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text.c_str(), &end, base);
  if (text.empty() || *end != '\0') return std::nullopt;
  return number;
}

std::optional<int64_t> styles_of(const std::string& text) {
  int64_t styles = 0;
  if (text == kNoStyle) return styles;
  const bool unknown = any_word(text, ',', [&](int64_t, std::string_view word) {
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    const auto style = index_of(kStyleWords, word);
    if (style) styles |= int64_t{1} << *style;
    return !style;
  });
  return unknown ? std::nullopt : std::optional(styles);
}

std::optional<int64_t> parsed(const HintRow& row, const std::string& text) {
  std::optional<int64_t> value;
  switch (row.form) {
    case HintForm::kWord:
      // ROMIO's tests pass numbers.
      if (row.words == kSwitch && (text == "0" || text == "1")) return text == "1" ? 1 : 0;
      return index_of(row.words, text);
    case HintForm::kStyles:
      return styles_of(text);
    case HintForm::kNumber:
      value = number_of(text, 10);
      if (value && row.least > 0 && *value > 0) value = std::max(*value, row.least);
      break;
    case HintForm::kPerHost:
      if (text == "*:*") return 0;
      // Names of hosts have no effect.
      if (text.rfind("*:", 0) != 0)
        return text.empty() ? std::nullopt : std::optional<int64_t>(row.standard);
      value = number_of(text.substr(2), 10);
      if (value && *value == 0) return std::nullopt;
      break;
    case HintForm::kMode:
      value = number_of(text.rfind("0o", 0) == 0 ? text.substr(2) : text, 8);
      if (value && *value > row.most) return std::nullopt;
      break;
  }
  if (!value || *value < row.least) return std::nullopt;
  return std::min(*value, row.most);
}

std::string text_of(const HintRow& row, int64_t value) {
  std::string text;
  switch (row.form) {
    case HintForm::kWord:
      any_word(row.words, '|', [&](int64_t number, std::string_view word) {
        text = word;
        return number == value;
      });
      return text;
    case HintForm::kStyles:
      any_word(row.words, '|', [&](int64_t number, std::string_view word) {
        if ((value >> number & 1) != 0) text += (text.empty() ? "" : ",") + std::string(word);
        return false;
      });
      return text.empty() ? kNoStyle : text;
    case HintForm::kPerHost:
      return value == 0 ? "*:*" : strf("*:%lld", static_cast<long long>(value));
    case HintForm::kMode:
      return strf("0%llo", static_cast<long long>(value));
    case HintForm::kNumber:
      break;
  }
  return strf("%lld", static_cast<long long>(value));
}

std::string valid_values(const HintRow& row) {
  std::string words;
  any_word(row.words, '|', [&](int64_t, std::string_view word) {
    words += (words.empty() ? "" : ", ") + std::string(word);
    return false;
  });
  switch (row.form) {
    case HintForm::kWord:
      return words;
    case HintForm::kStyles:
      return "a list, separated by commas, of " + words;
    case HintForm::kPerHost:
      return "*:N for N processes of each host, or *:*";
    case HintForm::kMode:
      return "an octal mode such as 0640";
    case HintForm::kNumber:
      break;
  }
  return strf("a number from %lld on", row.least > 0 ? 1LL : static_cast<long long>(row.least));
}

std::string content(const char* path) {
  std::string text;
  std::FILE* const file = path == nullptr || *path == '\0' ? nullptr : std::fopen(path, "re");
  if (file == nullptr) {
    if (path != nullptr && *path != '\0')
      say_once(strf("cannot read the file of hints %s: %s", path, std::strerror(errno)));
    return text;
  }
  char piece[4096];
  for (size_t got = 0; (got = std::fread(piece, 1, sizeof piece, file)) > 0;)
    text.append(piece, got);
  if (std::ferror(file) != 0)
    say_once(strf("cannot read the file of hints %s: %s", path, std::strerror(errno)));
  std::fclose(file);
  return text.empty() ? text : text + '\n';
}

}  // namespace

Hints::Hints(const Params& params) noexcept
    : way_(params.io),
      syncs_at_close_(params.io_close == IoClose::kSync),
      standard_buffer_(params.io_buffer) {
  for (size_t row = 0; row < kRowCount; ++row) reset(row);
}

void Hints::reset(size_t row) noexcept {
  const bool buffer = kRows[row].hint == Hint::kCbBufferSize;
  values_[row] = buffer ? standard_buffer_ : kRows[row].standard;
  given_ &= ~(uint32_t{1} << row);
}

void Hints::take(size_t row, const std::string& text) {
  if (const auto value = parsed(kRows[row], text)) {
    values_[row] = *value;
    given_ |= uint32_t{1} << row;
    return;
  }
  say_once(strf("the hint %s of a file is \"%s\", which has no effect; valid: %s", kRows[row].key,
                text.c_str(), valid_values(kRows[row]).c_str()));
}

void Hints::set(const core::Info& info, When when) {
  for (size_t row = 0; row < kRowCount; ++row) {
    if (kRows[row].at_open && when == When::kLater) continue;
    if (const auto text = info.get(kRows[row].key)) take(row, *text);
  }
}

std::string Hints::read_file(const Params& params) {
  return content(std::getenv("ROMIO_HINTS")) + content(params.io_hints.c_str());
}

void Hints::take_text(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string key, value;
    words >> key;
    std::getline(words >> std::ws, value);
    value.erase(value.find_last_not_of(" \t\r") + 1);
    const auto* const found = std::find_if(std::begin(kRows), std::end(kRows),
                                           [&](const HintRow& row) { return key == row.key; });
    if (found == std::end(kRows)) continue;
    const auto row = static_cast<size_t>(found - kRows);
    if (value.empty())
      reset(row);
    else
      take(row, value);
  }
}

std::string Hints::common_text() const {
  std::string text;
  for (size_t row = 0; row < kRowCount; ++row) {
    if (!kRows[row].common) continue;
    text += kRows[row].key;
    if (given(kRows[row].hint)) text += ' ' + text_of(kRows[row], values_[row]);
    text += '\n';
  }
  return text;
}

core::Ref<core::Info> Hints::used() const {
  auto info = core::Ref<core::Info>::adopt(new core::Info);
  for (size_t row = 0; row < kRowCount; ++row)
    info->set(kRows[row].key, text_of(kRows[row], values_[row]));
  return info;
}

Exchanging Hints::exchanging(bool writes) const noexcept {
  if (way_ == IoWay::kExchange) return Exchanging::kAlways;
  if (way_ == IoWay::kPlain || way_ == IoWay::kMapped) return Exchanging::kNever;
  const int64_t asked = value(writes ? Hint::kCbWrite : Hint::kCbRead);
  if (asked == kEnabled) return Exchanging::kAlways;
  if (asked == kDisabled || !is_on(Hint::kCollectiveBuffering)) return Exchanging::kNever;
  return Exchanging::kAuto;
}

int Hints::advice() const noexcept {
  const auto has = [&](const char* style) {
    return (value(Hint::kAccessStyle) >> *index_of(kStyleWords, style) & 1) != 0;
  };
  if (has("random") || has("reverse_sequential")) return POSIX_FADV_RANDOM;
  return has("sequential") ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_NORMAL;
}

}  // namespace tern::io

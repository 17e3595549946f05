// SPDX-License-Identifier: Apache-2.0
// XmlReader: parsing.
#include "coll/exchange/xml.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool in_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':';
}

struct Entity {
  std::string_view text;
  char character;
};
constexpr Entity kEntities[] = {
    {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const noexcept {
  for (const auto& [key, value] : attributes)
    if (key == attribute) return &value;
  return nullptr;
}

XmlReader::XmlReader(std::string_view text, std::string name)
    : text_(text), name_(std::move(name)) {
  if (text.size() > kMostBytes)
    fail(strf("the file has %zu bytes; at most %zu are read", text.size(), kMostBytes));
  if (text.find('\0') != std::string_view::npos) fail("the file holds a zero byte: it is no text");
  if (ahead("\xEF\xBB\xBF")) at_ = 3;
}

void XmlReader::fail(const std::string& cause) const {
  throw Error(MPI_ERR_ARG, strf("%s:%d: %s", name_.c_str(), line_, cause.c_str()));
}

void XmlReader::step() noexcept {
  if (text_[at_] == '\n') ++line_;
  ++at_;
}

void XmlReader::pass(std::string_view end, const char* kind) {
  const size_t found = text_.find(end, at_);
  if (found == std::string_view::npos) fail(strf("the %s does not end", kind));
  while (at_ < found + end.size()) step();
}

void XmlReader::spaces() noexcept {
  while (at_ < text_.size() && is_space(text_[at_])) step();
}

std::string XmlReader::word() {
  const size_t begin = at_;
  while (at_ < text_.size() && in_name(text_[at_])) ++at_;
  const size_t size = at_ - begin;
  if (size == 0)
    fail(at_ == text_.size() ? std::string("the file ends within an element")
                             : strf("a name is expected, not '%c'", text_[at_]));
  if (size > kMostString) fail(strf("a name of more than %zu bytes", kMostString));
  return std::string(text_.substr(begin, size));
}

char XmlReader::entity() {
  for (const Entity& known : kEntities) {
    if (!ahead(known.text)) continue;
    at_ += known.text.size();
    return known.character;
  }
  fail("an entity other than &lt; &gt; &amp; &quot; &apos;");
}

std::string XmlReader::value() {
  if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\''))
    fail("an attribute's value needs quotes");
  const char quote = text_[at_++];
  std::string made;
  while (at_ < text_.size() && text_[at_] != quote) {
    if (text_[at_] == '<') fail("'<' within an attribute's value");
    if (made.size() == kMostString) fail(strf("a value of more than %zu bytes", kMostString));
    if (text_[at_] == '&') {
      made += entity();
    } else {
      made += text_[at_];
      step();
    }
  }
  if (at_ == text_.size()) fail("an attribute's value does not end");
  ++at_;
  return made;
}

void XmlReader::attributes() {
  for (;;) {
    spaces();
    if (ahead("/>") || ahead(">")) return;
    std::string name = word();
    spaces();
    if (!ahead("=")) fail(strf("'=' is expected after \"%s\"", name.c_str()));
    ++at_;
    spaces();
    if (element_.find(name) != nullptr)
      fail(strf("<%s> has two attributes \"%s\"", element_.name.c_str(), name.c_str()));
    if (element_.attributes.size() == kMostAttributes)
      fail(strf("an element with more than %zu attributes", kMostAttributes));
    element_.attributes.emplace_back(std::move(name), value());
  }
}

void XmlReader::open() {
  ++at_;
  element_ = {word(), line_, {}};
  if (++elements_ > kMostElements) fail(strf("more than %zu elements", kMostElements));
  if (open_.size() == kMostDepth) fail(strf("more than %zu elements within another", kMostDepth));
  attributes();
  closes_ = ahead("/>");
  at_ += closes_ ? 2 : 1;
  open_.push_back(element_.name);
}

void XmlReader::close() {
  at_ += 2;
  const std::string name = word();
  spaces();
  if (!ahead(">")) fail(strf("</%s does not end with '>'", name.c_str()));
  ++at_;
  if (open_.empty() || open_.back() != name)
    fail(strf("</%s> ends %s", name.c_str(),
              open_.empty() ? "nothing" : ("<" + open_.back() + ">").c_str()));
  open_.pop_back();
}

XmlReader::Event XmlReader::next() {
  if (closes_) {
    closes_ = false;
    open_.pop_back();
    return Event::kClose;
  }
  for (;;) {
    while (at_ < text_.size() && text_[at_] != '<') {
      if (open_.empty() && !is_space(text_[at_])) fail("text outside of all elements");
      step();
    }
    if (at_ == text_.size()) break;
    if (ahead("<!--")) {
      pass("-->", "comment");
    } else if (ahead("<?")) {
      pass("?>", "processing instruction");
    } else if (ahead("<!")) {
      fail("document types and CDATA are not read");
    } else if (ahead("</")) {
      close();
      return Event::kClose;
    } else {
      if (open_.empty() && elements_ > 0) fail("a second root element");
      open();
      return Event::kOpen;
    }
  }
  if (!open_.empty()) fail(strf("the file ends within <%s>", open_.back().c_str()));
  if (elements_ == 0) fail("no element: this is no XML file");
  return Event::kEnd;
}

void XmlReader::skip() {
  const size_t above = depth() - 1;
  while (depth() > above) (void)next();
}

const std::string& XmlReader::required(std::string_view attribute) const {
  const std::string* value = element_.find(attribute);
  if (value == nullptr)
    fail(strf("<%s> has no \"%.*s\"", element_.name.c_str(), static_cast<int>(attribute.size()),
              attribute.data()));
  return *value;
}

int64_t XmlReader::number(std::string_view attribute, int64_t least, int64_t most) const {
  const std::string& value = required(attribute);
  int64_t made = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, made);
  if (error != std::errc() || stop != end || made < least || made > most)
    fail(strf("%.*s=\"%s\" of <%s> must be a number from %lld to %lld",
              static_cast<int>(attribute.size()), attribute.data(), value.c_str(),
              element_.name.c_str(), static_cast<long long>(least), static_cast<long long>(most)));
  return made;
}

}  // namespace tern::coll

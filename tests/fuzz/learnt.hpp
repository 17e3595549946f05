// SPDX-License-Identifier: Apache-2.0
// drive_learnt: bytes as a file of measured lines (TERN_COLL_LEARNT), its text for all ranks, and
// its lines in selection. Shared by libFuzzer and tests/unit/coll/learnt_test.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/error.hpp"
#include "base/learnt_file.hpp"
#include "base/params.hpp"
#include "coll/select/select.hpp"
#include "tests/fuzz/bytes.hpp"

namespace tern::fuzz {

class LearntProgram {
 public:
  LearntProgram(const std::string& folder, coll::Selector& selector, Bytes bytes)
      : path_(folder + "/learnt"), file_(path_, "a machine"), selector_(selector), bytes_(bytes) {}

  void run() {
    const uint8_t how = bytes_.take<uint8_t>();
    (void)::unlink(path_.c_str());
    if (how % 2 == 0) file_.merge({"bcast 2 1 flat one_host  # 1.00 us, 2 rounds"});
    const uint8_t ranks = bytes_.take<uint8_t>(), power = bytes_.take<uint8_t>();
    const std::string text = bytes_.text(kMost);
    write(how, text);
    std::string remark;
    const LearntFile::Packed packed = LearntFile::unpack(file_.pack(&remark));
    TERN_ASSERT(packed.file.path() == path_ && (remark.empty() || packed.lines.empty()));
    select(packed.lines, ranks, power);
    select(text, ranks, power);
    (void)LearntFile::unpack(text);
    merge(text);
  }

 private:
  static constexpr size_t kMost = 4096;

  /// write() writes the text as the whole file, or after a valid head.
  void write(uint8_t how, const std::string& text) const {
    const auto lines = std::count(text.begin(), text.end(), '\n');
    if (how % 4 < 2) {
      std::ifstream old(path_);
      std::string head;
      std::getline(old, head);
      head.resize(std::min(head.size(), head.rfind(' ', head.rfind(' ') - 1)));
      std::ofstream(path_) << head << strf(" %zd lines\n", lines + 1) << text << '\n';
    } else {
      std::ofstream(path_) << text;
    }
    (void)::chmod(path_.c_str(), S_IRUSR | S_IWUSR);
  }

  /// Each choice must support the operation and give the bits of the choice without lines.
  void select(const std::string& lines, uint8_t ranks, uint8_t power) {
    selector_.learn(lines, path_);
    coll::Question question{};
    question.ranks = 2 + ranks % 64;
    question.bytes = size_t{1} << power % 32;
    question.shared = (power & 0x80) != 0;
    question.any_order = (power & 0x40) != 0;
    for (int i = 0; i < coll::kCollectives; ++i) {
      question.collective = static_cast<coll::Collective>(i);
      const coll::Choice choice = selector_.choose(question, nullptr);
      TERN_ASSERT(coll::can(*choice.algorithm, question));
      TERN_ASSERT(coll::same_bits(*choice.algorithm,
                                  *selector_.unmeasured(question, choice).algorithm, question));
    }
  }

  /// merge() keeps a file of another program; any other file takes the lines and is complete.
  void merge(const std::string& text) const {
    const std::string line = text.substr(0, text.find('\n'));
    if (line.empty()) return;
    std::string remark;
    file_.merge({line});
    if (file_.read(&remark).empty()) return;
    TERN_ASSERT(remark.empty() && file_.read(&remark).find(line + "\n") != std::string::npos);
  }

  const std::string path_;
  const LearntFile file_;
  coll::Selector& selector_;
  Bytes bytes_;
};

inline void drive_learnt(const uint8_t* data, size_t size) {
  struct Setting {
    Setting() { selector.configure(Params{}); }
    ~Setting() {
      for (const char* name : {"/learnt", "/learnt.lock"}) (void)::unlink((path + name).c_str());
      (void)::rmdir(path.c_str());
    }
    std::string path = "/dev/shm/tern-fuzz-XXXXXX";
    const bool made = ::mkdtemp(path.data()) != nullptr;
    coll::Selector selector;
  };
  static Setting setting;
  TERN_ASSERT(setting.made);
  LearntProgram(setting.path, setting.selector, Bytes(data, size)).run();
}

}  // namespace tern::fuzz

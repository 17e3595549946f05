// SPDX-License-Identifier: Apache-2.0
// Hints: the table's keys, values, defaults and messages; files of hints.
#include "io/hints.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace tern::io {
namespace {

using core::Info;
using Texts = std::map<std::string, std::string>;
using When = Hints::When;

const Texts kStandard = {{"access_style", "unspecified"},
                         {"cb_buffer_size", "16777216"},
                         {"cb_config_list", "*:1"},
                         {"cb_nodes", "0"},
                         {"collective_buffering", "true"},
                         {"direct_io", "false"},
                         {"file_perm", "0666"},
                         {"ind_rd_buffer_size", "524288"},
                         {"ind_wr_buffer_size", "67108864"},
                         {"romio_cb_read", "automatic"},
                         {"romio_cb_write", "automatic"},
                         {"romio_ds_read", "automatic"},
                         {"romio_ds_write", "automatic"},
                         {"romio_no_indep_rw", "false"},
                         {"romio_synchronized_flush", "disable"},
                         {"romio_visibility_immediate", "true"},
                         {"start_iodevice", "-1"},
                         {"striping_factor", "0"},
                         {"striping_unit", "0"},
                         {"tern_shared_pointer", "false"}};

const Texts kOther = {{"access_style", "read_once,random"},
                      {"cb_buffer_size", "1048576"},
                      {"cb_config_list", "*:4"},
                      {"cb_nodes", "3"},
                      {"collective_buffering", "false"},
                      {"direct_io", "true"},
                      {"file_perm", "0640"},
                      {"ind_rd_buffer_size", "131072"},
                      {"ind_wr_buffer_size", "262144"},
                      {"romio_cb_read", "disable"},
                      {"romio_cb_write", "enable"},
                      {"romio_ds_read", "disable"},
                      {"romio_ds_write", "disable"},
                      {"romio_no_indep_rw", "true"},
                      {"romio_synchronized_flush", "enable"},
                      {"romio_visibility_immediate", "false"},
                      {"start_iodevice", "2"},
                      {"striping_factor", "16"},
                      {"striping_unit", "4194304"},
                      {"tern_shared_pointer", "true"}};

core::Ref<Info> info_of(const Texts& texts) {
  auto info = core::Ref<Info>::adopt(new Info);
  for (const auto& [key, value] : texts) info->set(key, value);
  return info;
}

Texts texts_of(const Hints& hints) {
  Texts texts;
  const core::Ref<Info> used = hints.used();
  for (size_t i = 0; i < used->count(); ++i) texts[*used->key(i)] = *used->get(*used->key(i));
  return texts;
}

Hints with(const Texts& texts, When when = When::kOpen) {
  Hints hints{Params()};
  hints.set(*info_of(texts), when);
  return hints;
}

std::string used_after(const std::string& key, const std::string& value) {
  return texts_of(with({{key, value}}))[key];
}

TEST(Hints, TheDefaults) {
  const Hints hints{Params()};
  EXPECT_EQ(texts_of(hints), kStandard);
  EXPECT_EQ(hints.buffer(), 16777216);
  EXPECT_EQ(hints.cb_nodes(), 0);
  EXPECT_EQ(hints.aggregators_per_host(), 1);
  EXPECT_EQ(hints.file_perm(), std::nullopt);
  EXPECT_EQ(hints.exchanging(true), Exchanging::kAuto);
  EXPECT_EQ(hints.exchanging(false), Exchanging::kAuto);
  EXPECT_TRUE(hints.sieves());
  EXPECT_TRUE(hints.maps());
  EXPECT_FALSE(hints.flushes_by_one());
  EXPECT_FALSE(hints.direct());
  EXPECT_EQ(hints.advice(), POSIX_FADV_NORMAL);
}

TEST(Hints, EachKeyHasAnEffect) {
  const Hints hints = with(kOther);
  EXPECT_EQ(texts_of(hints), kOther);
  EXPECT_EQ(hints.buffer(), 1048576);
  EXPECT_EQ(hints.cb_nodes(), 3);
  EXPECT_EQ(hints.aggregators_per_host(), 4);
  EXPECT_EQ(hints.file_perm(), std::optional<mode_t>(0640));
  EXPECT_EQ(hints.exchanging(true), Exchanging::kAlways);
  EXPECT_EQ(hints.exchanging(false), Exchanging::kNever);
  EXPECT_FALSE(hints.sieves());
  EXPECT_FALSE(hints.maps());
  EXPECT_EQ(hints.sieve_bytes(), 131072);
  EXPECT_TRUE(hints.flushes_by_one());
  EXPECT_TRUE(hints.direct());
  EXPECT_EQ(hints.advice(), POSIX_FADV_RANDOM);
  EXPECT_EQ(hints.striping_factor(), 16);
  EXPECT_EQ(hints.striping_unit(), 4194304);
}

TEST(Hints, TheUsedKeysAreValidValues) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(texts_of(with(kStandard)), kStandard);
  EXPECT_EQ(texts_of(with(texts_of(with(kOther)))), kOther);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Hints, UnknownKeysNeverAppear) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(texts_of(with({{"panfs_layout", "7"}, {"", "x"}, {"CB_NODES", "7"}})), kStandard);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Hints, SomeKeysHaveAnEffectAtOpenAlone) {
  const Texts later = texts_of(with(kOther, When::kLater));
  for (const char* key :
       {"cb_buffer_size", "cb_config_list", "cb_nodes", "direct_io", "file_perm",
        "romio_no_indep_rw", "romio_synchronized_flush", "romio_visibility_immediate",
        "start_iodevice", "striping_factor", "striping_unit", "tern_shared_pointer"})
    EXPECT_EQ(later.at(key), kStandard.at(key)) << key;
  for (const char* key :
       {"access_style", "collective_buffering", "ind_rd_buffer_size", "ind_wr_buffer_size",
        "romio_cb_read", "romio_cb_write", "romio_ds_read", "romio_ds_write"})
    EXPECT_EQ(later.at(key), kOther.at(key)) << key;
}

TEST(Hints, ValuesHaveSeveralForms) {
  EXPECT_EQ(used_after("romio_cb_write", "ENABLE"), "enable");
  EXPECT_EQ(used_after("direct_io", "True"), "true");
  EXPECT_EQ(used_after("file_perm", "644"), "0644");
  EXPECT_EQ(used_after("file_perm", "0o600"), "0600");
  EXPECT_EQ(used_after("cb_config_list", "*:*"), "*:*");
  EXPECT_EQ(used_after("romio_no_indep_rw", "1"), "true");
  EXPECT_EQ(used_after("cb_config_list", "node7:1,node8:*"), "*:1");
  EXPECT_EQ(with({{"cb_config_list", "*:*"}}).aggregators_per_host(), 0);
  EXPECT_EQ(used_after("access_style", "sequential , read_mostly"), "read_mostly,sequential");
  EXPECT_EQ(with({{"access_style", "reverse_sequential"}}).advice(), POSIX_FADV_RANDOM);
  EXPECT_EQ(with({{"access_style", "sequential"}}).advice(), POSIX_FADV_SEQUENTIAL);
  // The nearest number in use.
  EXPECT_EQ(used_after("cb_buffer_size", "1"), "65536");
  EXPECT_EQ(used_after("cb_buffer_size", "99999999999999999999"), "1073741824");
  EXPECT_EQ(used_after("cb_nodes", "4294967297"), "2147483647");
}

TEST(Hints, InvalidValuesAreSaidOnce) {
  const Texts wrong = {{"access_style", "read_often"},
                       {"cb_buffer_size", "16M"},
                       {"cb_config_list", "*:0"},
                       {"cb_nodes", "-1"},
                       {"collective_buffering", "maybe"},
                       {"file_perm", "0888"},
                       {"ind_rd_buffer_size", "0"},
                       {"romio_cb_read", "true"},
                       {"romio_cb_write", ""},
                       {"start_iodevice", "-2"},
                       {"striping_unit", "1 2"}};
  testing::internal::CaptureStderr();
  EXPECT_EQ(texts_of(with(wrong)), kStandard);
  EXPECT_EQ(texts_of(with(wrong)), kStandard);
  const std::string said = testing::internal::GetCapturedStderr();
  for (const auto& [key, value] : wrong) {
    const std::string sentence = "the hint " + key + " of a file is \"" + value + "\"";
    const size_t at = said.find(sentence);
    ASSERT_NE(at, std::string::npos) << said;
    EXPECT_EQ(said.find(sentence, at + 1), std::string::npos) << said;
  }
  EXPECT_NE(said.find("the hint romio_cb_read of a file is \"true\", which has no effect; valid: "
                      "automatic, enable, disable\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("valid: a number from 1 on\n"), std::string::npos) << said;
  EXPECT_EQ(used_after("file_perm", "10000"), "0666");
  for (const char* value : {"*:0", "*:", "*:-3", "*", "*:2x"})
    EXPECT_EQ(used_after("cb_config_list", value), "*:1") << value;
}

TEST(Hints, ParametersCount) {
  const auto at = [](const char* way) {
    Params params;
    params.set("TERN_IO", way);
    params.set("TERN_IO_BUFFER", "128K");
    params.set("TERN_IO_CLOSE", "sync");
    Hints hints(params);
    hints.set(*info_of({{"romio_cb_write", "enable"}, {"romio_cb_read", "disable"}}));
    EXPECT_EQ(hints.buffer(), 131072);
    EXPECT_TRUE(hints.syncs_at_close());
    return hints;
  };
  EXPECT_EQ(at("auto").exchanging(true), Exchanging::kAlways);
  EXPECT_EQ(at("exchange").exchanging(false), Exchanging::kAlways);
  EXPECT_EQ(at("plain").exchanging(true), Exchanging::kNever);
  EXPECT_FALSE(at("plain").maps());
  EXPECT_FALSE(at("plain").sieves());
  EXPECT_TRUE(at("mapped").maps());
  EXPECT_EQ(at("mapped").exchanging(true), Exchanging::kNever);
  EXPECT_EQ(at("mapped").way(), IoWay::kMapped);
}

TEST(Hints, CollectiveBufferingIsTheDefaultOfBothDirections) {
  const Hints off = with({{"collective_buffering", "false"}, {"romio_cb_read", "enable"}});
  EXPECT_EQ(off.exchanging(true), Exchanging::kNever);
  EXPECT_EQ(off.exchanging(false), Exchanging::kAlways);
}

TEST(Hints, TheOpenerTellsTheNumbersInUse) {
  Hints hints = with({{"striping_factor", "100"}});
  hints.use(Hint::kCbNodes, 2);
  hints.use(Hint::kStripingFactor, 8);
  EXPECT_EQ(hints.cb_nodes(), 2);
  EXPECT_FALSE(hints.given(Hint::kCbNodes));
  EXPECT_TRUE(hints.given(Hint::kStripingFactor));
  EXPECT_EQ(texts_of(hints)["striping_factor"], "8");
}

TEST(Hints, TextsHaveALineForEachHint) {
  Hints hints{Params()};
  hints.take_text(
      "# a comment\n\n  cb_nodes   5  # of the file\nromio_ds_read disable\r\nunknown 3\n"
      "access_style read_once, random\ncb_nodes 6");
  Texts expected = kStandard;
  expected["cb_nodes"] = "6";
  expected["romio_ds_read"] = "disable";
  expected["access_style"] = "read_once,random";
  EXPECT_EQ(texts_of(hints), expected);
  hints.set(*info_of({{"cb_nodes", "7"}}), When::kOpen);
  EXPECT_EQ(hints.cb_nodes(), 7);
}

TEST(Hints, RanksTakeTheCommonValues) {
  const Hints of_rank_0 = with({{"cb_nodes", "5"}, {"romio_ds_read", "disable"}});
  Hints own = with(kOther);
  own.take_text(of_rank_0.common_text());
  Texts expected = kStandard;
  expected["cb_nodes"] = "5";
  for (const char* key : {"access_style", "ind_rd_buffer_size", "ind_wr_buffer_size",
                          "romio_ds_read", "romio_ds_write"})
    expected[key] = kOther.at(key);
  EXPECT_EQ(texts_of(own), expected);
  EXPECT_EQ(own.file_perm(), std::nullopt);
  EXPECT_TRUE(own.given(Hint::kCbNodes));
}

TEST(Hints, FilesOfHints) {
  const std::string folder = testing::TempDir() + "hints." + std::to_string(::getpid());
  const std::string romio = folder + ".romio", own = folder + ".own";
  const auto write = [](const std::string& path, const char* text) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs(text, file);
    std::fclose(file);
  };
  Params params;
  EXPECT_EQ(Hints::read_file(params), "");
  write(romio, "cb_nodes 2\nstriping_unit 65536");
  write(own, "cb_nodes 3\n");
  ::setenv("ROMIO_HINTS", romio.c_str(), 1);
  params.io_hints = own;
  Hints hints(params);
  hints.take_text(Hints::read_file(params));
  EXPECT_EQ(hints.cb_nodes(), 3);
  EXPECT_EQ(hints.striping_unit(), 65536);

  ::unlink(own.c_str());
  ::setenv("ROMIO_HINTS", testing::TempDir().c_str(), 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(Hints::read_file(params), "");
  EXPECT_EQ(Hints::read_file(params), "");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cannot read the file of hints " + own + ": No such file or directory\n"),
            std::string::npos);
  EXPECT_NE(said.find(": Is a directory\n"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
  ::unsetenv("ROMIO_HINTS");
  ::unlink(romio.c_str());
}

}  // namespace
}  // namespace tern::io

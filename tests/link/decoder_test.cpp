#include "hippo/net/link/frame_decoder.hpp"

#include <gtest/gtest.h>

#include "link/check_frames.hpp"
#include "link/frames.hpp"

namespace hippo {
namespace {

using test::bytes;
using test::frame_of;
using test::raw_header;
using test::stream_of;

constexpr auto trainer = link_side::trainer;
constexpr auto service = link_side::service;

/// What a decoder makes of a stream that comes at once.
struct outcome {
  std::vector<frame> frames;
  std::string failure;
};

outcome decode(const bytes& from, link_side sender) {
  outcome result;
  frame_decoder decoder{sender};
  if (auto why = decoder.feed({from.data(), from.size()}, result.frames))
    result.failure = why->message;
  return result;
}

bytes joined(bytes x, const bytes& y) {
  x.insert(x.end(), y.begin(), y.end());
  return x;
}

class DecoderProperty : public testing::TestWithParam<unsigned> {
protected:
  std::minstd_rand random{GetParam()};
  link_side sender = GetParam() % 2 == 0 ? trainer : service;
  std::vector<frame> frames = test::random_frames(sender, random);
  bytes stream = stream_of(frames);

  std::size_t draw(std::size_t from, std::size_t to) {
    return std::uniform_int_distribution<std::size_t>{from, to}(random);
  }

  void expect_same(const std::vector<frame>& got) const {
    ASSERT_EQ(got.size(), frames.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(test::operator==(got[i], frames[i])) << i;
  }
};

TEST_P(DecoderProperty, PiecesOfAnySizeGiveTheSameFrames) {
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{7}, draw(2, 5000), stream.size()})
    expect_same(
      test::check_frames({stream.data(), stream.size()}, sender, piece));
}

TEST_P(DecoderProperty, EveryBeginningGivesTheFramesInIt) {
  const auto end = draw(0, stream.size());
  const auto got
    = test::check_frames({stream.data(), end}, sender, draw(1, 100));
  ASSERT_LE(got.size(), frames.size());
  std::size_t size = link_greeting.size();
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(test::operator==(got[i], frames[i]));
    size += got[i].bytes();
  }
  EXPECT_LE(size, std::max(end, link_greeting.size()));
}

TEST_P(DecoderProperty, DamageNeverGetsOutOfRole) {
  for (int times = 0; times < 20; ++times) {
    auto damaged = stream;
    for (auto n = draw(1, 8); n > 0; --n)
      damaged[draw(0, damaged.size() - 1)]
        = static_cast<kj::byte>(draw(0, 255));
    // Frames that pass are checked inside.
    test::check_frames({damaged.data(), damaged.size()}, sender,
                       draw(1, 3000));
  }
}

TEST_P(DecoderProperty, RubbishAfterTheGreetingNeverGetsOutOfRole) {
  bytes rubbish(link_greeting.begin(), link_greeting.end());
  for (auto n = draw(1, 3000); n > 0; --n)
    rubbish.push_back(static_cast<kj::byte>(draw(0, draw(0, 255))));
  test::check_frames({rubbish.data(), rubbish.size()}, sender, draw(1, 100));
}

INSTANTIATE_TEST_SUITE_P(Cases, DecoderProperty, testing::Range(1u, 101u));

TEST(Decoder, WhatDoesNotGreetIsRefusedWithItsFirstWrongByte) {
  for (std::size_t i = 0; i < link_greeting.size(); ++i) {
    bytes wrong(link_greeting.begin(), link_greeting.end());
    wrong[i] ^= 1;
    frame_decoder decoder{trainer};
    std::vector<frame> out;
    EXPECT_FALSE(decoder.feed({wrong.data(), i}, out));
    EXPECT_TRUE(decoder.feed({wrong.data() + i, 1}, out));
    EXPECT_FALSE(decoder.is_greeted());
  }
}

TEST(Decoder, OnlyAHelloComesFirst) {
  for (const auto& x : frame_rules) {
    const auto got
      = decode(stream_of({frame_of(x.type, x.words_max > 0 ? 1 : 0)}), trainer);
    EXPECT_EQ(got.frames.size(), x.type == frame_type::hello ? 1u : 0u);
    EXPECT_EQ(got.failure.empty(), x.type == frame_type::hello);
  }
}

TEST(Decoder, EachSideSaysOnlyWhatItsRoleMay) {
  for (const auto& x : frame_rules) {
    const auto y = frame_of(x.type, x.words_max > 0 ? 1 : 0);
    EXPECT_EQ(decode(stream_of({frame_of(frame_type::hello, 1), y}), trainer)
                .frames.size(),
              x.from_trainer ? 2u : 1u);
    EXPECT_EQ(decode(stream_of({frame_of(frame_type::welcome, 1), y}), service)
                .frames.size(),
              x.from_service ? 2u : 1u);
  }
}

TEST(Decoder, TypesThatDoNotExistAreRefused) {
  for (const unsigned type : {0u, 15u, 16u, 100u, 255u}) {
    const auto got = decode(joined(stream_of({frame_of(frame_type::hello, 1)}),
                                   raw_header(0, type)),
                            trainer);
    EXPECT_EQ(got.frames.size(), 1u);
    EXPECT_EQ(got.failure, "it sends what is no frame of this protocol");
  }
}

TEST(Decoder, ALengthBeyondItsTypesLimitIsRefusedWithTheHeader) {
  for (const auto& x : frame_rules) {
    if (!x.from_trainer)
      continue;
    const auto type = static_cast<unsigned>(x.type);
    const auto begin = x.type == frame_type::hello
                         ? stream_of({})
                         : stream_of({frame_of(frame_type::hello, 1)});
    for (const auto words :
         {static_cast<std::uint32_t>(x.words_max + 1), 0xffff'ffffu})
      EXPECT_NE(decode(joined(begin, raw_header(words, type)), trainer).failure,
                "")
        << type << ' ' << words;
    EXPECT_EQ(
      decode(joined(begin, raw_header(static_cast<std::uint32_t>(x.words_max),
                                      type)),
             trainer)
        .failure,
      "");
  }
}

TEST(Decoder, AMessageThatShouldHaveNoneOrOneIsRefused) {
  const auto begin = stream_of({frame_of(frame_type::hello, 1)});
  for (const auto& x : {raw_header(1, 1), raw_header(0, 7)})
    EXPECT_NE(decode(joined(begin, x), trainer).failure, "");
}

TEST(Decoder, WhatAFrameDoesNotUseIsZero) {
  for (const std::size_t place : {5, 6, 7}) {
    auto header = raw_header(1, static_cast<unsigned>(frame_type::hello));
    header[place] = 1;
    EXPECT_EQ(decode(joined(stream_of({}), header), trainer).failure,
              "it sends what is no frame of this protocol");
  }
}

TEST(Decoder, ALongMessageThatIsOnlyAnnouncedTakesNoMemory) {
  const auto longest = static_cast<std::uint32_t>(max_wire_words);
  const auto stream
    = joined(stream_of({frame_of(frame_type::welcome, 1)}),
             raw_header(longest, static_cast<unsigned>(frame_type::lease)));
  frame_decoder decoder{service};
  std::vector<frame> out;
  ASSERT_FALSE(decoder.feed({stream.data(), stream.size()}, out));
  EXPECT_EQ(decoder.held_bytes(), 0u);
  const bytes some(100);
  ASSERT_FALSE(decoder.feed({some.data(), some.size()}, out));
  EXPECT_EQ(decoder.held_bytes(), 4096u);
  EXPECT_TRUE(decoder.is_amid());
}

TEST(Decoder, NothingIsTakenInAfterAFailure) {
  frame_decoder decoder{trainer};
  std::vector<frame> out;
  const auto wrong = joined(stream_of({}), raw_header(0, 99));
  ASSERT_TRUE(decoder.feed({wrong.data(), wrong.size()}, out));
  const auto right = stream_of({frame_of(frame_type::hello, 1)});
  EXPECT_TRUE(decoder.feed({right.data(), right.size()}, out));
  EXPECT_TRUE(out.empty());
}

} // namespace
} // namespace hippo

#include "hippo/train/process/answer_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include "process.capnp.h"

namespace hippo {
namespace {

/// An answer with a message of so many bytes.
kj::Array<capnp::word> answer(std::uint64_t number, std::size_t bytes) {
  capnp::MallocMessageBuilder out{8}; // small segments: many of them
  auto x = out.initRoot<schema::ProcessAnswer>();
  x.setNumber(number);
  x.initFailed().setMessage(std::string(bytes, 'x').c_str());
  return capnp::messageToFlatArray(out);
}

/// Gives bytes to a buffer, as a socket does.
void give(answer_buffer& to, const char* bytes, std::size_t size) {
  while (size > 0) {
    const auto room = to.room();
    const auto n = std::min(room.size(), size);
    std::memcpy(room.data(), bytes, n);
    to.add(n);
    bytes += n;
    size -= n;
  }
}

TEST(AnswerBuffer, MessagesComeOutWholeHoweverTheyCame) {
  std::mt19937 random{14};
  for (int round = 0; round < 50; ++round) {
    std::string bytes;
    std::vector<std::size_t> sizes(1 + random() % 5);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = random() % (round % 2 == 0 ? 20 : 200'000);
      const auto words = answer(i, sizes[i]);
      bytes.append(words.asChars().begin(), words.asChars().size());
    }
    answer_buffer buffer{1 << 20};
    std::size_t found = 0;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto n = std::min(1 + random() % (round % 3 == 0 ? 7 : 90'000),
                              bytes.size() - at);
      give(buffer, bytes.data() + at, n);
      at += n;
      while (auto words = buffer.take()) {
        capnp::FlatArrayMessageReader message{*words};
        const auto x = message.getRoot<schema::ProcessAnswer>();
        ASSERT_EQ(x.getNumber(), found);
        ASSERT_EQ(x.getFailed().getMessage().size(), sizes[found]);
        ++found;
      }
    }
    EXPECT_EQ(found, sizes.size());
    EXPECT_FALSE(buffer.has_begun());
  }
}

TEST(AnswerBuffer, WhatIsTooLargeIsRefusedBeforeItComes) {
  const auto words = answer(1, 100'000);
  answer_buffer buffer{1000};
  give(buffer, words.asChars().begin(), 16);
  EXPECT_THROW(buffer.take(), std::runtime_error);
}

TEST(AnswerBuffer, ManyMessagesOfAnyBytesDoNoHarm) {
  std::mt19937 random{15};
  for (int round = 0; round < 2000; ++round) {
    answer_buffer buffer{10'000};
    try {
      for (int i = 0; i < 8; ++i) {
        std::uint32_t part[16];
        for (auto& x : part)
          x = static_cast<std::uint32_t>(random())
              & (random() % 2 == 0 ? 0xff : 0xffffffff);
        give(buffer, reinterpret_cast<const char*>(part),
             1 + random() % sizeof part);
        while (buffer.take()) {
        }
      }
    } catch (const std::runtime_error&) {
    }
    EXPECT_LE(buffer.room().size(), 8192u * 8 + 10'000u * 16);
  }
}

} // namespace
} // namespace hippo

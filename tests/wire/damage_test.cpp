// Bytes that no honest peer sends: none may crash, hang or eat memory.

#include "hippo/net/wire/codec.hpp"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "wire/samples.hpp"

namespace hippo {
namespace {

template <class Schema>
wire<Schema> from_bytes(const void* data, std::size_t words) {
  auto copy = kj::heapArray<capnp::word>(words);
  if (words > 0)
    std::memcpy(copy.begin(), data, words * sizeof(capnp::word));
  return wire<Schema>{kj::mv(copy)};
}

template <class Schema>
void expect_every_prefix_refused(const wire<Schema>& whole) {
  for (std::size_t n = 0; n < whole.words().size(); ++n) {
    const auto result = decode(from_bytes<Schema>(whole.words().begin(), n));
    ASSERT_FALSE(result) << n << " words";
    EXPECT_EQ(result.failure().code, errc::malformed_message);
    EXPECT_FALSE(result.failure().message.empty());
  }
}

/// @returns how many of `rounds` damaged copies were refused
template <class Schema>
int refused_of_damaged(const wire<Schema>& whole, int rounds) {
  std::mt19937_64 random{1};
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<unsigned char> bytes(whole.words().asBytes().begin(),
                                     whole.words().asBytes().end());
    for (auto flips = 1 + random() % 8; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<unsigned char>(random());
    const auto result = decode(from_bytes<Schema>(bytes.data(),
                                                  bytes.size() / 8));
    if (!result) {
      EXPECT_EQ(result.failure().code, errc::malformed_message);
      ++refused;
    } else if (auto again = decode(encode(*result)); !again) {
      // What was accepted keeps the invariants.
      ADD_FAILURE() << again.failure().message;
    }
  }
  return refused;
}

template <class T>
void expect_robust(const T& x, int rounds) {
  const auto whole = encode(x);
  expect_every_prefix_refused(whole);
  EXPECT_GT(refused_of_damaged(whole, rounds), 0);
}

TEST(Damage, Lease) { expect_robust(samples::path(), 30000); }
TEST(Damage, Report) { expect_robust(samples::report(), 20000); }
TEST(Damage, Hello) { expect_robust(samples::greeting(), 20000); }
TEST(Damage, Welcome) { expect_robust(welcome{{}, trainer_id{3}, 500}, 5000); }
TEST(Damage, Refusal) {
  expect_robust(welcome{error{errc::in_use, "no"}, {}, 0}, 5000);
}
TEST(Damage, Stop) {
  expect_robust(stop_request{lease_id{7}, {3, true, true}}, 5000);
}
TEST(Damage, Cancel) { expect_robust(cancel_request{lease_id{7}}, 5000); }
TEST(Damage, End) {
  expect_robust(lease_end{lease_id{7}, 3, error{errc::diverged, "loss"}, "log"},
                5000);
}
TEST(Damage, Heartbeat) {
  expect_robust(heartbeat{trainer_id{3}, lease_id{7}, 3, 1}, 5000);
}

TEST(Damage, Ack) { expect_robust(ack{lease_id{7}, 3}, 5000); }
TEST(Damage, Resent) {
  expect_robust(resent{"toy", samples::report()}, 20000);
}
TEST(Damage, Goodbye) { expect_robust(goodbye{trainer_id{3}}, 5000); }

TEST(Damage, Configuration) {
  const auto whole = encode_configuration(samples::config());
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(decode_configuration({whole.data(), n})) << n << " bytes";
  std::mt19937_64 random{2};
  for (int round = 0; round < 20000; ++round) {
    auto bytes = whole;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    if (auto x = decode_configuration(bytes)) {
      EXPECT_TRUE(decode_configuration(encode_configuration(*x)));
    }
  }
}

TEST(Damage, RandomBytes) {
  std::mt19937_64 random{3};
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint64_t> words(random() % 40);
    for (auto& word : words)
      word = random() >> (random() % 64);
    if (!words.empty())
      words[0] = (words.size() - 1) << 32; // one segment of the right size
    EXPECT_FALSE(decode(from_bytes<schema::Lease>(words.data(), words.size())));
  }
}

TEST(Damage, ManyPointersToOnePlaceCostNoMoreThanTheMessage) {
  // A list of texts, all of which point to one long text: 4,000 versions of
  // 1,000 bytes out of some 17,000 words.
  constexpr unsigned names = 4000;
  capnp::MallocMessageBuilder builder{1 << 16}; // one segment
  auto root = builder.initRoot<schema::Hello>();
  root.setProtocol(1);
  root.setDevice("cpu");
  auto list = root.initWorkloads(names);
  for (unsigned i = 0; i + 1 < names; ++i)
    list[i].setVersion("t");
  list[names - 1].setVersion(std::string(1000, 't'));
  for (unsigned i = 0; i < names; ++i)
    list[i].setName(std::to_string(10'000 + i));
  const wire<schema::Hello> honest{builder};
  ASSERT_TRUE(decode(honest));
  std::vector<std::uint64_t> words(honest.words().size());
  std::memcpy(words.data(), honest.words().begin(), honest.size_bytes());
  // The pointers lie in every other word, and each but the last leads to a word
  // of its own; find them by what they look like: a list of 2 bytes.
  std::size_t last = 0;
  unsigned found = 0;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] >> 32 == ((2u << 3) | 2u) && (words[i] & 3) == 1) {
      last = i;
      ++found;
    }
  ASSERT_EQ(found, names - 1);
  const auto target = words[last + 2];
  const auto offset = static_cast<std::uint32_t>(target) >> 2;
  for (std::size_t i = last + 2 - 2 * (names - 1); i <= last; i += 2) {
    const auto further = offset + static_cast<std::uint32_t>(last + 2 - i);
    words[i] = (target & 0xffffffff00000000) | (further << 2) | 1;
  }
  const auto result = decode(from_bytes<schema::Hello>(words.data(),
                                                       words.size()));
  ASSERT_FALSE(result);
  EXPECT_NE(result.failure().message.find("Exceeded message traversal limit"),
            std::string::npos)
    << result.failure().message;
}

TEST(Damage, AbsurdListLengthsAreRefused) {
  // Lists of structs of no size may claim 2^29 elements in one word.
  capnp::MallocMessageBuilder builder;
  auto root = builder.initRoot<schema::Lease>();
  root.setNumber(1);
  root.initWorkload().setName("toy");
  const auto whole = capnp::messageToFlatArray(builder);
  for (std::size_t i = 1; i < whole.size(); ++i)
    for (std::uint64_t kind = 0; kind < 8; ++kind) {
      auto words = kj::heapArray<capnp::word>(whole.asPtr());
      const std::uint64_t pointer = 1 | (kind << 32) | (0x1fffffffull << 35);
      std::memcpy(words.asBytes().begin() + 8 * i, &pointer, sizeof pointer);
      EXPECT_FALSE(decode(wire<schema::Lease>{kj::mv(words)}));
    }
}

} // namespace
} // namespace hippo

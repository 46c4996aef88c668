// The targets of the fuzzers on their corpora, and on inputs made of those,
// each from a seed.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>

#include "fuzz/target.hpp"

namespace hippo::fuzz {
namespace {

std::vector<std::pair<std::string, std::string>> corpus_of(const target& x) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& file : std::filesystem::directory_iterator(
         std::string{HIPPO_FUZZ_CORPUS} + '/' + x.name)) {
    std::ifstream in{file.path(), std::ios::binary};
    result.emplace_back(file.path().filename(),
                        std::string{std::istreambuf_iterator<char>(in), {}});
  }
  std::sort(result.begin(), result.end());
  return result;
}

struct Fuzz : testing::TestWithParam<target> {};

TEST_P(Fuzz, TheCorpusIsHandled) {
  const auto corpus = corpus_of(GetParam());
  ASSERT_FALSE(corpus.empty());
  for (const auto& [name, input] : corpus)
    EXPECT_NO_THROW(run(GetParam(), input)) << name;
}

TEST_P(Fuzz, WhatIsLikeTheCorpusIsHandled) {
  const auto corpus = corpus_of(GetParam());
  ASSERT_FALSE(corpus.empty());
  for (unsigned seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    std::mt19937_64 random{seed};
    const auto pick = [&]() -> const std::string& {
      return corpus[random() % corpus.size()].second;
    };
    auto input = pick();
    for (auto rounds = 1 + random() % 4; rounds > 0; --rounds)
      input = mutate(std::move(input), pick(), GetParam(),
                     [&] { return random(); });
    EXPECT_NO_THROW(run(GetParam(), input)) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, testing::ValuesIn(targets()),
                         [](const auto& x) {
                           return std::string{x.param.name};
                         });

} // namespace
} // namespace hippo::fuzz

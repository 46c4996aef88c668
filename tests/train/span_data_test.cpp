#include "hippo/train/torch/data/span_data.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "hippo/train/workload.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

using nlohmann::json;

// Numbers:                    0      1      2      3      4  5  6  7  8  9
const std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\nf\n"
                               "##f\n?\nwho\n";

json answer(const std::string& text, int start) {
  return {{"text", text}, {"answer_start", start}};
}

json question(const std::string& text, const json& right) {
  return {{"id", "1"},
          {"question", text},
          {"answers", json::array({right})}};
}

/// SQuAD of one passage.
json squad(const std::string& context, const std::vector<json>& questions) {
  const json paragraph{{"context", context}, {"qas", questions}};
  const json article{{"title", "t"}, {"paragraphs", json::array({paragraph})}};
  return {{"version", "1.1"}, {"data", json::array({article})}};
}

/// A folder of SQuAD with one passage for training and for validation.
struct squad_folder : temporary_folder {
  squad_folder() {
    write_file(path + "/vocab.txt", vocabulary);
    train(squad("\u00c1 B ff c d, e", {question("Who?", answer("ff c", 4)),
                                       question("who e?", answer("e", 12))}));
    write("dev", squad("a b", {question("?", answer("b", 2))}));
  }

  void write(const std::string& which, const json& x) const {
    write_file(path + '/' + which + "-v1.1.json", x.dump());
  }

  void train(const json& x) const { write("train", x); }

  span_data read(span_limits limits = {2, 1, 16, 4, 13}) const {
    return read_squad(path, limits);
  }

  /// Returns how reading fails.
  [[nodiscard]] std::string failure() const {
    try {
      read();
    } catch (const std::exception& e) {
      return e.what();
    }
    return {};
  }
};

using tokens = std::vector<std::int32_t>;

} // namespace

TEST(Squad, BecomesWindows) {
  const squad_folder folder;
  const auto data = folder.read();
  ASSERT_EQ(data.training.windows.size(), 2);
  const auto& x = data.training.windows[0];
  //                         CLS who ? SEP a b f ##f c d , e SEP
  EXPECT_EQ(x.tokens, (tokens{2, 12, 11, 3, 4, 5, 9, 10, 6, 7, 1, 8, 3}));
  EXPECT_EQ(x.first, 4);
  EXPECT_EQ(x.last(), 12);
  EXPECT_EQ(x.start, 6);
  EXPECT_EQ(x.end, 8);
  const auto& y = data.training.windows[1];
  EXPECT_EQ(y.question, 1);
  EXPECT_EQ(y.tokens[y.start], 8);
  EXPECT_EQ(y.start, y.end);
  ASSERT_EQ(data.validation.questions.size(), 1);
  EXPECT_EQ(data.validation.questions[0].answers,
            (std::vector<std::string>{"b"}));
}

TEST(Squad, ScoresTextBetweenTokens) {
  const squad_folder folder;
  const auto data = folder.read();
  const auto& x = data.training.windows[0];
  const auto score = [&](std::size_t start, std::size_t end) {
    return score_of(data.training, x, start, end);
  };
  EXPECT_EQ(score(6, 8).exact, 1);
  EXPECT_EQ(score(6, 8).f1, 1);
  // "ff c d," of "ff c": a comma does not count.
  EXPECT_EQ(score(6, 10).exact, 0);
  EXPECT_DOUBLE_EQ(score(6, 10).f1, 0.8);
  // "f c" is what half of "ff" and "c" give.
  EXPECT_EQ(score(7, 8).exact, 0);
  EXPECT_DOUBLE_EQ(score(7, 8).f1, 0.5);
  EXPECT_EQ(score(11, 11).f1, 0);
}

TEST(Squad, TheBestOfSeveralAnswersCounts) {
  const squad_folder folder;
  auto several = question("?", answer("b", 2));
  several["answers"].push_back(answer("c b", 0));
  folder.write("dev", squad("c b", {several}));
  const auto data = folder.read();
  const auto& x = data.validation.windows[0];
  EXPECT_EQ(score_of(data.validation, x, x.first, x.first + 1).exact, 1);
  EXPECT_EQ(score_of(data.validation, x, x.first + 1, x.first + 1).exact, 1);
  EXPECT_DOUBLE_EQ(score_of(data.validation, x, x.first, x.first).f1, 2. / 3);
  EXPECT_EQ(x.start, x.first + 1); // by the first answer
}

TEST(Squad, ReadsNoMoreThanAskedFor) {
  const squad_folder folder;
  EXPECT_EQ(folder.read({1, 1, 16, 4, 13}).training.windows.size(), 1);
  EXPECT_THROW(folder.read({3, 1, 16, 4, 13}), std::invalid_argument);
  EXPECT_THROW(folder.read({2, 2, 16, 4, 13}), std::invalid_argument);
  EXPECT_THROW(folder.read({2, 1, 16, 4, 12}), std::invalid_argument);
}

TEST(Squad, MissingFilesAreNamed) {
  for (const auto* name : {"vocab.txt", "train-v1.1.json", "dev-v1.1.json"}) {
    const squad_folder folder;
    std::filesystem::remove(folder.path + '/' + name);
    try {
      folder.read();
      ADD_FAILURE() << name;
    } catch (const missing_data_error& e) {
      for (const auto& word :
           {std::string{name}, folder.path, std::string{"data.folder"},
            std::string{"synthetic"}})
        EXPECT_NE(std::string{e.what()}.find(word), std::string::npos) << word;
    }
  }
}

TEST(Squad, DamageIsNamedWithItsPlace) {
  const squad_folder folder;
  const auto file = folder.path + "/train-v1.1.json";
  const auto right = squad("a b", {question("?", answer("b", 2))});
  const auto expect = [&](const std::string& pointer, const json& value,
                          const std::string& what) {
    auto x = right;
    x[json::json_pointer{pointer}] = value;
    folder.train(x);
    EXPECT_EQ(folder.failure(),
              file + " is damaged or not of SQuAD 1.1: " + what);
  };
  const std::string qas = "/data/0/paragraphs/0/qas/0";
  const std::string place = "data[0].paragraphs[0].qas[0]";
  expect("", json::array(), "it has no member 'data'");
  expect("/data", 1, "data must be a list");
  expect("/data/0/paragraphs/0", json::object(),
         "data[0].paragraphs[0] has no member 'context'");
  expect("/data/0/paragraphs/0/context", 3,
         "data[0].paragraphs[0].context must be a text");
  expect(qas + "/answers", json::array(),
         place + ".answers must have an answer, as every question of version "
                 "1.1 has");
  expect(qas + "/answers/0/answer_start", -1,
         place + ".answers[0].answer_start must be a whole number from 0 on");
  for (const auto start : {3, 4, 1000000000})
    expect(qas + "/answers/0/answer_start", start,
           place + ".answers[0].answer_start is outside of the context");
  expect(qas + "/answers/0", answer(" ", 1),
         place + ".answers[0] has no word of the context");

  write_file(file, "{\"data\": [\xff]}");
  EXPECT_EQ(folder.failure().find(file + " is damaged: "), 0);
  write_file(file, "");
  EXPECT_EQ(folder.failure().find(file + " is damaged: "), 0);
}

TEST(Windows, OverlapAndHoldEverything) {
  const word_piece words{
    {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d"}};
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "abcd"[i % 4] + std::string{' '};
  const passage where{text, words.split(text)};
  const auto asked = words.split("a b c");
  constexpr std::size_t length = 20, room = length - 3 - 3;
  const auto windows = cut_into_windows(words, asked, where, 16, 18, length, 5);
  // From 0, 5, ... up to the first that holds the last token.
  ASSERT_EQ(windows.size(), 9);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto& x = windows[i];
    EXPECT_EQ(x.offset, 5 * i);
    EXPECT_EQ(x.first, 5);
    EXPECT_LE(x.tokens.size(), length);
    const auto size = x.last() - x.first;
    EXPECT_EQ(size, std::min(room, 50 - x.offset));
    for (std::size_t j = 0; j < size; ++j)
      EXPECT_EQ(x.tokens[x.first + j], where.parts[x.offset + j].token);
    const bool holds = x.offset <= 16 && 18 < x.offset + size;
    EXPECT_EQ(x.start, holds ? x.first + 16 - x.offset : 0) << i;
    EXPECT_EQ(x.end, holds ? x.first + 18 - x.offset : 0) << i;
  }
  // A stride above the window leaves nothing out.
  const auto apart = cut_into_windows(words, asked, where, 16, 18, length, 40);
  ASSERT_EQ(apart.size(), 4);
  EXPECT_EQ(apart[1].offset, room);
}

TEST(Windows, LongQuestionsAreCut) {
  const word_piece words{{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"}};
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "a ";
  const passage where{"a", words.split("a")};
  const auto first = [&](std::size_t length) {
    return cut_into_windows(words, words.split(text), where, 0, 0, length, 4)
      .at(0)
      .first;
  };
  EXPECT_EQ(first(384), 66);
  EXPECT_EQ(first(23), 12);
}

TEST(MadeSpans, HaveTheirAnswerBetweenMarks) {
  const span_limits limits{200, 50, 32, 4, 64};
  const auto data = make_spans(limits);
  ASSERT_EQ(data.training.windows.size(), limits.training);
  ASSERT_EQ(data.validation.windows.size(), limits.validation);
  std::set<std::size_t> sizes, starts, kinds;
  for (const auto& x : data.training.windows) {
    EXPECT_LE(x.tokens.size(), limits.length);
    for (const auto token : x.tokens)
      EXPECT_TRUE(token > 0 && token < 64) << token;
    const auto kind = x.tokens[2] - 4;
    EXPECT_EQ(x.tokens[x.start], 8 + kind);
    EXPECT_EQ(x.tokens[x.end], 12 + kind);
    EXPECT_EQ(std::ranges::count(x.tokens, 8 + kind), 1);
    const auto score = score_of(data.training, x, x.start, x.end);
    EXPECT_EQ(score.exact, 1);
    EXPECT_LT(score_of(data.training, x, x.start, x.start).f1, 1);
    sizes.insert(x.tokens.size());
    starts.insert(x.start);
    kinds.insert(static_cast<std::size_t>(kind));
  }
  EXPECT_GT(sizes.size(), 3);
  EXPECT_GT(starts.size(), 10);
  EXPECT_EQ(kinds.size(), 4);
  // The smallest that is allowed.
  EXPECT_NO_THROW(make_spans({500, 1, 16, 1, 32}));
}

TEST(MadeSpans, AreAlwaysTheSame) {
  const auto x = make_spans({20, 20, 32, 4, 64});
  const auto y = make_spans({10, 20, 32, 4, 64});
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(x.training.windows[i].tokens, y.training.windows[i].tokens);
  EXPECT_NE(x.training.windows[0].tokens, x.validation.windows[0].tokens);
}

} // namespace hippo

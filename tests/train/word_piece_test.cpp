#include "hippo/train/torch/data/word_piece.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

using words = std::vector<std::string>;

const words small_vocabulary{"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                             "un",    "##able", "##a"};

std::string failure_of(const std::string& path) {
  try {
    word_piece::read(path);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return {};
}

} // namespace

TEST(WordPiece, SplitsAsTheReferenceDoes) {
  std::ifstream file{REFERENCE_FOLDER "/bert.json"};
  const auto expected = nlohmann::json::parse(file).at("tokenizer");
  const word_piece x{expected.at("vocabulary").get<words>()};
  for (const auto& text : expected.at("texts")) {
    const auto& written = text.at("text").get_ref<const std::string&>();
    std::vector<word_part> right;
    for (std::size_t i = 0; i < text.at("ids").size(); ++i) {
      const auto& offsets = text.at("offsets")[i];
      const auto byte = [&](int side) {
        return static_cast<std::uint32_t>(
          byte_of_character(written, offsets[side].get<std::size_t>()));
      };
      right.push_back(
        {text.at("ids")[i].get<std::int32_t>(), byte(0), byte(1)});
    }
    EXPECT_EQ(x.split(written), right) << text;
  }
}

TEST(WordPiece, BytesThatAreNoTextAreLeftOut) {
  const word_piece x{small_vocabulary};
  EXPECT_EQ(x.split("un\xff\xc3"), (std::vector<word_part>{{4, 0, 2}}));
  EXPECT_EQ(x.split("\x80un"), (std::vector<word_part>{{4, 1, 3}}));
}

TEST(WordPiece, TakesTheLongestBeginning) {
  const word_piece x{small_vocabulary};
  EXPECT_EQ(x.split("unable"), (std::vector<word_part>{{4, 0, 2}, {5, 2, 6}}));
  EXPECT_EQ(x.split("unaable"),
            (std::vector<word_part>{{4, 0, 2}, {6, 2, 3}, {5, 3, 7}}));
  EXPECT_EQ(x.split("unab"), (std::vector<word_part>{{1, 0, 4}}));
}

TEST(WordPiece, ReadsAFile) {
  const temporary_folder folder;
  const auto path = folder.path + "/vocab.txt";
  write_file(path, "[PAD]\r\n[SEP]\r\n[CLS]\r\n[UNK]\r\nun\r\n");
  const auto x = word_piece::read(path);
  EXPECT_EQ(x.size(), 5);
  EXPECT_EQ(x.sep(), 1);
  EXPECT_EQ(x.cls(), 2);
  EXPECT_EQ(x.unknown(), 3);
  EXPECT_EQ(x.split("un"), (std::vector<word_part>{{4, 0, 2}}));
}

TEST(WordPiece, FilesThatAreNoVocabularyAreRefused) {
  const temporary_folder folder;
  const auto path = folder.path + "/vocab.txt";
  EXPECT_NE(failure_of(path).find("cannot read " + path), std::string::npos);
  EXPECT_NE(failure_of(folder.path).find("cannot read"), std::string::npos);
  write_file(path, "");
  EXPECT_NE(failure_of(path).find("must be [PAD]"), std::string::npos);
  write_file(path, "[PAD]\n[UNK]\n[CLS]\n");
  EXPECT_EQ(failure_of(path),
            path + " is no vocabulary of BERT: there is no token [SEP]");
}

TEST(AnswerWords, AsTheEvaluationOfSquad) {
  // What Python makes of them: lower(), without string.punctuation, the regular
  // expression \b(a|an|the)\b replaced by a space, split().
  EXPECT_EQ(answer_words("The Cat's  an-a Ample, THE end."),
            (words{"cats", "ana", "ample", "end"}));
  EXPECT_EQ(answer_words("a\u2013b the\u2013an"),
            (words{"\u2013b", "\u2013"}));
  EXPECT_EQ(answer_words("x\u2013the\u2013y"), (words{"x\u2013", "\u2013y"}));
  EXPECT_EQ(answer_words("\u00c9COLE\u00a0a1 theatre"),
            (words{"\u00e9cole", "a1", "theatre"}));
  EXPECT_EQ(answer_words(" the. "), words{});
}

TEST(ByteOfCharacter, CountsCharacters) {
  const std::string text = "a\u00e9\U0001f600b";
  EXPECT_EQ(byte_of_character(text, 0), 0);
  EXPECT_EQ(byte_of_character(text, 2), 3);
  EXPECT_EQ(byte_of_character(text, 3), 7);
  EXPECT_EQ(byte_of_character(text, 4), 8);
  EXPECT_EQ(byte_of_character(text, 5), std::string::npos);
}

} // namespace hippo

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hippo {

/// A token of a text: its number in the vocabulary, and the bytes
/// `[begin, end)` of the text that it stands for.
struct word_part {
  std::int32_t token = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  friend bool operator==(const word_part&, const word_part&) = default;
};

/// Splits text into the tokens of a vocabulary as uncased BERT does (Devlin et
/// al., 2019): lower case without accents, punctuation and Chinese characters
/// each a word of its own, and of each word again and again the longest
/// beginning that the vocabulary has.
class word_piece {
public:
  /// The token at place n has the number n; those that go on with a word begin
  /// with `##`. Of equal ones the last counts.
  /// Throws `std::invalid_argument` if a token that BERT needs is not there.
  explicit word_piece(const std::vector<std::string>& vocabulary);

  /// Reads a vocabulary file: a token on each line.
  /// Throws `std::runtime_error` if it cannot be read or is no vocabulary.
  static word_piece read(const std::string& path);

  /// Splits UTF-8; bytes that are none are left out. A word that the vocabulary
  /// cannot make, or of more than 100 characters, becomes one `[UNK]`.
  [[nodiscard]] std::vector<word_part> split(std::string_view text) const;

  [[nodiscard]] std::size_t size() const { return size_; }

  // Numbers of the special tokens; that of `[PAD]` is 0.
  [[nodiscard]] std::int32_t cls() const { return cls_; }
  [[nodiscard]] std::int32_t sep() const { return sep_; }
  [[nodiscard]] std::int32_t unknown() const { return unknown_; }

private:
  struct letter;
  void append_word(const std::vector<letter>& word,
                   std::vector<word_part>& parts) const;
  [[nodiscard]] std::int32_t special(const std::string& token) const;

  std::unordered_map<std::string, std::int32_t> numbers_;
  std::size_t size_;
  std::int32_t cls_, sep_, unknown_;
};

/// Returns the words of an answer as SQuAD's evaluation compares them
/// (Rajpurkar et al., 2016): lower case, without punctuation and articles.
std::vector<std::string> answer_words(std::string_view text);

/// Returns where character `index` of UTF-8 text begins, in bytes; the text's
/// size if `index` is the number of its characters, and `std::string::npos`
/// if it is above that.
std::size_t byte_of_character(std::string_view text, std::size_t index);

} // namespace hippo

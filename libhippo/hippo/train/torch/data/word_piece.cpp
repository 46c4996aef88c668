#include "hippo/train/torch/data/word_piece.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>

namespace hippo {

namespace {

constexpr std::size_t longest_word = 100; ///< in characters

/// A character of a text and its bytes `[begin, end)`.
struct character {
  utf8proc_int32_t code = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Takes characters off a text; bytes that are no UTF-8 are U+FFFD each.
class character_reader {
public:
  explicit character_reader(std::string_view text) : text_(text) {}

  bool next(character& x) {
    if (at_ == text_.size())
      return false;
    const auto rest = text_.substr(at_);
    const auto size = utf8proc_iterate(
      reinterpret_cast<const utf8proc_uint8_t*>(rest.data()),
      static_cast<utf8proc_ssize_t>(rest.size()), &x.code);
    if (size <= 0)
      x.code = 0xfffd;
    x.begin = static_cast<std::uint32_t>(at_);
    at_ += static_cast<std::size_t>(std::max<utf8proc_ssize_t>(size, 1));
    x.end = static_cast<std::uint32_t>(at_);
    return true;
  }

private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::string utf8_of(utf8proc_int32_t code) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto size = utf8proc_encode_char(code, bytes.data());
  return {reinterpret_cast<const char*>(bytes.data()),
          static_cast<std::size_t>(size)};
}

/// The first letter of the name of a character's Unicode category.
char group_of(utf8proc_int32_t code) {
  return utf8proc_category_string(code)[0];
}

bool is_space(utf8proc_int32_t code) {
  return code == '\t' || code == '\n' || code == '\r' || group_of(code) == 'Z';
}

/// Whether BERT leaves the character out: control, format, for private use.
/// Characters that a version of Unicode has no name for yet stay.
bool is_dropped(utf8proc_int32_t code) {
  const auto category = utf8proc_category(code);
  return code == 0xfffd || category == UTF8PROC_CATEGORY_CC
         || category == UTF8PROC_CATEGORY_CF
         || category == UTF8PROC_CATEGORY_CO;
}

bool is_ascii_punctuation(utf8proc_int32_t code) {
  return (code >= 33 && code <= 47) || (code >= 58 && code <= 64)
         || (code >= 91 && code <= 96) || (code >= 123 && code <= 126);
}

bool is_punctuation(utf8proc_int32_t code) {
  return is_ascii_punctuation(code) || group_of(code) == 'P';
}

/// Whether it is of one of Unicode's blocks of Chinese characters, which have
/// no spaces between words.
bool is_chinese(utf8proc_int32_t code) {
  struct range {
    utf8proc_int32_t first, last;
  };
  constexpr std::array<range, 8> ranges{{{0x4e00, 0x9fff},
                                         {0x3400, 0x4dbf},
                                         {0x20000, 0x2a6df},
                                         {0x2a700, 0x2b73f},
                                         {0x2b740, 0x2b81f},
                                         {0x2b820, 0x2ceaf},
                                         {0xf900, 0xfaff},
                                         {0x2f800, 0x2fa1f}}};
  return std::ranges::any_of(ranges, [code](const range& x) {
    return code >= x.first && code <= x.last;
  });
}

/// Calls `use` with each character of the canonical decomposition (NFD) of one.
template <class F>
void decompose(utf8proc_int32_t code, F use) {
  // The longest decomposition has 4 characters.
  std::array<utf8proc_int32_t, 8> parts{};
  int boundary = 0;
  const auto count = utf8proc_decompose_char(
    code, parts.data(), static_cast<utf8proc_ssize_t>(parts.size()),
    UTF8PROC_DECOMPOSE, &boundary);
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    use(parts[static_cast<std::size_t>(i)]);
}

} // namespace

/// A character of a word in lower case, and the bytes that it comes from.
struct word_piece::letter {
  std::string text;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

word_piece::word_piece(const std::vector<std::string>& vocabulary)
  : size_(vocabulary.size()) {
  if (vocabulary.empty() || vocabulary.front() != "[PAD]")
    throw std::invalid_argument("the first token of a vocabulary must be "
                                "[PAD]");
  std::int32_t number = 0;
  for (const auto& token : vocabulary)
    numbers_[token] = number++;
  cls_ = special("[CLS]");
  sep_ = special("[SEP]");
  unknown_ = special("[UNK]");
}

word_piece word_piece::read(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::vector<std::string> vocabulary;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r'))
      line.pop_back();
    vocabulary.push_back(line);
  }
  if (!file.eof())
    throw std::runtime_error("cannot read " + path);
  try {
    return word_piece{vocabulary};
  } catch (const std::invalid_argument& e) {
    throw std::runtime_error(path + " is no vocabulary of BERT: " + e.what());
  }
}

std::int32_t word_piece::special(const std::string& token) const {
  const auto i = numbers_.find(token);
  if (i == numbers_.end())
    throw std::invalid_argument("there is no token " + token);
  return i->second;
}

std::vector<word_part> word_piece::split(std::string_view text) const {
  std::vector<word_part> result;
  std::vector<letter> word;
  const auto end_word = [&] {
    append_word(word, result);
    word.clear();
  };
  character_reader in{text};
  for (character x; in.next(x);) {
    if (is_space(x.code)) {
      end_word();
      continue;
    }
    if (is_dropped(x.code))
      continue;
    const bool chinese = is_chinese(x.code);
    if (chinese)
      end_word();
    decompose(x.code, [&](utf8proc_int32_t code) {
      if (utf8proc_category(code) == UTF8PROC_CATEGORY_MN)
        return; // an accent
      const bool alone = is_punctuation(code);
      if (alone)
        end_word();
      word.push_back({utf8_of(utf8proc_tolower(code)), x.begin, x.end});
      if (alone)
        end_word();
    });
    if (chinese)
      end_word();
  }
  end_word();
  return result;
}

void word_piece::append_word(const std::vector<letter>& word,
                             std::vector<word_part>& parts) const {
  if (word.empty())
    return;
  const word_part whole{unknown_, word.front().begin, word.back().end};
  if (word.size() > longest_word) {
    parts.push_back(whole);
    return;
  }
  const auto before = parts.size();
  for (std::size_t first = 0; first < word.size();) {
    std::string token = first > 0 ? "##" : "";
    std::size_t last = first;
    std::int32_t found = -1;
    for (auto i = first; i < word.size(); ++i) {
      token += word[i].text;
      if (const auto known = numbers_.find(token); known != numbers_.end()) {
        found = known->second;
        last = i;
      }
    }
    if (found < 0) {
      parts.resize(before);
      parts.push_back(whole);
      return;
    }
    parts.push_back({found, word[first].begin, word[last].end});
    first = last + 1;
  }
}

std::vector<std::string> answer_words(std::string_view text) {
  // In this order: lower case, punctuation out, articles out, split.
  std::vector<std::string> result;
  std::string word; // up to the next space
  std::string run;  // its end, of letters and digits alone
  const auto end_run = [&] {
    // An article is one between what is no letter, within a word as well, and
    // leaves a space.
    if (run == "a" || run == "an" || run == "the") {
      if (!word.empty())
        result.push_back(word);
      word.clear();
    } else {
      word += run;
    }
    run.clear();
  };
  const auto end_word = [&] {
    end_run();
    if (!word.empty())
      result.push_back(word);
    word.clear();
  };
  character_reader in{text};
  for (character x; in.next(x);) {
    if (is_ascii_punctuation(x.code))
      continue;
    // As Python's str.split() has it.
    if (group_of(x.code) == 'Z' || (x.code >= 9 && x.code <= 13)
        || (x.code >= 28 && x.code <= 31) || x.code == 0x85) {
      end_word();
      continue;
    }
    const auto lower = utf8proc_tolower(x.code);
    const auto group = group_of(lower);
    if (group == 'L' || group == 'N') {
      run += utf8_of(lower);
    } else {
      end_run();
      word += utf8_of(lower);
    }
  }
  end_word();
  return result;
}

std::size_t byte_of_character(std::string_view text, std::size_t index) {
  std::size_t count = 0;
  character_reader in{text};
  for (character x; in.next(x); ++count)
    if (count == index)
      return x.begin;
  return count == index ? text.size() : std::string::npos;
}

} // namespace hippo

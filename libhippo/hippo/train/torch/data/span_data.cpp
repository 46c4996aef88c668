#include "hippo/train/torch/data/span_data.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "hippo/train/torch/random.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

namespace {

using nlohmann::json;

constexpr std::size_t longest_question = 64; ///< in tokens
constexpr std::size_t special_tokens = 3;    ///< `[CLS]` and two `[SEP]`

/// A value of a JSON file and where it is: `data[3].paragraphs`.
class json_place {
public:
  json_place(const json& value, const std::string& file, std::string place = {})
    : value_(value), file_(file), place_(std::move(place)) {}

  [[nodiscard]] json_place member(const char* name) const {
    if (!value_.is_object() || !value_.contains(name))
      fail("has no member '" + std::string{name} + "'");
    return {value_.at(name), file_,
            place_.empty() ? name : place_ + '.' + name};
  }

  [[nodiscard]] json_place element(std::size_t index) const {
    return {value_.at(index), file_,
            place_ + '[' + std::to_string(index) + ']'};
  }

  /// The number of a list's elements.
  [[nodiscard]] std::size_t size() const {
    if (!value_.is_array())
      fail("must be a list");
    return value_.size();
  }

  [[nodiscard]] const std::string& text() const {
    if (!value_.is_string())
      fail("must be a text");
    return value_.get_ref<const std::string&>();
  }

  [[nodiscard]] std::size_t index() const {
    if (!value_.is_number_unsigned())
      fail("must be a whole number from 0 on");
    return value_.get<std::size_t>();
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(file_ + " is damaged or not of SQuAD 1.1: "
                             + (place_.empty() ? "it" : place_) + ' ' + what);
  }

private:
  const json& value_;
  const std::string& file_;
  std::string place_;
};

/// Where an answer is: its first and last token in the passage.
struct token_range {
  std::size_t start = 0;
  std::size_t end = 0;
};

/// Finds the tokens that an answer touches.
token_range find_answer(const passage& where, const json_place& answer) {
  const auto start = answer.member("answer_start");
  const auto begin = byte_of_character(where.text, start.index());
  const auto size = answer.member("text").text().size();
  if (begin == std::string::npos || begin + size > where.text.size())
    start.fail("is outside of the context");
  const auto end = begin + size;
  const auto& parts = where.parts;
  const auto first = std::ranges::find_if(
    parts, [begin](const word_part& x) { return x.end > begin; });
  const auto past = std::find_if(
    first, parts.end(), [end](const word_part& x) { return x.begin >= end; });
  if (first == past)
    answer.fail("has no word of the context");
  return {static_cast<std::size_t>(first - parts.begin()),
          static_cast<std::size_t>(past - parts.begin()) - 1};
}

/// How much to read: the rest of a file is left alone.
struct read_limits {
  std::size_t windows;
  std::size_t questions;
};

/// Appends the windows of a question.
void append_question(span_set& set, const word_piece& words,
                     const std::shared_ptr<const passage>& where,
                     const json_place& question, const span_limits& cut) {
  const auto answers = question.member("answers");
  if (answers.size() == 0)
    answers.fail("must have an answer, as every question of version 1.1 has");
  span_question x{where, {}};
  for (std::size_t i = 0; i < answers.size(); ++i)
    x.answers.push_back(answers.element(i).member("text").text());
  const auto range = find_answer(*where, answers.element(0));
  for (auto& window :
       cut_into_windows(words, words.split(question.member("question").text()),
                        *where, range.start, range.end, cut.length,
                        cut.stride)) {
    window.question = set.questions.size();
    set.windows.push_back(std::move(window));
  }
  set.questions.push_back(std::move(x));
}

span_set read_set(const std::string& path, const word_piece& words,
                  const span_limits& cut, const read_limits& limits) {
  json parsed;
  try {
    std::ifstream file{path, std::ios::binary};
    parsed = json::parse(file);
  } catch (const json::exception& e) {
    throw std::runtime_error(path + " is damaged: " + e.what());
  }
  span_set result;
  const auto articles = json_place{parsed, path}.member("data");
  for (std::size_t i = 0; i < articles.size(); ++i) {
    const auto paragraphs = articles.element(i).member("paragraphs");
    for (std::size_t j = 0; j < paragraphs.size(); ++j) {
      const auto paragraph = paragraphs.element(j);
      const auto& text = paragraph.member("context").text();
      const auto where =
        std::make_shared<const passage>(passage{text, words.split(text)});
      const auto questions = paragraph.member("qas");
      for (std::size_t k = 0; k < questions.size(); ++k) {
        if (result.windows.size() >= limits.windows
            || result.questions.size() >= limits.questions)
          return result;
        append_question(result, words, where, questions.element(k), cut);
      }
    }
  }
  return result;
}

std::string find_file(const std::string& folder, const char* name) {
  const auto path = (std::filesystem::path{folder} / name).string();
  if (!std::filesystem::exists(path))
    throw missing_data_error(
      "SQuAD is not in " + folder + " (no " + name
      + "): put train-v1.1.json and dev-v1.1.json of SQuAD 1.1 and the "
        "vocab.txt of uncased BERT there, give data.folder, or give data.set: "
        "synthetic, which needs no files");
  return path;
}

[[noreturn]] void refuse_too_little(const std::string& path, const char* option,
                                    std::size_t wanted, std::size_t there,
                                    const char* unit) {
  throw std::invalid_argument(std::string{option} + " is "
                              + std::to_string(wanted) + ", but " + path
                              + " has " + std::to_string(there) + ' ' + unit);
}

// Tokens of synthetic data.
constexpr std::int32_t synthetic_cls = 2;
constexpr std::int32_t synthetic_sep = 3;
constexpr std::int32_t kinds = 4;
constexpr std::int32_t first_name = 4;
constexpr std::int32_t first_opening = first_name + kinds;
constexpr std::int32_t first_closing = first_opening + kinds;
constexpr std::int32_t first_filler = first_closing + kinds;

/// Makes question `index` of a set, all of which share a passage of words that
/// say nothing but their place.
void append_synthetic(span_set& set,
                      const std::shared_ptr<const passage>& where,
                      std::uint64_t number_of_set, std::size_t index,
                      const span_limits& limits) {
  random_numbers numbers{0, purpose::example, {number_of_set, index}};
  const auto filler = [&] {
    return first_filler
           + static_cast<std::int32_t>(numbers.below(
             limits.vocabulary - static_cast<std::size_t>(first_filler)));
  };
  const auto kind_count = static_cast<std::uint64_t>(kinds);
  const auto asked = static_cast<std::int32_t>(numbers.below(kind_count));
  const auto other =
    (asked + 1 + static_cast<std::int32_t>(numbers.below(kind_count - 1)))
    % kinds;
  span_window x;
  x.tokens = {synthetic_cls, filler(), first_name + asked, synthetic_sep};
  x.first = x.tokens.size();
  // The passage: the two answers, marked, in halves of their own.
  const auto most = (limits.length - x.first - 1) / 2;
  const auto half = most - numbers.below(most / 2);
  const bool swapped = numbers.below(2) == 1;
  for (const auto kind : {swapped ? other : asked, swapped ? asked : other}) {
    const auto begin = x.tokens.size();
    for (std::size_t i = 0; i < half; ++i)
      x.tokens.push_back(filler());
    const auto size = 2 + numbers.below(2);
    const auto start = begin + numbers.below(half - size + 1);
    x.tokens[start] = first_opening + kind;
    x.tokens[start + size - 1] = first_closing + kind;
    if (kind == asked) {
      x.start = start;
      x.end = start + size - 1;
    }
  }
  x.tokens.push_back(synthetic_sep);
  x.question = set.questions.size();
  const auto begin = where->parts[x.start - x.first].begin;
  const auto end = where->parts[x.end - x.first].end;
  set.questions.push_back({where, {where->text.substr(begin, end - begin)}});
  set.windows.push_back(std::move(x));
}

double f1_of(const std::vector<std::string>& x,
             const std::vector<std::string>& y) {
  std::map<std::string, int> counts;
  for (const auto& word : x)
    ++counts[word];
  double same = 0;
  for (const auto& word : y)
    if (counts[word]-- > 0)
      ++same;
  if (same == 0)
    return 0;
  const auto precision = same / static_cast<double>(x.size());
  const auto recall = same / static_cast<double>(y.size());
  return 2 * precision * recall / (precision + recall);
}

} // namespace

std::vector<span_window>
cut_into_windows(const word_piece& words,
                 const std::vector<word_part>& question, const passage& where,
                 std::size_t start, std::size_t end, std::size_t length,
                 std::size_t stride) {
  const auto room = length - special_tokens;
  const auto asked = std::min({question.size(), longest_question, room / 2});
  std::vector<std::int32_t> head{words.cls()};
  for (std::size_t i = 0; i < asked; ++i)
    head.push_back(question[i].token);
  head.push_back(words.sep());

  std::vector<span_window> result;
  const auto total = where.parts.size();
  for (std::size_t offset = 0;;) {
    const auto size = std::min(room - asked, total - offset);
    span_window x;
    x.tokens = head;
    x.first = head.size();
    x.offset = offset;
    for (auto i = offset; i < offset + size; ++i)
      x.tokens.push_back(where.parts[i].token);
    x.tokens.push_back(words.sep());
    if (start >= offset && end < offset + size) {
      x.start = x.first + start - offset;
      x.end = x.first + end - offset;
    }
    result.push_back(std::move(x));
    if (offset + size == total)
      return result;
    offset += std::min(size, stride);
  }
}

span_data read_squad(const std::string& folder, const span_limits& limits) {
  const auto train = find_file(folder, "train-v1.1.json");
  const auto dev = find_file(folder, "dev-v1.1.json");
  const auto vocabulary = find_file(folder, "vocab.txt");
  const auto words = word_piece::read(vocabulary);
  if (words.size() > limits.vocabulary)
    throw std::invalid_argument(
      "data.vocabulary is " + std::to_string(limits.vocabulary) + ", but "
      + vocabulary + " has " + std::to_string(words.size()) + " tokens");
  span_data result{
    read_set(train, words, limits, {limits.training, std::string::npos}),
    read_set(dev, words, limits, {std::string::npos, limits.validation})};
  auto& windows = result.training.windows;
  if (windows.size() < limits.training)
    refuse_too_little(train, "data.train", limits.training, windows.size(),
                      "windows of this length and stride");
  windows.resize(limits.training);
  const auto there = result.validation.questions.size();
  if (there < limits.validation)
    refuse_too_little(dev, "data.validation", limits.validation, there,
                      "questions");
  return result;
}

span_data make_spans(const span_limits& limits) {
  passage places;
  for (std::size_t i = 0; i < limits.length; ++i) {
    word_part x;
    x.begin = static_cast<std::uint32_t>(places.text.size());
    places.text += 'p' + std::to_string(i);
    x.end = static_cast<std::uint32_t>(places.text.size());
    places.text += ' ';
    places.parts.push_back(x);
  }
  const auto where = std::make_shared<const passage>(std::move(places));
  span_data result;
  for (std::size_t i = 0; i < limits.training; ++i)
    append_synthetic(result.training, where, 0, i, limits);
  for (std::size_t i = 0; i < limits.validation; ++i)
    append_synthetic(result.validation, where, 1, i, limits);
  return result;
}

span_score score_of(const span_set& set, const span_window& window,
                    std::size_t start, std::size_t end) {
  const auto& question = set.questions[window.question];
  const auto& [text, parts] = *question.where;
  const auto begin = parts[window.offset + start - window.first].begin;
  const auto past = parts[window.offset + end - window.first].end;
  const auto predicted =
    answer_words(std::string_view{text}.substr(begin, past - begin));
  span_score best;
  for (const auto& answer : question.answers) {
    const auto right = answer_words(answer);
    best.exact = std::max(best.exact, predicted == right ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, f1_of(predicted, right));
  }
  return best;
}

} // namespace hippo

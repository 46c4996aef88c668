#include "hippo/train/torch/clicks/click_log.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "hippo/base/hash.hpp"
#include "hippo/base/portable_math.hpp"
#include "hippo/train/torch/random.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

namespace {

/// Impressions that are made are the same for every seed of a workload, as
/// those of files are.
constexpr std::uint64_t made_clicks_seed = 1;

/// Different tokens of a category in impressions that are made.
constexpr std::uint64_t made_tokens = 1000;

/// Fields of a line: the label, numbers, categories.
constexpr std::size_t field_count =
  1 + click_log::number_count + click_log::category_count;

/// Returns a normally distributed number.
double bell(random_numbers& numbers) {
  return normal_quantile(numbers.uniform());
}

/// Decides the clicks of impressions that are made.
class click_teacher {
public:
  click_teacher() : categories_(click_log::category_count * made_tokens) {
    random_numbers numbers{made_clicks_seed, purpose::click_teacher, {}};
    for (auto& share : shares_)
      share = 0.2 * bell(numbers);
    for (auto& each : categories_) {
      each.effect = 0.25 * bell(numbers);
      for (auto& factor : each.parts)
        factor = 0.17 * bell(numbers);
    }
  }

  using tokens = std::array<std::uint64_t, click_log::category_count>;

  [[nodiscard]] double logit(const float* numbers, const tokens& chosen) const {
    double result = -1.2;
    for (std::size_t i = 0; i < shares_.size(); ++i)
      result += shares_[i] * static_cast<double>(numbers[i]);
    factors sum{}, squares{};
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      const auto& each = categories_[c * made_tokens + chosen[c]];
      result += each.effect;
      for (std::size_t k = 0; k < sum.size(); ++k) {
        sum[k] += each.parts[k];
        squares[k] += each.parts[k] * each.parts[k];
      }
    }
    for (std::size_t k = 0; k < sum.size(); ++k)
      result += (sum[k] * sum[k] - squares[k]) / 2; // products of all pairs
    return result;
  }

private:
  using factors = std::array<double, 4>;
  struct token_effect {
    double effect = 0;
    factors parts{};
  };

  std::array<double, click_log::number_count> shares_{};
  std::vector<token_effect> categories_; ///< categories x tokens
};

/// Impressions to be filled in.
struct open_log {
  click_log log;
  float* numbers;
  std::int32_t* rows;
  float* labels;

  explicit open_log(std::size_t size)
    : log{at::zeros({static_cast<std::int64_t>(size), click_log::number_count},
                    at::kFloat),
          at::empty(
            {static_cast<std::int64_t>(size), click_log::category_count},
            at::kInt),
          at::empty({static_cast<std::int64_t>(size)}, at::kFloat)},
      numbers(log.numbers.mutable_data_ptr<float>()),
      rows(log.rows.mutable_data_ptr<std::int32_t>()),
      labels(log.labels.mutable_data_ptr<float>()) {}

  /// Goes on to the next impression.
  void advance() {
    numbers += click_log::number_count;
    rows += click_log::category_count;
    ++labels;
  }

  [[nodiscard]] click_data split(const click_split& how) const {
    const auto training = static_cast<std::int64_t>(how.training);
    return {log.part(0, training),
            log.part(training, static_cast<std::int64_t>(how.validation))};
  }
};

/// A line of a file, for messages.
struct line_place {
  const std::string& path;
  std::size_t number;

  [[noreturn]] void refuse(const std::string& why) const {
    throw std::runtime_error(path + ":" + std::to_string(number) + ": " + why);
  }
};

std::array<std::string_view, field_count> fields_of(std::string_view line,
                                                    const line_place& place) {
  std::array<std::string_view, field_count> result;
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  std::size_t count = 0;
  for (std::size_t begin = 0; begin <= line.size(); ++count) {
    const auto end = std::min(line.find('\t', begin), line.size());
    if (count < result.size())
      result[count] = line.substr(begin, end - begin);
    begin = end + 1;
  }
  if (count != result.size())
    place.refuse(std::to_string(count) + " fields, not "
                 + std::to_string(field_count)
                 + ": a label, 13 numbers and 26 categories, separated by "
                   "tabs");
  return result;
}

float number_of(std::string_view field, std::size_t index,
                const line_place& place) {
  std::int64_t value = 0;
  const auto* end = field.data() + field.size();
  if (const auto [rest, error] = std::from_chars(field.data(), end, value);
      !field.empty() && (error != std::errc{} || rest != end))
    place.refuse("field " + std::to_string(index + 1)
                 + " is a whole number or empty, not '" + std::string{field}
                 + "'");
  return static_cast<float>(
    portable_log(1 + static_cast<double>(std::max<std::int64_t>(value, 0))));
}

void put_line(const std::string& line, const line_place& place,
              std::uint64_t rows, open_log& to) {
  const auto fields = fields_of(line, place);
  if (fields[0] != "0" && fields[0] != "1")
    place.refuse("the label is 0 or 1, not '" + std::string{fields[0]} + "'");
  *to.labels = fields[0] == "1" ? 1 : 0;
  std::size_t index = 1;
  for (std::int64_t i = 0; i < click_log::number_count; ++i, ++index)
    to.numbers[i] = number_of(fields[index], index, place);
  for (std::int64_t c = 0; c < click_log::category_count; ++c, ++index)
    to.rows[c] = click_row(
      c, hash_bytes(fields[index].data(), fields[index].size()), rows);
}

} // namespace

std::int32_t click_row(std::int64_t category, std::uint64_t token,
                       std::uint64_t rows) {
  const auto mixed =
    scramble(token ^ scramble(static_cast<std::uint64_t>(category) + 1));
  return static_cast<std::int32_t>(mixed % rows);
}

click_data make_clicks(const click_split& split) {
  const click_teacher teacher;
  const auto size = split.training + split.validation;
  open_log to{size};
  const auto spread = portable_log(static_cast<double>(made_tokens));
  click_teacher::tokens tokens;
  for (std::uint64_t i = 0; i < size; ++i, to.advance()) {
    random_numbers numbers{made_clicks_seed, purpose::click, {i}};
    for (std::int64_t k = 0; k < click_log::number_count; ++k)
      to.numbers[k] = static_cast<float>(bell(numbers));
    for (std::size_t c = 0; c < tokens.size(); ++c) {
      // Token t has a share of about 1 / t.
      tokens[c] =
        static_cast<std::uint64_t>(portable_exp(numbers.uniform() * spread))
        - 1;
      to.rows[c] =
        click_row(static_cast<std::int64_t>(c), tokens[c], split.rows);
    }
    const auto logit = teacher.logit(to.numbers, tokens);
    *to.labels = numbers.uniform() < 1 / (1 + portable_exp(-logit)) ? 1 : 0;
  }
  return to.split(split);
}

click_data read_criteo(const std::string& path, const click_split& split) {
  std::ifstream in{path, std::ios::binary};
  if (!in)
    throw missing_data_error(
      "Criteo's log is not at " + path
      + ": data.file names its train.txt, or take data.set: synthetic");
  const auto size = split.training + split.validation;
  open_log to{size};
  std::string line;
  for (std::size_t i = 0; i < size; ++i, to.advance()) {
    if (!std::getline(in, line))
      throw std::runtime_error(
        path + " has " + std::to_string(i) + " lines: data.train "
        + std::to_string(split.training) + " and data.validation "
        + std::to_string(split.validation) + " need " + std::to_string(size));
    put_line(line, {path, i + 1}, split.rows, to);
  }
  return to.split(split);
}

} // namespace hippo

#include "hippo/space/value_reader.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "hippo/base/number.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;
using kind = document::kind;

json meaning_of(const document& x) {
  return x.type == kind::leaf ? x.meaning() : json{};
}

} // namespace

scalar to_scalar(const document& document) {
  const auto value = document.meaning();
  if (value.is_string())
    return value.get<std::string>();
  return value.is_boolean() ? static_cast<double>(value.get<bool>())
                            : value.get<double>();
}

void value_reader::known_keys(const document& document, const std::string& what,
                              const std::vector<std::string>& known) const {
  for (const auto& entry : document.entries)
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      notes_->unknown_key(entry, what, known);
}

const document* value_reader::required(const document& document,
                                       const std::string& key) const {
  const auto* result = document.find(key);
  if (result == nullptr)
    notes_->error(document, "'" + key + "' is missing");
  return result;
}

bool value_reader::is_map(const document& document,
                          const std::string& what) const {
  if (document.type == kind::map)
    return true;
  notes_->error(document,
                "must be a map of " + what + ", found " + document.found());
  return false;
}

std::optional<std::string> value_reader::word(const document& document) const {
  if (document.type == kind::leaf && !document.text.empty())
    return document.text;
  notes_->error(document, "must be a word, found " + document.found());
  return {};
}

std::optional<bool> value_reader::truth(const document& document) const {
  if (const auto value = meaning_of(document); value.is_boolean())
    return value.get<bool>();
  notes_->error(document, "must be true or false, found " + document.found());
  return {};
}

std::optional<std::vector<std::string>>
value_reader::words(const document& document) const {
  if (document.type != kind::list || document.items.empty()) {
    notes_->error(document, "must be a list of at least one word, found "
                              + document.found());
    return {};
  }
  std::vector<std::string> result;
  for (const auto& item : document.items)
    if (auto text = word(item))
      result.push_back(std::move(*text));
  if (result.size() != document.items.size())
    return {};
  return result;
}

std::optional<std::uint64_t> value_reader::whole(const document& document,
                                                 std::uint64_t least,
                                                 std::uint64_t most) const {
  const auto value = meaning_of(document);
  const auto number = value.is_number() ? value.get<double>() : -1;
  // Written so that NaN is refused too.
  if (number >= static_cast<double>(least)
      && number <= static_cast<double>(most) && std::floor(number) == number)
    return static_cast<std::uint64_t>(number);
  notes_->error(document, "must be a whole number from " + std::to_string(least)
                            + " to " + std::to_string(most) + ", found "
                            + document.found());
  return {};
}

std::optional<double> value_reader::finite(const document& document) const {
  const auto value = meaning_of(document);
  if (value.is_number() && std::isfinite(value.get<double>()))
    return value.get<double>();
  notes_->error(document, "must be a finite number, found " + document.found());
  return {};
}

std::optional<double> value_reader::from_zero(const document& document,
                                              double most) const {
  const auto value = meaning_of(document);
  const auto number = value.is_number() ? value.get<double>() : -1;
  // Written so that NaN is refused too.
  if (number >= 0 && number <= most)
    return number;
  notes_->error(document, "must be a number from 0 to " + to_text(most)
                            + ", found " + document.found());
  return {};
}

std::optional<double> value_reader::positive(const document& document) const {
  const auto value = meaning_of(document);
  const auto number = value.is_number() ? value.get<double>() : -1;
  if (number > 0 && std::isfinite(number))
    return number;
  notes_->error(document,
                "must be a finite number above 0, found " + document.found());
  return {};
}

} // namespace hippo

#include "gateway/cell_column.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>

namespace hippo {

namespace {

static_assert(std::endian::native == std::endian::little,
              "what pages get as float32 is little-endian");

void add_base64(std::string& to, std::string_view bytes) {
  static constexpr char digits[]
    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::size_t i = 0;
  const auto byte = [&](std::size_t k) {
    return k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0u;
  };
  for (; i < bytes.size(); i += 3) {
    const unsigned x = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    to += digits[x >> 18];
    to += digits[x >> 12 & 63];
    to += i + 1 < bytes.size() ? digits[x >> 6 & 63] : '=';
    to += i + 2 < bytes.size() ? digits[x & 63] : '=';
  }
}

void add_floats(std::string& to, const std::vector<float>& xs) {
  to += R"({"float32":")";
  add_base64(to, {reinterpret_cast<const char*>(xs.data()),
                  xs.size() * sizeof(float)});
  to += "\"}";
}

/// Adds a list; `add` adds each item.
template <class Items, class Add>
void add_list(std::string& to, const Items& items, Add add) {
  to += '[';
  for (const auto& x : items) {
    add(x);
    to += ',';
  }
  if (to.back() == ',')
    to.pop_back();
  to += ']';
}

} // namespace

void add_number(std::string& to, double value) {
  if (!std::isfinite(value)) {
    to += "null";
    return;
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value).ptr;
  to.append(text.begin(), end);
}

void add_number(std::string& to, std::uint64_t value) {
  std::array<char, 24> text{};
  const auto end = std::to_chars(text.begin(), text.end(), value).ptr;
  to.append(text.begin(), end);
}

void add_numbers(std::string& to, const std::vector<double>& xs) {
  if (xs.size() > plain_rows_max)
    add_floats(to, {xs.begin(), xs.end()});
  else
    add_list(to, xs, [&](double x) { add_number(to, x); });
}

std::size_t cell_column::hash::operator()(const cell& content) const {
  return std::hash<std::uint64_t>{}(content.bits() ^ content.word);
}

void cell_column::put(std::size_t row, const cell& content) {
  if (cells_.size() <= row)
    cells_.resize(row + 1);
  cells_[row] = content;
}

void cell_column::set(std::size_t row, double number) {
  put(row, std::isfinite(number) ? cell{number} : cell{});
}

void cell_column::set(std::size_t row, std::string_view word) {
  if (word == "null") {
    put(row, {});
    return;
  }
  const auto [known, is_new] = numbers_of_words_.try_emplace(
    std::string{word}, static_cast<std::uint32_t>(words_.size() + 1));
  if (is_new) {
    words_.push_back(&known->first);
    word_bytes_ += word.size();
  }
  put(row, {0, known->second});
}

void cell_column::add_cell(std::string& to, const cell& content) const {
  if (content.word != 0)
    to += *words_[content.word - 1];
  else
    add_number(to, content.number);
}

void cell_column::add_to(std::string& to,
                         const std::vector<std::size_t>& rows) const {
  if (rows.size() <= plain_rows_max) {
    add_list(to, rows, [&](std::size_t row) { add_cell(to, at(row)); });
    return;
  }
  // Those that are there, in the order in which they come.
  std::unordered_map<cell, std::uint64_t, hash> places;
  std::vector<cell> found;
  std::vector<std::uint64_t> place_of;
  place_of.reserve(rows.size());
  for (const auto row : rows) {
    if (words_.empty() && found.size() > rows.size() / 4) {
      std::vector<float> numbers;
      numbers.reserve(rows.size());
      for (const auto i : rows)
        numbers.push_back(static_cast<float>(at(i).number));
      add_floats(to, numbers);
      return;
    }
    const auto x = at(row);
    const auto [known, is_new] = places.try_emplace(x, found.size());
    if (is_new)
      found.push_back(x);
    place_of.push_back(known->second);
  }
  to += R"({"of":)";
  add_list(to, found, [&](const cell& x) { add_cell(to, x); });
  to += R"(,"at":)";
  add_list(to, place_of, [&](std::uint64_t x) { add_number(to, x); });
  to += '}';
}

std::size_t cell_column::bytes() const {
  constexpr std::size_t entry_bytes = 96; // of the map and the list
  return cells_.size() * sizeof cells_[0] + words_.size() * entry_bytes
         + word_bytes_;
}

} // namespace hippo

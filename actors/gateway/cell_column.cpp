#include "gateway/cell_column.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

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

const std::string cell_column::null_{"null"};

void add_number(std::string& to, double x) {
  if (!std::isfinite(x)) {
    to += "null";
    return;
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.begin(), text.end(), x).ptr;
  to.append(text.begin(), end);
}

void add_number(std::string& to, std::uint64_t x) {
  std::array<char, 24> text{};
  const auto end = std::to_chars(text.begin(), text.end(), x).ptr;
  to.append(text.begin(), end);
}

void add_numbers(std::string& to, const std::vector<double>& xs) {
  if (xs.size() > plain_rows_max)
    add_floats(to, {xs.begin(), xs.end()});
  else
    add_list(to, xs, [&](double x) { add_number(to, x); });
}

void cell_column::set(std::size_t row, std::string_view json) {
  if (at_.size() <= row)
    at_.resize(row + 1);
  if (json == null_) {
    at_[row] = 0;
    return;
  }
  const auto [place, is_new] = places_.try_emplace(
    std::string{json}, static_cast<std::uint32_t>(values_.size()));
  at_[row] = place->second;
  if (!is_new)
    return;
  const auto& text = place->first;
  values_.push_back(&text);
  value_bytes_ += text.size();
  auto& number = numbers_.emplace_back(not_a_number);
  const auto [end, failed]
    = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || end != text.data() + text.size()) {
    number = not_a_number;
    ++words_;
  }
}

void cell_column::add_to(std::string& to,
                         const std::vector<std::size_t>& rows) const {
  if (rows.size() <= plain_rows_max) {
    add_list(to, rows, [&](std::size_t row) { to += *values_[at(row)]; });
    return;
  }
  // Those that are there, in the order in which they come.
  std::vector<std::uint32_t> places(values_.size(), UINT32_MAX), found;
  for (const auto row : rows)
    if (auto& place = places[at(row)]; place == UINT32_MAX) {
      place = static_cast<std::uint32_t>(found.size());
      found.push_back(at(row));
    }
  if (words_ == 0 && found.size() > rows.size() / 4) {
    std::vector<float> numbers;
    numbers.reserve(rows.size());
    for (const auto row : rows)
      numbers.push_back(static_cast<float>(numbers_[at(row)]));
    add_floats(to, numbers);
    return;
  }
  to += R"({"of":)";
  add_list(to, found, [&](std::uint32_t x) { to += *values_[x]; });
  to += R"(,"at":)";
  add_list(to, rows, [&](std::size_t row) {
    add_number(to, std::uint64_t{places[at(row)]});
  });
  to += '}';
}

std::size_t cell_column::bytes() const {
  constexpr std::size_t entry_bytes = 96; // of the map, and both lists
  return at_.size() * sizeof at_[0] + values_.size() * entry_bytes
         + value_bytes_;
}

} // namespace hippo

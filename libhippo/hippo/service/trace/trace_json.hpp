#pragma once

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "hippo/net/wire/codec.hpp"
#include "hippo/sequence/configuration.hpp"

// Values as JSON text and back, bit for bit. Structs are written and read by
// their function `fields`, which calls its first argument with the name of each
// field and the field.

namespace hippo::trace {

template <class T>
inline constexpr bool is_duration = false;
template <class Rep, class Period>
inline constexpr bool is_duration<std::chrono::duration<Rep, Period>> = true;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
inline constexpr bool is_shared = false;
template <class T>
inline constexpr bool is_shared<std::shared_ptr<T>> = true;

template <class T>
inline constexpr bool is_variant = false;
template <class... Ts>
inline constexpr bool is_variant<std::variant<Ts...>> = true;

template <class T>
inline constexpr bool is_tuple = false;
template <class... Ts>
inline constexpr bool is_tuple<std::tuple<Ts...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

/// Writes values as JSON. A string is taken as bytes: one above 127 is the
/// character of that number, so that no string is refused or changed.
class writer {
public:
  /// Writes a field of the present struct.
  template <class T>
  void operator()(const char* name, T& value) {
    if (text_.back() != '{')
      text_ += ',';
    put_string(name);
    text_ += ':';
    put(value);
  }

  template <class T>
  void put(T& value) {
    using type = std::remove_const_t<T>;
    if constexpr (std::is_same_v<type, bool>) {
      text_ += value ? "true" : "false";
    } else if constexpr (std::is_enum_v<type>) {
      const auto number = static_cast<std::underlying_type_t<type>>(value);
      put_integer(number);
    } else if constexpr (std::is_integral_v<type>) {
      put_integer(value);
    } else if constexpr (std::is_floating_point_v<type>) {
      put_double(value);
    } else if constexpr (std::is_same_v<type, std::string>) {
      put_string(value);
    } else if constexpr (std::is_same_v<type, nlohmann::ordered_json>) {
      text_ += value.dump(-1, ' ', false,
                          nlohmann::ordered_json::error_handler_t::replace);
    } else if constexpr (std::is_same_v<type, configuration>) {
      put_string(encode_configuration(value));
    } else if constexpr (is_duration<type>) {
      put_integer(value.count());
    } else if constexpr (is_optional<type> || is_shared<type>) {
      if (value)
        put(*value);
      else
        text_ += "null";
    } else if constexpr (is_variant<type>) {
      text_ += '[';
      put_integer(value.index());
      text_ += ',';
      std::visit([this](auto& y) { put(y); }, value);
      text_ += ']';
    } else if constexpr (is_tuple<type>) {
      text_ += '[';
      std::apply(
        [this](auto&... ys) {
          bool is_first = true;
          ((text_ += std::exchange(is_first, false) ? "" : ",", put(ys)), ...);
        },
        value);
      text_ += ']';
    } else if constexpr (std::ranges::range<type>) {
      text_ += '[';
      bool is_first = true;
      for (auto& y : value) {
        text_ += std::exchange(is_first, false) ? "" : ",";
        put(y);
      }
      text_ += ']';
    } else {
      text_ += '{';
      fields(*this, const_cast<type&>(value)); // which changes nothing here
      text_ += '}';
    }
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

private:
  template <class T>
  void put_integer(T value) {
    text_ += std::to_string(value);
  }
  void put_double(double value);
  void put_string(const std::string& text);

  std::string text_;
};

/// The text is not as a writer writes it. Does not leave this folder.
struct malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads what a `writer` has written. Throws `malformed`, or an exception of
/// nlohmann's.
class reader {
public:
  explicit reader(const nlohmann::json& from) : from_(from) {}

  /// Reads a field of the present struct.
  template <class T>
  void operator()(const char* name, T& value) {
    reader{from_.at(name)}.get(value);
  }

  template <class T>
  void get(T& item) {
    if constexpr (std::is_same_v<T, bool>) {
      item = from_.get<bool>();
    } else if constexpr (std::is_enum_v<T>) {
      item = static_cast<T>(from_.get<std::underlying_type_t<T>>());
    } else if constexpr (std::is_integral_v<T>) {
      item = from_.get<T>();
    } else if constexpr (std::is_floating_point_v<T>) {
      item = get_double();
    } else if constexpr (std::is_same_v<T, std::string>) {
      item = get_string();
    } else if constexpr (std::is_same_v<T, configuration>) {
      auto read = decode_configuration(get_string());
      if (!read)
        throw malformed{read.failure().message};
      item = std::move(*read);
    } else if constexpr (is_duration<T>) {
      item = T{from_.get<typename T::rep>()};
    } else if constexpr (is_optional<T>) {
      item.reset();
      if (!from_.is_null())
        get(item.emplace());
    } else if constexpr (is_shared<T>) {
      item.reset();
      if (from_.is_null())
        return;
      std::remove_const_t<typename T::element_type> value;
      get(value);
      item = std::make_shared<typename T::element_type>(std::move(value));
    } else if constexpr (is_variant<T>) {
      get_alternative(item, from_.at(0).get<std::size_t>(),
                      std::make_index_sequence<std::variant_size_v<T>>{});
    } else if constexpr (is_tuple<T>) {
      get_elements(item, std::make_index_sequence<std::tuple_size_v<T>>{});
    } else if constexpr (std::ranges::range<T>) {
      item.clear();
      for (const auto& y : from_)
        add(item, y);
    } else {
      fields(*this, item);
    }
  }

private:
  template <class Variant, std::size_t... Is>
  void get_alternative(Variant& variant, std::size_t index,
                       std::index_sequence<Is...>) {
    const bool found =
      ((index == Is
        && (reader{from_.at(1)}.get(variant.template emplace<Is>()), true))
       || ...);
    if (!found)
      throw malformed{"there is no alternative " + std::to_string(index)};
  }

  template <class Tuple, std::size_t... Is>
  void get_elements(Tuple& tuple, std::index_sequence<Is...>) {
    (reader{from_.at(Is)}.get(std::get<Is>(tuple)), ...);
  }

  template <class Range>
  static void add(Range& to, const nlohmann::json& from) {
    if constexpr (requires { typename Range::mapped_type; }) {
      std::pair<typename Range::key_type, typename Range::mapped_type> x;
      reader{from}.get(x);
      to.insert(std::move(x));
    } else {
      typename Range::value_type x;
      reader{from}.get(x);
      to.insert(to.end(), std::move(x));
    }
  }

  [[nodiscard]] double get_double() const;
  [[nodiscard]] std::string get_string() const;

  const nlohmann::json& from_;
};

} // namespace hippo::trace

#include "hippo/model/workload_spec.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "hippo/base/number.hpp"
#include "hippo/model/workload_descriptor.hpp"

namespace hippo {

namespace {

constexpr auto any_device_name = "devices";

/// Escapes what would let a folder's name pass for a further option.
std::string escaped(const std::string& text,
                    std::string_view special = ";\\") {
  std::string result;
  for (auto c : text) {
    if (special.find(c) != special.npos)
      result += '\\';
    result += c;
  }
  return result;
}

/// The name of an option as it stands before its `=`. Digests of files have no
/// `=`, so their keys stayed as they were before it was escaped.
std::string escaped_name(const std::string& name) {
  if (name == any_device_name)
    return '\\' + name; // of a library: no part of this name
  return name.starts_with("file.") ? escaped(name) : escaped(name, ";\\=");
}

/// Reads `text` from `at` up to one of the characters `ends`, which a backslash
/// hides, and moves `at` there.
std::string unescaped(const std::string& text, std::size_t& at,
                      std::string_view ends) {
  std::string result;
  for (; at < text.size() && ends.find(text[at]) == ends.npos; ++at) {
    if (text[at] == '\\' && at + 1 < text.size())
      ++at;
    result += text[at];
  }
  return result;
}

/// The parts of a key by name, as people read them.
std::map<std::string, std::string> parts_of(const std::string& key) {
  std::map<std::string, std::string> result;
  for (auto& x : read_key(key))
    result.emplace(std::move(x.name), std::move(x.value));
  return result;
}

} // namespace

std::vector<key_part> read_key(const std::string& key) {
  std::vector<key_part> result;
  std::size_t at = 0;
  result.push_back({"", unescaped(key, at, ";"), false});
  while (at < key.size()) {
    ++at; // the semicolon
    key_part x;
    if (key.compare(at, 5, "file.") == 0) {
      // The name of a file may hold `=`, its digest does not.
      x.name = unescaped(key, at, ";");
      const auto split = std::min(x.name.rfind('='), x.name.size());
      if (split < x.name.size())
        x.value = x.name.substr(split + 1);
      x.name.resize(split);
    } else {
      x.name = unescaped(key, at, ";=");
      if (at < key.size() && key[at] == '=')
        ++at;
      // What is escaped in a text is a semicolon or a backslash.
      x.is_json = at + 1 < key.size() && key[at] == '\\' && key[at + 1] != ';'
                  && key[at + 1] != '\\';
      if (x.is_json)
        ++at;
      x.value = unescaped(key, at, ";");
    }
    result.push_back(std::move(x));
  }
  return result;
}

bool reads_as_number(const std::string& word) {
  double number = 0;
  const auto* end = word.data() + word.size();
  const auto [stop, code] = std::from_chars(word.data(), end, number);
  return code == std::errc{} && stop == end && std::isfinite(number)
         && to_text(number) == word;
}

std::string workload_name_of(const std::string& key) {
  return parts_of(key).at("");
}

std::vector<std::string> key_differences(const std::string& left,
                                         const std::string& right) {
  const auto ours = parts_of(left);
  const auto theirs = parts_of(right);
  if (ours.at("") != theirs.at(""))
    return {};
  std::set<std::string> names;
  for (const auto* parts : {&ours, &theirs})
    for (const auto& [name, value] : *parts)
      names.insert(name);
  const auto shown = [](const auto& parts, const std::string& name) {
    const auto i = parts.find(name);
    return i == parts.end() ? std::string{"none"} : i->second;
  };
  std::vector<std::string> result;
  for (const auto& name : names)
    if (const auto a = shown(ours, name), b = shown(theirs, name); a != b)
      result.push_back(name + ": " + a + " and " + b);
  return result;
}

std::string numerics_of(const workload_spec& spec) {
  const auto i = spec.options.find("numerics");
  if (i == spec.options.end())
    return {};
  // A library may have an option of that name which means something else.
  const auto* word = std::get_if<std::string>(&i->second);
  return word != nullptr && (*word == "native" || *word == "portable")
           ? *word
           : std::string{};
}

std::uint32_t ranks_of(const workload_spec& spec) {
  if (spec.name != python_workload)
    return 1;
  const auto i = spec.options.find("ranks");
  const auto* number =
    i == spec.options.end() ? nullptr : std::get_if<double>(&i->second);
  const bool is_number =
    number != nullptr && *number >= 1 && *number <= ranks_max;
  return is_number ? static_cast<std::uint32_t>(*number) : 1;
}

std::string key_of(const workload_spec& spec) {
  auto result = escaped(spec.name);
  for (const auto& [name, value] : spec.options) {
    // So it was before there was a choice: keys of that time stay.
    if (name == "numerics" && value == scalar{"native"})
      continue;
    const auto exact = spec.exact.find(name);
    result += ';' + escaped_name(name) + '='
              + (exact == spec.exact.end() ? escaped(to_text(value))
                                           : '\\' + escaped(exact->second));
  }
  if (spec.any_device)
    result += std::string{";"} + any_device_name + "=any";
  return result;
}

} // namespace hippo

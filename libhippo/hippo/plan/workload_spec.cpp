#include "hippo/plan/workload_spec.hpp"

#include <set>

#include "hippo/core/number.hpp"

namespace hippo {

namespace {

/// Escapes what would let a folder's name pass for a further option.
std::string escaped(const std::string& text) {
  std::string result;
  for (auto c : text) {
    if (c == ';' || c == '\\')
      result += '\\';
    result += c;
  }
  return result;
}

/// Takes a key apart: names and values as `escaped`, the workload's under "".
std::map<std::string, std::string> parts_of(const std::string& key) {
  std::map<std::string, std::string> result;
  std::string part;
  const auto add = [&] {
    const auto i = part.find('=');
    if (result.empty() || i == part.npos)
      result.emplace("", part);
    else
      result.emplace(part.substr(0, i), part.substr(i + 1));
    part.clear();
  };
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] == ';') {
      add();
      continue;
    }
    if (key[i] == '\\' && i + 1 < key.size())
      ++i;
    part += key[i];
  }
  add();
  return result;
}

} // namespace

std::string workload_name_of(const std::string& key) {
  return parts_of(key).at("");
}

std::vector<std::string> key_differences(const std::string& x,
                                         const std::string& y) {
  const auto ours = parts_of(x);
  const auto theirs = parts_of(y);
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

std::uint32_t lanes_of(const workload_spec& x) {
  const auto i = x.options.find("lanes");
  return i == x.options.end()
           ? 1
           : static_cast<std::uint32_t>(std::get<double>(i->second));
}

std::string numerics_of(const workload_spec& x) {
  const auto i = x.options.find("numerics");
  if (i == x.options.end())
    return {};
  // A library may have an option of that name which means something else.
  const auto* word = std::get_if<std::string>(&i->second);
  return word != nullptr && (*word == "native" || *word == "portable")
           ? *word
           : std::string{};
}

std::string key_of(const workload_spec& x) {
  auto result = escaped(x.name);
  for (const auto& [name, value] : x.options) {
    // So it was before there was a choice: keys of that time stay.
    if (name == "numerics" && value == scalar{"native"})
      continue;
    result += ';' + escaped(name) + '=' + escaped(to_text(value));
  }
  if (x.any_device)
    result += ";devices=any";
  return result;
}

} // namespace hippo

#include "hippo/train/workload_spec.hpp"

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

} // namespace

std::string key_of(const workload_spec& x) {
  auto result = escaped(x.name);
  for (const auto& [name, value] : x.options)
    result += ';' + escaped(name) + '=' + escaped(to_text(value));
  return result;
}

} // namespace hippo

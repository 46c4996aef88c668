// Reads study texts as the service does, for comparison with what Python reads:
// a JSON list of texts from stdin; to stdout a line for each, its values as
// JSON, each as a list of its type and what it is, or null if it is refused.

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace {

using json = nlohmann::ordered_json;

json typed(const hippo::document& x) {
  using kind = hippo::document::kind;
  auto items = json::array();
  switch (x.type) {
    case kind::nothing:
      return {"nothing", ""};
    case kind::leaf: {
      const auto value = x.meaning();
      if (value.is_number_float()) { // also what JSON has no word for
        std::string text(40, '\0');
        text.resize(static_cast<std::size_t>(std::snprintf(
          text.data(), text.size(), "%a", value.get<double>())));
        return {"float", text};
      }
      return {value.is_string()    ? "word"
              : value.is_boolean() ? "truth"
              : value.is_null()    ? "nothing"
                                   : "whole",
              value.is_string() ? x.text : value.dump()};
    }
    case kind::list:
      for (const auto& y : x.items)
        items.push_back(typed(y));
      return {"list", std::move(items)};
    case kind::map:
      for (const auto& y : x.entries)
        items.push_back({y.key, typed(y.value)});
      return {"map", std::move(items)};
  }
  return {};
}

} // namespace

int main() {
  const std::string all{std::istreambuf_iterator<char>{std::cin}, {}};
  for (const auto& text : json::parse(all)) {
    hippo::findings out;
    hippo::diagnostics notes{"text", out};
    const auto root = hippo::read_document(
      text.get<std::string>(), notes, "study", hippo::name_rules::of_before);
    const bool is_read = root && notes.errors() == 0;
    std::cout << (is_read ? typed(*root) : json()).dump() << '\n';
  }
}

#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/types.hpp"

namespace hippo {

/// A command line of a benchmark that trains: words in their order, and
/// anywhere between them `--option NAME=VALUE` for an option of the workload
/// and `--set NAME=VALUE` for a hyper-parameter.
struct arguments {
  std::vector<std::string> words;
  std::map<std::string, scalar> options;
  std::map<std::string, scalar> values;

  /// Ends the program with `usage` if there are fewer words than `least`.
  arguments(int argc, char** argv, std::size_t least, const char* usage) {
    const auto refuse = [usage] {
      std::fprintf(stderr, "usage: %s\n", usage);
      std::exit(2);
    };
    for (int i = 1; i < argc; ++i) {
      const std::string x = argv[i];
      if (x != "--option" && x != "--set") {
        words.push_back(x);
        continue;
      }
      const std::string pair = ++i < argc ? argv[i] : "";
      const auto sign = pair.find('=');
      if (sign == std::string::npos)
        refuse();
      (x == "--set" ? values : options)[pair.substr(0, sign)]
        = value_of(pair.substr(sign + 1));
    }
    if (words.size() < least)
      refuse();
  }

  [[nodiscard]] std::string word(std::size_t index,
                                 std::string otherwise) const {
    return index < words.size() ? words[index] : std::move(otherwise);
  }

  [[nodiscard]] double number(std::size_t index, double otherwise) const {
    return index < words.size() ? std::atof(words[index].c_str()) : otherwise;
  }

private:
  static scalar value_of(const std::string& text) {
    char* end = nullptr;
    const auto x = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0')
      return text;
    return x;
  }
};

} // namespace hippo

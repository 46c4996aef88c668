#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common_options.hpp"
#include "hippo/base/number.hpp"
#include "hippo/base/whole_file.hpp"
#include "hippo/report/sequence_plot.hpp"
#include "hippo/report/text.hpp"
#include "hippo/sequence/family.hpp"
#include "hippo/space/sequence_text.hpp"
#include "outcome.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

constexpr std::size_t plot_columns = 78;
constexpr std::size_t plot_rows = 14;
constexpr std::size_t pieces_shown_max = 40;
constexpr std::size_t values_columns = 34; ///< two of 12 digits

/// The most steps that are worked out one by one.
constexpr step_t shown_steps_max = 1'000'000;

struct sequence_options {
  std::string text; ///< YAML, as in a study file
  step_t steps = 100;
  std::vector<std::string> observed; ///< `STEP:VALUE`, in order
  bool minimize = false;             ///< small observed values are good
  std::string svg;                   ///< file to write; empty: none
  std::string title;                 ///< of that picture; empty: the text
  bool json = false;
};

/// One alternative of what was given.
struct shown_sequence {
  nlohmann::ordered_json given;
  sequence value;
  bool responsive = false;
};

std::optional<observation> parse_observation(std::string_view text) {
  observation result;
  const auto colon = text.find(':');
  if (colon == text.npos)
    return {};
  const auto* begin = text.data();
  const auto at = std::from_chars(begin, begin + colon, result.at);
  const auto value = std::from_chars(begin + colon + 1, begin + text.size(),
                                     result.value);
  if (at.ec != std::errc{} || at.ptr != begin + colon
      || value.ec != std::errc{} || value.ptr != begin + text.size())
    return {};
  return result;
}

/// Reads what was measured; says on stderr what is wrong.
std::optional<observations> read_observations(const sequence_options& x) {
  observations result;
  result.better = x.minimize ? direction::minimize : direction::maximize;
  for (const auto& text : x.observed) {
    const auto seen = parse_observation(text);
    std::string wrong;
    if (!seen)
      wrong = "must be STEP:VALUE, e.g. 3:0.5, found '" + text + "'";
    else if (!result.values.empty() && seen->at <= result.values.back().at)
      wrong = "must be at increasing steps, found " + std::to_string(seen->at)
              + " after " + std::to_string(result.values.back().at);
    if (!wrong.empty()) {
      fail({errc::invalid_argument, "--observe: " + wrong}, exit_bad_input);
      return {};
    }
    result.values.push_back(*seen);
  }
  return result;
}

bool says_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name);
        value != nullptr && *value != '\0') {
      std::string text{value};
      std::transform(text.begin(), text.end(), text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      return text.find("utf-8") != text.npos || text.find("utf8") != text.npos;
    }
  return false;
}

/// Returns the last step of piece `i`.
step_t last_of(const sequence& x, std::size_t i, step_t steps) {
  return (i + 1 < x.pieces().size() ? x.pieces()[i + 1].begin : steps) - 1;
}

/// Returns the curve, if all values are numbers that can be drawn.
std::optional<sequence_curve> curve_of(const shown_sequence& x, step_t steps) {
  sequence_curve result;
  result.name = x.given.dump();
  for (step_t t = 0; t < steps; ++t) {
    const auto value = x.value.at(t);
    const auto* number = std::get_if<double>(&value);
    if (number == nullptr || !std::isfinite(*number))
      return {};
    result.values.push_back(*number);
  }
  for (const auto& piece : x.value.pieces())
    if (piece.begin > 0)
      result.cuts.push_back(piece.begin);
  return result;
}

std::string pieces_text(const shown_sequence& x, step_t steps) {
  const auto& pieces = x.value.pieces();
  std::string result = "      step  " + pad_right("values", values_columns)
                       + " form\n";
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i == pieces_shown_max && pieces.size() > pieces_shown_max + 1) {
      result += "            " + std::to_string(pieces.size() - i)
                + " further pieces\n";
      break;
    }
    const auto& shape = pieces[i].shape;
    const auto begin = pieces[i].begin;
    const auto last = last_of(x.value, i, steps);
    auto values = to_text(shape.at(begin));
    if (!shape.is_plateau() && last > begin)
      values += " .. " + to_text(shape.at(last));
    result += pad_left(std::to_string(begin), 10) + "  "
              + pad_right(printable(values), values_columns) + ' '
              + printable(to_text(shape)) + '\n';
  }
  return result;
}

nlohmann::ordered_json to_json(const scalar& x) {
  if (const auto* number = std::get_if<double>(&x))
    return std::isfinite(*number) ? nlohmann::ordered_json(*number)
                                  : nlohmann::ordered_json(nullptr);
  return std::get<std::string>(x);
}

nlohmann::ordered_json to_json(const shown_sequence& x, step_t steps) {
  auto pieces = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < x.value.pieces().size(); ++i) {
    const auto& piece = x.value.pieces()[i];
    pieces.push_back(
      {{"begin", piece.begin},
       {"form", to_text(piece.shape)},
       {"first", to_json(piece.shape.at(piece.begin))},
       {"last", to_json(piece.shape.at(last_of(x.value, i, steps)))}});
  }
  auto values = nlohmann::ordered_json::array();
  for (step_t t = 0; t < steps; ++t)
    values.push_back(to_json(x.value.at(t)));
  return {{"sequence", x.given},
          {"responsive", x.responsive},
          {"pieces", std::move(pieces)},
          {"values", std::move(values)}};
}

void print_text(const std::vector<shown_sequence>& xs, step_t steps) {
  const auto charset = ::isatty(STDOUT_FILENO) == 1 && says_utf8()
                         ? plot_charset::braille
                         : plot_charset::ascii;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (xs.size() > 1)
      std::cout << (i > 0 ? "\n" : "") << fit(xs[i].given.dump(), plot_columns)
                << "\n";
    std::cout << pieces_text(xs[i], steps);
    if (const auto curve = curve_of(xs[i], steps))
      std::cout << '\n' << plot_text(*curve, plot_columns, plot_rows, charset);
    if (xs[i].responsive)
      std::cout << "It goes on as results say; try --observe.\n";
  }
}

/// Returns the part in which texts of JSON differ first, for each: its entry or
/// item there, without quotes. The whole texts if those parts are equal.
std::vector<std::string> differing_parts(const std::vector<std::string>& xs) {
  auto same = xs[0].size();
  for (const auto& x : xs)
    same = std::min(same, static_cast<std::size_t>(
                            std::mismatch(xs[0].begin(), xs[0].end(), x.begin(),
                                          x.end())
                              .first
                            - xs[0].begin()));
  const auto before = same == 0 ? xs[0].npos
                                : xs[0].find_last_of("{[,:", same - 1);
  const auto begin = before == xs[0].npos ? 0 : before + 1;
  std::vector<std::string> result;
  for (const auto& x : xs) {
    auto& part = result.emplace_back();
    int depth = 0;
    for (auto at = begin; at < x.size(); ++at) {
      depth += x[at] == '{' || x[at] == '[';
      depth -= x[at] == '}' || x[at] == ']';
      if (depth < 0 || (depth == 0 && x[at] == ','))
        break;
      if (x[at] != '"')
        part += x[at];
    }
  }
  const std::set<std::string> different{result.begin(), result.end()};
  return different.size() == xs.size() ? result : xs;
}

/// Writes the picture of those that can be drawn. @returns why not
std::optional<error> write_svg(const std::vector<shown_sequence>& xs,
                               const sequence_options& options) {
  std::vector<sequence_curve> curves;
  for (const auto& x : xs)
    if (auto curve = curve_of(x, options.steps))
      curves.push_back(std::move(*curve));
  if (curves.empty())
    return error{errc::invalid_argument,
                 "--svg: a sequence of words has no picture"};
  std::vector<std::string> names;
  for (const auto& x : curves)
    names.push_back(x.name);
  names = differing_parts(names);
  for (std::size_t i = 0; i < curves.size(); ++i)
    curves[i].name = names[i];
  return write_whole(options.svg,
                     plot_svg(curves, options.title.empty() ? options.text
                                                            : options.title));
}

/// Shows what a sequence of a study file means: its canonical pieces, its
/// values and a plot. @returns the exit code
int show_sequence(const sequence_options& options) {
  const auto seen = read_observations(options);
  if (!seen)
    return exit_bad_input;
  const auto read = read_sequence(options.text, "sequence", options.steps);
  for (const auto& x : read.errors)
    std::cerr << "error: " << to_text(x) << '\n';
  for (const auto& x : read.warnings)
    std::cerr << "warning: " << to_text(x) << '\n';
  if (!read.errors.empty())
    return exit_bad_input;
  std::vector<shown_sequence> all;
  for (const auto& given : read.alternatives) {
    auto made = make_sequence(given, options.steps, *seen);
    all.push_back({given, std::move(made.value), made.responsive});
  }
  if (!options.svg.empty())
    if (const auto why = write_svg(all, options))
      return fail(*why, why->code == errc::io_failed ? exit_failed
                                                     : exit_bad_input);
  if (options.json) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& x : all)
      list.push_back(to_json(x, options.steps));
    std::cout << nlohmann::ordered_json{{"steps", options.steps},
                                        {"sequences", std::move(list)}}
                   .dump(2)
              << '\n';
  } else {
    print_text(all, options.steps);
  }
  return exit_done;
}

struct sequence_arguments {
  sequence_options options;
  std::string format = "table";
  std::string direction = "maximize";
};

int show_sequence(sequence_arguments& x) {
  x.options.json = x.format == "json";
  x.options.minimize = x.direction == "minimize";
  return show_sequence(std::as_const(x.options));
}

} // namespace

void add_sequence(verb_table& verbs) {
  const auto x = std::make_shared<sequence_arguments>();
  auto* verb = verbs.add(
    local_group, "sequence",
    "Show a hyper-parameter sequence: pieces, values, a plot",
    "hippo sequence 'cosine: {initial: 0.1, horizon: 80}' --steps 100",
    [x] { return show_sequence(*x); });
  verb->add_option("sequence", x->options.text,
                   "A value as in a study file, in YAML")
    ->required();
  verb->add_option("--steps", x->options.steps, "Steps of the trial")
    ->check(CLI::Range(step_t{1}, shown_steps_max))
    ->capture_default_str();
  verb->add_option("--observe", x->options.observed,
                   "What was measured, e.g. 3:0.5,4:0.5 (reduce_on_plateau)")
    ->delimiter(',');
  verb->add_option("--direction", x->direction,
                   "What is good among measured values")
    ->check(CLI::IsMember({"maximize", "minimize"}))
    ->capture_default_str();
  verb->add_option("--svg", x->options.svg, "Write a picture here");
  verb->add_option("--title", x->options.title,
                   "Of the picture, if not the sequence");
  add_format(*verb, x->format);
}

} // namespace hippo

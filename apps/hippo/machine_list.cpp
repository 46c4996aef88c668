#include "machine_list.hpp"

#include <utility>

#include "hippo/space/study.hpp"
#include "outcome.hpp"
#include "studies.hpp"

namespace hippo {

std::optional<fleet> load_fleet(const std::string& file) {
  const auto text = read_study_text(file);
  if (!text) {
    fail(text.failure(), exit_bad_input);
    return std::nullopt;
  }
  auto read = read_fleet(*text, file);
  print(read.errors, "error");
  return std::move(read.found);
}

void machine_list::add_to(CLI::App& verb) {
  verb.add_option("--machines", file,
                  "File of the kinds of machine that trainers are on: what "
                  "they cost, and how often they are interrupted");
}

bool machine_list::load(std::optional<fleet>& out) const {
  if (!file.empty())
    out = load_fleet(file);
  return file.empty() || out;
}

std::string machine_list::why_no_prices() const {
  return file.empty() ? "what trainers cost is not known here: say so with "
                        "--machines and a list of machines"
                      : "";
}

} // namespace hippo

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>

#include "client_listings.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/model/workload_spec.hpp"
#include "hippo/report/text.hpp"
#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct show_arguments {
  study_argument of;
  std::string format = "table";
  bool text = false;
};

/// Returns a line for each column of a listing's first row.
std::string render_row(const listing& x) {
  std::size_t width = 0;
  for (const auto& column : x.columns)
    width = std::max(width, column.name.size());
  std::string result;
  for (std::size_t i = 0; i < x.columns.size(); ++i)
    result += pad_right(x.columns[i].name, width + 2)
              + show_cell(x.rows[0][i], x.columns[i].look) + '\n';
  return result;
}

/// Says in one line what a study has cost, what it was spared, and when it
/// ends.
std::string cost_line(const study_view& x) {
  const auto alone = x.cost_seconds + x.saved_seconds + x.stopped_seconds;
  const auto part = [&](double seconds) {
    return duration_text(seconds) + " ("
           + std::to_string(alone > 0 ? std::lround(100 * seconds / alone) : 0)
           + " %)";
  };
  auto result = "cost " + duration_text(x.cost_seconds)
                + " of device time; merging saved " + part(x.saved_seconds)
                + ", stopping " + part(x.stopped_seconds);
  if (has_ended(x))
    return result + "; took " + duration_text(x.active_seconds);
  if (!x.seconds_left)
    return result + "; when it ends is not known yet";
  return result + "; about " + duration_text(*x.seconds_left) + " left";
}

/// Says in one line what a study has cost in money, and whether it will be
/// through by its deadline; empty: it knows of neither.
std::string budget_line(const study_view& x) {
  std::string result;
  const auto add = [&result](const std::string& text, const char* between) {
    result += (result.empty() ? "" : between) + text;
  };
  if (x.cost > 0 || x.cost_max)
    add("cost " + fixed(x.cost, 2)
          + (x.cost_max ? " of " + significant(*x.cost_max, 6) : ""),
        "");
  if (has_ended(x))
    return result;
  if (x.seconds_left && (x.cost_max || x.cost > 0 || x.deadline_seconds_left))
    add("done in " + duration_text(*x.seconds_left), "; ");
  if (!x.deadline_seconds_left)
    return result;
  if (*x.deadline_seconds_left < 0)
    add("its deadline has come", "; ");
  else
    add("deadline in " + duration_text(*x.deadline_seconds_left), ", ");
  if (x.seconds_left && *x.seconds_left > *x.deadline_seconds_left)
    add("late by " + duration_text(*x.seconds_left - *x.deadline_seconds_left)
          + (x.needed.empty() ? ": no number of trainers would do"
                              : ": " + x.needed + " would do"),
        "; ");
  return result;
}

/// Prints with which other studies a study shares training, and why not with
/// those of the same kind. @returns the exit code
int print_sharing(client& service, const study_view& x) {
  const auto others = service.studies();
  if (!others)
    return refuse(others.failure());
  for (const auto& y : *others) {
    if (y.id == x.id)
      continue;
    const auto name = std::to_string(y.id) + " (" + y.name + ')';
    if (y.workload == x.workload) {
      std::cout << "shares with " << name << '\n';
      continue;
    }
    const auto why = key_differences(x.workload, y.workload);
    if (why.empty())
      continue;
    std::cout << "does not share with " << name << ":\n";
    for (const auto& line : why)
      std::cout << "  " << line << '\n';
  }
  return exit_done;
}

int show(const show_arguments& x, client& service, study_handle& study) {
  const auto known = study.describe();
  if (!known)
    return refuse(known.failure());
  if (x.text) {
    std::cout << split(known->text).study;
    return exit_done;
  }
  const auto all = list_studies({known->view});
  if (x.format == "table") {
    std::cout << cost_line(known->view) << '\n';
    if (const auto line = budget_line(known->view); !line.empty())
      std::cout << line << '\n';
    std::cout << render_row(all);
    return print_sharing(service, known->view);
  }
  auto fields = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < all.columns.size(); ++i)
    fields[all.columns[i].name] = all.rows[0][i];
  std::cout << (x.format == "json" ? to_pretty_json(fields) : to_yaml(fields));
  return exit_done;
}

} // namespace

void add_show(verb_table& verbs) {
  const auto x = std::make_shared<show_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "show", "Show all that a service says of a study",
    "hippo show lr-schedules", [x] {
      return with_study(x->of, [&](client& service, study_handle& study) {
        return show(*x, service, study);
      });
    }));
  x->of.server.add_state_to(*verb);
  verb->add_option("-f,--format", x->format, "Output format")
    ->check(CLI::IsMember({"table", "json", "yaml"}))
    ->capture_default_str();
  verb->add_flag("--text", x->text, "Print its study file instead");
}

} // namespace hippo

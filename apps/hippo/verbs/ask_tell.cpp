// hippo ask-tell: a study whose trials somebody else trains, by JSON lines on
// standard input and output.

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ask_tell_journal.hpp"
#include "common_options.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/search/ask_tell.hpp"
#include "hippo/search/automatic.hpp"
#include "hippo/space/trial_defaults.hpp"
#include "hippo/train/process/code_values.hpp"
#include "outcome.hpp"
#include "studies.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

struct ask_tell_arguments {
  std::string file;
  std::size_t workers = 1;
  std::string journal; ///< empty: there is none
};

/// Returns the values of hyper-parameters at the steps of a work, each a list;
/// of one that stays as it is the first one alone.
nlohmann::json values_of(const std::vector<segment>& all,
                         const trial_work& work) {
  auto result = nlohmann::json::object();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto end = i + 1 < all.size() ? all[i + 1].begin : work.to;
    const auto from = std::max(all[i].begin, work.from);
    const auto to = std::min(end, work.to);
    if (from >= to)
      continue;
    const auto part = values_json(all[i].config, from, to);
    for (const auto& [name, list] : part.items())
      for (const auto& x : list)
        result[name].push_back(x);
  }
  for (auto& list : result)
    if (std::ranges::all_of(list, [&](const auto& x) { return x == list[0]; }))
      list = nlohmann::json::array({list[0]});
  return result;
}

/// Answers the requests of a caller, one JSON object each.
class session {
public:
  session(ask_tell& study, std::optional<ask_tell_journal>& journal)
    : study_(study), journal_(journal) {}

  /// @returns the answer; `failed` says whether there is no sense in going on
  json answer(const std::string& line) {
    const auto request = nlohmann::json::parse(line, nullptr, false);
    if (!request.is_object() || !request.contains("do"))
      return refused("a request is a JSON object such as {\"do\": \"ask\"}");
    try {
      const auto verb = request["do"].get<std::string>();
      if (verb == "ask")
        return ask();
      if (verb == "tell")
        return tell(request);
      if (verb == "best")
        return best();
      return refused("'" + verb + "' is none of ask, tell, best");
    } catch (const nlohmann::json::exception&) {
      return refused(R"(a value is told as {"do": "tell", "trial": 0, "to": 1,)"
                     R"( "values": {METRIC: NUMBER}}, or with "failed": true)"
                     R"( in place of the values)");
    }
  }

  /// Why the journal could not be written; nothing: it was.
  [[nodiscard]] const std::optional<error>& failure() const { return failure_; }

private:
  static json refused(const std::string& why) { return {{"error", why}}; }

  json ask() {
    const auto was_out = study_.is_given_again();
    const auto work = study_.ask();
    if (!work)
      return {{"work", nullptr}, {"end", study_.end()}};
    if (journal_ && !was_out)
      failure_ = journal_->add_ask(*work);
    return {{"work",
             {{"trial", work->trial},
              {"from", work->from},
              {"to", work->to},
              {"start", work->start ? json(*work->start) : json()},
              {"params", study_.parameters(work->trial).shown},
              {"values", values_of(study_.segments(work->trial), *work)}}},
            {"end", ""}};
  }

  json tell(const nlohmann::json& request) {
    const auto trial = request.at("trial").get<trial_no>();
    const auto to = request.at("to").get<step_t>();
    const bool has_failed = request.value("failed", false);
    metrics values;
    if (!has_failed)
      values = request.at("values").get<metrics>();
    if (const auto why =
          has_failed ? study_.fail(trial, to) : study_.tell(trial, to, values))
      return refused(why->message);
    if (journal_)
      failure_ = has_failed ? journal_->add_failure(trial, to)
                            : journal_->add_tell(trial, to, values);
    return {{"end", study_.end()}};
  }

  json best() {
    auto list = json::array();
    for (const auto& x : study_.best())
      list.push_back({{"trial", x.trial},
                      {"step", x.step},
                      {"values", x.values},
                      {"params", study_.parameters(x.trial).shown}});
    return {{"best", std::move(list)}};
  }

  ask_tell& study_;
  std::optional<ask_tell_journal>& journal_;
  std::optional<error> failure_;
};

/// Returns the workloads that a study may name, and that of one that names
/// none: nothing is known of it.
std::vector<workload_descriptor> workloads() {
  auto result = built_in_workloads();
  workload_descriptor unnamed;
  unnamed.open = true;
  result.push_back(std::move(unnamed));
  return result;
}

/// Reads the study and says on stderr what is wrong with it, or odd.
std::optional<accepted_study>
read_study(const ask_tell_arguments& x,
           const std::vector<workload_descriptor>& known,
           const std::optional<ask_tell_journal>& journal) {
  const auto sources = read_sources({x.file});
  if (!sources) {
    fail(sources.failure(), exit_bad_input);
    return std::nullopt;
  }
  auto how = new_study();
  how.trainers = x.workers;
  if (journal)
    how.chosen = journal->chosen();
  auto read = admit_study(sources->front().text, x.file, known, how);
  if (read.study)
    read.errors = ask_tell::refusals_of(read.study->spec());
  print(read.notes, "note");
  print(read.warnings, "warning");
  print(read.errors, "error");
  if (!read.errors.empty())
    return std::nullopt;
  return std::move(read.study);
}

int run_ask_tell(const ask_tell_arguments& x) {
  std::optional<ask_tell_journal> journal;
  if (!x.journal.empty()) {
    auto opened = ask_tell_journal::open(x.journal);
    if (!opened)
      return fail(opened.failure(), exit_bad_input);
    journal = std::move(*opened);
  }
  const auto known = workloads();
  const auto study = read_study(x, known, journal);
  if (!study)
    return exit_bad_input;
  const auto& spec = study->spec();
  const auto of_it =
    std::ranges::find(known, spec.workload.name, &workload_descriptor::name);
  ask_tell trials{*study, trial_defaults{*of_it}};
  if (journal)
    if (const auto why = journal->replay(*study, trials))
      return fail(*why, exit_bad_input);
  std::cout << json{{"study", spec.name},
                    {"algorithm", json::parse(to_json_text(spec.algorithm))}}
            << std::endl;
  session caller{trials, journal};
  for (std::string line; std::cout && std::getline(std::cin, line);) {
    const auto answer = caller.answer(line);
    if (caller.failure())
      return fail(*caller.failure(), exit_failed);
    std::cout << answer << std::endl;
  }
  return exit_done;
}

} // namespace

void add_ask_tell(verb_table& verbs) {
  const auto x = std::make_shared<ask_tell_arguments>();
  auto* verb = verbs.add(
    local_group, "ask-tell",
    "Say what to train next to a program that trains and measures itself",
    "hippo ask-tell study.yaml --workers 4", [x] { return run_ask_tell(*x); });
  verb->add_option("file", x->file, "A study file; `workload` may be left out")
    ->required();
  verb
    ->add_option("--workers", x->workers,
                 "How many trainings run at a time, for the choice of an"
                 " algorithm")
    ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
    ->capture_default_str();
  verb->add_option("--journal", x->journal,
                   "A file to which requests are appended; with what stands in"
                   " it the study goes on where it was");
}

} // namespace hippo

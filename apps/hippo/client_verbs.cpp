#include "client_verbs.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "best.hpp"
#include "client_listings.hpp"
#include "common_options.hpp"
#include "follow.hpp"
#include "hippo/client/client.hpp"
#include "hippo/plan/workload_spec.hpp"
#include "hippo/report/progress.hpp"
#include "hippo/report/report.hpp"
#include "hippo/report/text.hpp"
#include "hippo/train/study_code.hpp"
#include "outcome.hpp"
#include "studies.hpp"
#include "terminal.hpp"
#include "trial_output.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;
using json = nlohmann::ordered_json;

constexpr auto group = "With a service";

/// How often `top` and `logs -f` look again.
constexpr auto look_interval = 1s;

/// How the first Ctrl-C ends a verb: at once, since a service goes on alone.
void on_interrupt(int) {
  constexpr std::string_view text
    = "\nhippo: interrupted; the service goes on\n";
  [[maybe_unused]] const auto written
    = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(exit_interrupted);
}

/// Tells why the service did not do something. @returns the exit code
int refuse(const error& why) {
  switch (why.code) {
    case errc::invalid_argument:
    case errc::invalid_study:
    case errc::unknown_study:
    case errc::unknown_workload:
      return fail(why, exit_bad_input);
    default:
      return fail(why, exit_failed);
  }
}

int refuse(const std::optional<error>& why) {
  return why ? refuse(*why) : exit_done;
}

/// Returns an environment variable, or what stands for it.
std::string setting(const char* name, const char* fallback) {
  const char* const set = std::getenv(name);
  return set != nullptr && *set != '\0' ? set : fallback;
}

/// Which service is asked.
struct service_address {
  std::string text = setting("HIPPO_SERVER", default_service_address);
  std::string keys = setting("HIPPO_KEYS", "");

  /// REQUIRES: `*this` lives longer than `verb`.
  CLI::Option* add_to(CLI::App& verb) {
    verb.add_option("--keys", keys,
                    "File of `hippo keys add NAME --role client`, if not "
                    "HIPPO_KEYS's");
    return verb
      .add_option("--server", text,
                  "HOST:PORT of the service, if not HIPPO_SERVER's")
      ->capture_default_str();
  }

  [[nodiscard]] expected<client> connect() const {
    struct sigaction act {};
    act.sa_handler = on_interrupt;
    ::sigemptyset(&act.sa_mask);
    ::sigaction(SIGINT, &act, nullptr);
    client_options options;
    options.name = "hippo command line, process " + std::to_string(::getpid());
    options.credentials = keys;
    return client::connect(text, std::move(options));
  }
};

/// What of a listing is shown.
struct listing_options {
  listing_view view;
  std::string format = "table";

  /// REQUIRES: `*this` lives longer than `verb`.
  void add_to(CLI::App& verb) {
    verb.add_option("-f,--format", format, "Output format")
      ->check(CLI::IsMember({"table", "json", "yaml", "csv"}))
      ->capture_default_str();
    verb.add_option("--sort", view.sort, "Order by COLUMN or COLUMN:desc");
    verb.add_option("--filter", view.filters,
                    "Only rows with COLUMN=VALUE, or != < <= > >= "
                    "(repeatable)")
      ->allow_extra_args(false);
    verb.add_option("--columns", view.columns, "Show these, e.g. id,name")
      ->delimiter(',')
      ->allow_extra_args(false);
    verb.add_option("--limit", view.limit, "Show so many rows at most")
      ->check(CLI::PositiveNumber);
  }

  /// Returns what is to be printed on stdout.
  expected<std::string> render(const listing& x) {
    static const std::map<std::string, listing_format> formats{
      {"table", listing_format::table},
      {"json", listing_format::json},
      {"yaml", listing_format::yaml},
      {"csv", listing_format::csv}};
    view.format = formats.at(format);
    view.width = size_of_terminal(STDOUT_FILENO).columns;
    return hippo::render(x, view);
  }

  int print(const listing& x) {
    const auto text = render(x);
    if (!text)
      return refuse(text.failure());
    std::cout << *text;
    return exit_done;
  }
};

/// What the verbs about one study have in common.
struct study_arguments {
  service_address server;
  std::string study;

  CLI::App* add_to(CLI::App* verb) {
    verb->add_option("study", study, "Its number, or its name")->required();
    server.add_to(*verb);
    return verb;
  }

  /// Connects and finds the study.
  [[nodiscard]] expected<study_handle> find() const {
    auto service = server.connect();
    if (!service)
      return service.failure();
    return service->study(study);
  }
};

// -- submit, watch ------------------------------------------------------------

struct submit_arguments {
  service_address server;
  std::vector<std::string> files;
  bool wait = false;
  bool quiet = false;
};

int submit(const submit_arguments& x) {
  const auto sources = read_sources(x.files);
  if (!sources)
    return fail(sources.failure(), exit_bad_input);
  auto service = x.server.connect();
  if (!service)
    return refuse(service.failure());
  if (sources->size() > 1) // none starts if another is not valid
    for (const auto& source : *sources)
      if (const auto valid = service->preview(source.text, source.name); !valid)
        return refuse(valid.failure());
  std::vector<study_handle> studies;
  for (const auto& source : *sources) {
    const auto done = service->submit(source.text, source.name);
    if (!done)
      return refuse(done.failure());
    if (const auto read
        = load_study(source.text, source.name, built_in_workloads(), true);
        read.study)
      warn_unchecked(read.study->spec);
    for (const auto& warning : done->warnings)
      std::cerr << warning << '\n';
    std::cout << done->id << std::endl;
    if (!x.wait)
      continue;
    auto study = service->study(std::to_string(done->id));
    if (!study)
      return refuse(study.failure());
    studies.push_back(std::move(*study));
  }
  return x.wait ? follow(*service, studies, x.quiet) : exit_done;
}

void add_submit(verb_table& verbs) {
  const auto x = std::make_shared<submit_arguments>();
  auto* verb = verbs.add(group, "submit", "Give studies to a service",
                         "hippo submit a.yaml b.yaml --wait",
                         [x] { return submit(*x); });
  verb->add_option("files", x->files, "Study files")->required();
  auto* wait = verb->add_flag("--wait", x->wait,
                              "Show how they go until they have ended");
  verb->add_flag("--quiet", x->quiet, "Show only how they end")->needs(wait);
  x->server.add_to(*verb);
}

struct watch_arguments {
  study_arguments of;
  bool quiet = false;
};

int watch(const watch_arguments& x) {
  auto service = x.of.server.connect();
  if (!service)
    return refuse(service.failure());
  auto study = service->study(x.of.study);
  if (!study)
    return refuse(study.failure());
  return follow(*service, {*study}, x.quiet);
}

void add_watch(verb_table& verbs) {
  const auto x = std::make_shared<watch_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    group, "watch", "Show how a study goes until it has ended",
    "hippo watch lr-schedules", [x] { return watch(*x); }));
  verb->add_flag("--quiet", x->quiet, "Show only how it ends");
}

// -- ls, show, trials, best ---------------------------------------------------

struct list_arguments {
  service_address server;
  listing_options listing;
};

int list(list_arguments& x) {
  auto service = x.server.connect();
  if (!service)
    return refuse(service.failure());
  const auto studies = service->studies();
  if (!studies)
    return refuse(studies.failure());
  return x.listing.print(list_studies(*studies));
}

void add_list(verb_table& verbs) {
  const auto x = std::make_shared<list_arguments>();
  auto* verb = verbs.add(group, "ls", "List the studies of a service",
                         "hippo ls --filter state=RUNNING --sort best:desc",
                         [x] { return list(*x); });
  x->listing.add_to(*verb);
  x->server.add_to(*verb);
}

struct show_arguments {
  study_arguments of;
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

/// Says with which other studies a study shares training, and why not with those
/// of the same kind. @returns the exit code
int say_who_shares(client& service, const study_summary& x) {
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

int show(const show_arguments& x) {
  auto service = x.of.server.connect();
  if (!service)
    return refuse(service.failure());
  auto study = service->study(x.of.study);
  if (!study)
    return refuse(study.failure());
  const auto known = study->describe();
  if (!known)
    return refuse(known.failure());
  if (x.text) {
    std::cout << split(known->text).study;
    return exit_done;
  }
  const auto all = list_studies({known->summary});
  if (x.format == "table") {
    std::cout << render_row(all);
    return say_who_shares(*service, known->summary);
  }
  auto fields = json::object();
  for (std::size_t i = 0; i < all.columns.size(); ++i)
    fields[all.columns[i].name] = all.rows[0][i];
  std::cout << (x.format == "json" ? to_pretty_json(fields) : to_yaml(fields));
  return exit_done;
}

void add_show(verb_table& verbs) {
  const auto x = std::make_shared<show_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(group, "show", "Show all that a service says of a study",
              "hippo show lr-schedules", [x] { return show(*x); }));
  verb->add_option("-f,--format", x->format, "Output format")
    ->check(CLI::IsMember({"table", "json", "yaml"}))
    ->capture_default_str();
  verb->add_flag("--text", x->text, "Print its study file instead");
}

struct trials_arguments {
  study_arguments of;
  listing_options listing;
};

int trials(trials_arguments& x) {
  auto study = x.of.find();
  if (!study)
    return refuse(study.failure());
  const auto all = study->trials();
  if (!all)
    return refuse(all.failure());
  return x.listing.print(list_trials(*all));
}

void add_trials(verb_table& verbs) {
  const auto x = std::make_shared<trials_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(group, "trials", "List the trials of a study",
              "hippo trials lr-schedules --sort best:desc --limit 5",
              [x] { return trials(*x); }));
  x->listing.add_to(*verb);
}

struct best_arguments {
  study_arguments of;
  common_options common;
  best_options state;
  std::string format = "table";
};

int best(best_arguments& x) {
  x.state.json = x.format == "json";
  if (!x.state.state.empty()) {
    x.state.study = x.of.study;
    x.state.trainer_program = x.common.program();
    x.state.libraries = x.common.libraries;
    return hippo::best(x.state);
  }
  auto study = x.of.find();
  if (!study)
    return refuse(study.failure());
  const auto known = study->describe();
  if (!known)
    return refuse(known.failure());
  const auto trial = study->best();
  if (!trial)
    return fail(trial.failure(), exit_failed); // it may come yet
  const auto value = trial->best.value_or(best_measurement{});
  print_best({known->summary.name, trial->trial, value.step,
              known->summary.metric, value.value, trial->params},
             x.state.json);
  return exit_done;
}

void add_best(verb_table& verbs) {
  const auto x = std::make_shared<best_arguments>();
  auto* verb
    = verbs.add(group, "best", "Show a study's best trial, export its weights",
                "hippo best lr-schedules --state hippo-state --export model.pt",
                [x] { return best(*x); });
  verb->add_option("study", x->of.study, "Its number, or its name")
    ->required();
  auto* server = x->of.server.add_to(*verb);
  auto* state = verb->add_option("--state", x->state.state,
                                 "Look into this state folder instead");
  state->excludes(server);
  verb
    ->add_option("--export", x->state.weights,
                 "Write the weights here, for Python's torch.load")
    ->needs(state);
  verb->add_option("-f,--format", x->format, "Output format")
    ->check(CLI::IsMember({"table", "json"}))
    ->capture_default_str();
  x->common.add_to(*verb);
}

// -- logs, top ----------------------------------------------------------------

struct logs_arguments {
  service_address server;
  std::string state;
  std::string study;
  std::optional<std::uint64_t> trial;
  bool follow = false;
};

int logs(const logs_arguments& x) {
  if (x.study.empty() == x.trial.has_value())
    return fail({errc::invalid_argument,
                 "give a study and the number of one of its trials"},
                exit_bad_input);
  if (!x.state.empty() && !x.trial)
    return fail({errc::invalid_argument,
                 "--state goes with a study and one of its trials; the log of a "
                 "service is hippo.log in that folder"},
                exit_bad_input);
  if (!x.state.empty())
    return refuse(print_stored_output(x.state, x.study, *x.trial, x.follow));
  auto service = x.server.connect();
  if (!service)
    return refuse(service.failure());
  if (x.trial) {
    auto study = service->study(x.study);
    if (!study)
      return refuse(study.failure());
    return refuse(print_output(
      x.follow, [&](step_t first) -> expected<trial_output> {
        auto part = study->output(*x.trial, first);
        if (!part)
          return part.failure();
        return trial_output{std::move(part->text), part->next, part->ended};
      }));
  }
  for (std::uint64_t after = 0;;) {
    const auto part = service->logs(after);
    if (!part)
      return refuse(part.failure());
    std::cout << part->text << std::flush;
    if (!std::cout)
      return exit_done; // whoever reads has enough
    after = part->next;
    if (!part->text.empty())
      continue;
    if (!x.follow)
      return exit_done;
    std::this_thread::sleep_for(look_interval);
  }
}

void add_logs(verb_table& verbs) {
  const auto x = std::make_shared<logs_arguments>();
  auto* verb = verbs.add(group, "logs",
                         "Print a service's log, or what a trial has printed",
                         "hippo logs -f lr-schedules 7",
                         [x] { return logs(*x); });
  verb->add_option("study", x->study, "Number or name of a study");
  verb->add_option("trial", x->trial,
                   "One of its trials: what the training code has printed");
  verb->add_option("--state", x->state, "Look into this state folder instead");
  verb->add_flag("-f,--follow", x->follow, "Go on with what is yet to come");
  x->server.add_to(*verb);
}

struct top_arguments {
  service_address server;
  listing_options listing;
  bool all = false;
  bool once = false;
};

/// Cuts a text to so many lines, the last of them saying how many are left out.
std::string cut_lines(const std::string& text, std::size_t lines_max) {
  const auto lines = static_cast<std::size_t>(
    std::count(text.begin(), text.end(), '\n'));
  if (lines <= lines_max)
    return text;
  std::size_t end = 0;
  for (std::size_t i = 0; i + 1 < lines_max; ++i)
    end = text.find('\n', end) + 1;
  return text.substr(0, end) + "and "
         + std::to_string(lines + 1 - lines_max) + " more\n";
}

int top(top_arguments& x) {
  auto service = x.server.connect();
  if (!service)
    return refuse(service.failure());
  live_display display{std::cout};
  const bool live
    = !x.once && x.listing.format == "table" && is_terminal(STDOUT_FILENO);
  for (;;) {
    const auto trainers = service->trainers();
    if (!trainers)
      return refuse(trainers.failure());
    const auto shown = list_trainers(*trainers, x.all);
    if (!live)
      return x.listing.print(shown);
    const auto text = x.listing.render(shown);
    if (!text)
      return refuse(text.failure());
    const auto rows = size_of_terminal(STDOUT_FILENO).rows;
    display.show(cut_lines(*text, std::max<std::size_t>(rows, 3) - 1));
    std::this_thread::sleep_for(look_interval);
  }
}

void add_top(verb_table& verbs) {
  const auto x = std::make_shared<top_arguments>();
  auto* verb = verbs.add(group, "top", "Show what the trainers do",
                         "hippo top --filter state=busy",
                         [x] { return top(*x); });
  verb->add_flag("--all", x->all, "Those that have left as well");
  verb->add_flag("--once", x->once, "Do not show it again and again");
  x->listing.add_to(*verb);
  x->server.add_to(*verb);
}

// -- pause, resume, stop, cancel, update --------------------------------------

struct command_arguments {
  service_address server;
  std::vector<std::string> studies;
  std::string reason;
};

using study_command
  = std::function<std::optional<error>(study_handle&, const std::string&)>;

/// Tells each study the same. @returns the exit code of the first that fails
int command(const command_arguments& x, const std::string& done,
            const study_command& tell) {
  auto service = x.server.connect();
  if (!service)
    return refuse(service.failure());
  int result = exit_done;
  for (const auto& name : x.studies) {
    auto study = service->study(name);
    const auto why = study ? tell(*study, x.reason)
                           : std::optional<error>{study.failure()};
    if (!why) {
      std::cerr << "study " << name << ": " << done << '\n';
      continue;
    }
    const auto code = refuse(*why);
    if (result == exit_done)
      result = code;
  }
  return result;
}

CLI::App* add_command(verb_table& verbs, const std::string& name,
                      const std::string& what, const std::string& done,
                      const study_command& tell,
                      const std::shared_ptr<command_arguments>& x) {
  auto* verb = verbs.add(group, name, what, "hippo " + name + " lr-schedules 7",
                         [x, done, tell] { return command(*x, done, tell); });
  verb->add_option("studies", x->studies, "Their numbers, or names")
    ->required();
  x->server.add_to(*verb);
  return verb;
}

void add_commands(verb_table& verbs) {
  const auto arguments = [] { return std::make_shared<command_arguments>(); };
  add_command(verbs, "pause", "Start nothing new for studies",
              "paused; what runs goes on",
              [](study_handle& x, const std::string&) { return x.pause(); },
              arguments());
  add_command(verbs, "resume", "Go on with paused studies", "resumed",
              [](study_handle& x, const std::string&) { return x.resume(); },
              arguments());
  add_command(verbs, "stop", "Finish what runs, then end studies",
              "stopping; it ends when what runs is finished",
              [](study_handle& x, const std::string&) { return x.stop(); },
              arguments());
  const auto cancelled = arguments();
  add_command(verbs, "cancel", "End studies now", "cancelled",
              [](study_handle& x, const std::string& reason) {
                return x.cancel(reason);
              },
              cancelled)
    ->add_option("--reason", cancelled->reason, "Why, for who asks later");
}

struct update_arguments {
  study_arguments of;
  double weight = 1;
};

int update(const update_arguments& x) {
  auto study = x.of.find();
  if (!study)
    return refuse(study.failure());
  return refuse(study->set_weight(x.weight));
}

void add_update(verb_table& verbs) {
  const auto x = std::make_shared<update_arguments>();
  auto* verb = x->of.add_to(verbs.add(group, "update", "Change a study",
                                      "hippo update lr-schedules --weight 2",
                                      [x] { return update(*x); }));
  verb
    ->add_option("--weight", x->weight,
                 "Its share of the trainers is in proportion to it")
    ->check(CLI::PositiveNumber)
    ->required();
}

// -- export -------------------------------------------------------------------

struct export_arguments {
  study_arguments of;
  bool csv = false;
  bool json = false;
  std::string file;
};

/// Returns the trials as the CSV of a report.
expected<std::string> export_csv(study_handle& study) {
  const auto known = study.describe();
  if (!known)
    return known.failure();
  const auto trials = study.trials();
  if (!trials)
    return trials.failure();
  run_record result;
  auto& out = result.studies.emplace_back();
  out.name = known->summary.name;
  out.metric = known->summary.metric;
  out.direction = known->summary.direction;
  for (const auto& x : *trials) {
    auto& trial = out.trials.emplace_back();
    trial.id = x.trial;
    trial.state = x.state;
    trial.params = read_json(x.params);
    trial.steps = x.steps;
    trial.shared_steps = x.shared_steps;
    if (x.best)
      trial.results = {{x.best->step, {{out.metric, x.best->value}}}};
  }
  return trials_csv(result);
}

int export_study(const export_arguments& x) {
  if (x.csv == x.json)
    return fail({errc::invalid_argument, "give --csv or --json"},
                exit_bad_input);
  auto study = x.of.find();
  if (!study)
    return refuse(study.failure());
  const auto text = x.csv ? export_csv(*study) : study->export_json();
  if (!text)
    return refuse(text.failure());
  if (x.file.empty()) {
    std::cout << *text;
    return exit_done;
  }
  std::ofstream out(x.file, std::ios::binary);
  out << *text;
  if (!out.flush())
    return fail({errc::io_failed, "cannot write " + x.file}, exit_failed);
  return exit_done;
}

void add_export(verb_table& verbs) {
  const auto x = std::make_shared<export_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(group, "export", "Print all that is known of a study",
              "hippo export lr-schedules --csv -o trials.csv",
              [x] { return export_study(*x); }));
  verb->add_flag("--csv", x->csv, "Its trials, one a line");
  verb->add_flag("--json", x->json, "Everything");
  verb->add_option("-o,--output", x->file, "Write it here");
}

// -- ask, train, tell, close --------------------------------------------------

struct ask_arguments {
  study_arguments of;
  std::string params;
  std::string format = "table";
};

int ask(const ask_arguments& x) {
  auto study = x.of.find();
  if (!study)
    return refuse(study.failure());
  const auto trial = study->ask(x.params);
  if (!trial)
    return refuse(trial.failure());
  const auto params = read_json(trial->params);
  if (x.format == "json") {
    std::cout << to_pretty_json({{"trial", trial->trial}, {"params", params}});
  } else {
    std::cout << trial->trial << '\n';
    std::cerr << "trial " << trial->trial << ": " << printable(brief(params))
              << '\n';
  }
  return exit_done;
}

void add_format(CLI::App& verb, std::string& format) {
  verb.add_option("-f,--format", format, "Output format")
    ->check(CLI::IsMember({"table", "json"}))
    ->capture_default_str();
}

void add_ask(verb_table& verbs) {
  const auto x = std::make_shared<ask_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(group, "ask", "Get one more trial of a study that you drive",
              "hippo ask mine --params '{\"lr\": 0.1}'",
              [x] { return ask(*x); }));
  verb->add_option("--params", x->params,
                   "Its values, in JSON or YAML, if the study is not to draw "
                   "them");
  add_format(*verb, x->format);
}

struct train_arguments {
  study_arguments of;
  std::uint64_t trial = 0;
  step_t until = 0;
  std::string format = "table";
};

int train(const train_arguments& x) {
  auto study = x.of.find();
  if (!study)
    return refuse(study.failure());
  const auto done = study->train(x.trial, x.until);
  if (!done)
    return refuse(done.failure());
  if (x.format == "json") {
    auto metrics = json::object();
    for (const auto& [name, value] : done->metrics)
      metrics[name] = value;
    std::cout << to_pretty_json({{"trial", done->trial},
                                 {"state", to_string(done->state)},
                                 {"step", done->step},
                                 {"metrics", metrics},
                                 {"failure", done->failure}});
  } else {
    listing shown;
    shown.columns = {{"metric"}, {"value"}};
    for (const auto& [name, value] : done->metrics)
      shown.rows.push_back({name, value});
    listing_options options;
    options.print(shown);
  }
  if (done->step >= x.until)
    return exit_done;
  return fail({errc::training_failed,
               "trial " + std::to_string(done->trial) + " has ended at step "
                 + std::to_string(done->step) + ": " + to_string(done->state)
                 + (done->failure.empty() ? "" : ", " + done->failure)},
              exit_failed);
}

void add_train(verb_table& verbs) {
  const auto x = std::make_shared<train_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    group, "train", "Train a trial of a study that you drive",
    "hippo train mine 0 --until 3", [x] { return train(*x); }));
  verb->add_option("trial", x->trial, "Its number, from ask")->required();
  verb->add_option("--until", x->until, "The step to train it to")
    ->required();
  add_format(*verb, x->format);
}

struct tell_arguments {
  study_arguments of;
  std::uint64_t trial = 0;
  trial_outcome outcome;
  std::string state = "COMPLETE";
};

int tell(tell_arguments& x) {
  for (const auto state :
       {trial_state::complete, trial_state::pruned, trial_state::failed})
    if (x.state == to_string(state))
      x.outcome.state = state;
  auto study = x.of.find();
  if (!study)
    return refuse(study.failure());
  return refuse(study->tell(x.trial, x.outcome));
}

void add_tell(verb_table& verbs) {
  const auto x = std::make_shared<tell_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(group, "tell", "End a trial of a study that you drive",
              "hippo tell mine 0 --state PRUNED", [x] { return tell(*x); }));
  verb->add_option("trial", x->trial, "Its number, from ask")->required();
  verb->add_option("--value", x->outcome.value,
                   "Of the objective, if you have measured it yourself");
  verb->add_option("--state", x->state, "How it ends")
    ->check(CLI::IsMember({"COMPLETE", "PRUNED", "FAILED"}))
    ->capture_default_str();
  verb->add_option("--step", x->outcome.step,
                   "At which the value was measured (default: the last)");
}

struct close_arguments {
  study_arguments of;
};

int close(const close_arguments& x) {
  auto study = x.of.find();
  if (!study)
    return refuse(study.failure());
  return refuse(study->close());
}

void add_close(verb_table& verbs) {
  const auto x = std::make_shared<close_arguments>();
  x->of.add_to(verbs.add(group, "close",
                         "Let a study that you drive end with its trials",
                         "hippo close mine", [x] { return close(*x); }));
}

} // namespace

void add_client_verbs(verb_table& verbs) {
  add_submit(verbs);
  add_list(verbs);
  add_show(verbs);
  add_trials(verbs);
  add_best(verbs);
  add_watch(verbs);
  add_top(verbs);
  add_logs(verbs);
  add_commands(verbs);
  add_update(verbs);
  add_export(verbs);
  add_ask(verbs);
  add_train(verbs);
  add_tell(verbs);
  add_close(verbs);
}

int preview_by_service(const std::string& address,
                       const std::vector<std::string>& files, bool as_json) {
  const auto sources = read_sources(files);
  if (!sources)
    return fail(sources.failure(), exit_bad_input);
  auto service = service_address{address, setting("HIPPO_KEYS", "")}.connect();
  if (!service)
    return refuse(service.failure());
  listing shown;
  shown.columns = {{"study"},
                   {"trials", cell_look::number},
                   {"asked", cell_look::number},
                   {"unique", cell_look::number},
                   {"known", cell_look::number},
                   {"new", cell_look::number}};
  auto all = json::array();
  for (const auto& source : *sources) {
    const auto text = service->preview(source.text, source.name);
    if (!text)
      return refuse(text.failure());
    auto x = read_json(*text);
    std::vector<json> row{source.name};
    for (const auto* name : {"trials", "asked_steps", "unique_steps",
                             "known_steps", "new_steps"})
      row.push_back(x.is_object() ? x.value(name, json()) : json());
    shown.rows.push_back(std::move(row));
    all.push_back(std::move(x));
  }
  if (as_json) {
    std::cout << to_pretty_json(all);
    return exit_done;
  }
  return listing_options{}.print(shown);
}

} // namespace hippo

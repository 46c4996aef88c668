#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/nearest.hpp"
#include "hippo/base/span_text.hpp"
#include "hippo/net/http/curl_http.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "interrupts.hpp"
#include "machine_list.hpp"
#include "outcome.hpp"
#include "scale/kubernetes_engine.hpp"
#include "scale/ray_engine.hpp"
#include "scale/scale_loop.hpp"
#include "scale/slurm_engine.hpp"
#include "studies.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

constexpr std::size_t fleet_chars_max = 40;

/// Whether names of jobs of every engine can be made of it.
std::string check_fleet(const std::string& x) {
  const bool is_label =
    !x.empty() && x.size() <= fleet_chars_max
    && x.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-")
         == std::string::npos
    && x[0] >= 'a' && x[0] <= 'z' && x.back() != '-';
  return is_label ? std::string{}
                  : "must be at most 40 lower-case letters, digits and hyphens "
                    "that begin with a letter, found '"
                      + x + "'";
}

std::string check_span(const std::string& text) {
  const auto span = span_from(text);
  return span ? std::string{} : span.failure().message;
}

/// `hippo scale`: as many trainers as there is work.
class scale_verb {
public:
  /// Adds what follows the verb. REQUIRES: `*this` lives longer than `verb`
  void add_to(CLI::App& verb);

  int run();

private:
  void add_kubernetes_to(CLI::App& verb);
  [[nodiscard]] deploy_target target() const;
  expected<machines> read_file() const;
  std::optional<error> choose_groups(machines& of) const;
  expected<scale_settings> settings_for(const machines& of,
                                        const std::optional<fleet>& prices);
  expected<std::unique_ptr<scale_engine>> make_engine(const machines& of) const;
  int scale(const machines& of, const scale_settings& settings,
            scale_engine& engine, journal_file& journal);

  std::string file_;
  std::string on_;
  std::string fleet_ = "hippo";
  std::vector<std::string> groups_;
  std::string connect_; ///< where trainers connect; empty: as the file says
  std::uint64_t min_ = 0;
  std::optional<std::uint64_t> max_;
  std::string idle_ = "120s";
  std::string join_ = "10m";
  std::string queue_ = "10m";
  std::string interval_ = "10s";
  std::string journal_;
  bool down_ = false;
  scale_loop_options loop_;
  machine_list prices_;
  service_address server_;
  kubernetes_access access_;
  std::string python_ = "python3";
  std::string ray_address_ = "auto";
};

void scale_verb::add_to(CLI::App& verb) {
  verb
    .add_option("machines", file_,
                "The machines to train on, as `hippo deploy` reads them")
    ->required();
  verb.add_option("--on", on_, "The engine that runs trainers")
    ->required()
    ->check(CLI::IsMember({"slurm", "kubernetes", "ray"}));
  verb.add_option("--min", min_, "So many trainers are always there")
    ->capture_default_str();
  verb.add_option("--max", max_,
                  "The most trainers; unless given, the sum of `count_max`");
  verb
    .add_option("--idle", idle_, "A trainer without work for so long is ended")
    ->check(check_span)
    ->capture_default_str();
  verb
    .add_option("--fleet", fleet_,
                "The name of these trainers: each is FLEET-NUMBER")
    ->check(check_fleet)
    ->capture_default_str();
  verb.add_option("--group", groups_,
                  "Only trainers of this name in the file (repeatable)");
  verb.add_option("--connect", connect_,
                  "Where trainers connect, HOST:PORT, if not at the file's "
                  "`service`");
  verb
    .add_option("--join", join_,
                "One that runs and has not joined the service for so long is "
                "ended")
    ->check(check_span)
    ->capture_default_str();
  verb
    .add_option("--queue", queue_,
                "One that waits so long for a machine is ended, if trainers of "
                "another name could be started instead")
    ->check(check_span)
    ->capture_default_str();
  verb.add_option("--interval", interval_, "The time between two looks")
    ->check(check_span)
    ->capture_default_str();
  verb.add_option("--journal", journal_,
                  "File of the names that were given; unless given, in "
                  "~/.local/state/hippo");
  auto* once = verb.add_flag("--once", loop_.once, "Look once, and end");
  auto* stay = verb.add_flag("--end-all-on-exit", loop_.end_all_on_exit,
                             "When interrupted, end all that the fleet has "
                             "started; unless given, they go on");
  auto* dry = verb.add_flag("--dry-run", loop_.dry_run,
                            "Print orders, and carry out none");
  verb
    .add_flag("--down", down_,
              "End all that the fleet has started, and nothing else")
    ->excludes(once)
    ->excludes(stay)
    ->excludes(dry);
  prices_.add_to(verb);
  server_.add_to(verb);
  add_kubernetes_to(verb);
  verb
    .add_option("--python", python_,
                "The interpreter of Ray's engine, with hippo_hpo and ray")
    ->capture_default_str();
  verb
    .add_option("--ray-address", ray_address_,
                "The cluster of Ray, as `ray.init` takes it")
    ->capture_default_str();
}

void scale_verb::add_kubernetes_to(CLI::App& verb) {
  verb.add_option("--api-server", access_.server,
                  "The API server of Kubernetes, https://HOST:PORT, if this is "
                  "no pod there");
  verb.add_option("--token-file", access_.token_file,
                  "File of the token that it asks for");
  verb.add_option("--ca-file", access_.ca_file,
                  "File of the certificate of its authority");
  verb.add_option("--namespace", access_.name_space,
                  "The namespace of the trainers, if not this pod's");
}

deploy_target scale_verb::target() const {
  if (on_ == "slurm")
    return deploy_target::slurm;
  return on_ == "ray" ? deploy_target::ray : deploy_target::kubernetes;
}

expected<machines> scale_verb::read_file() const {
  const auto text = read_study_text(file_);
  if (!text)
    return text.failure();
  auto read = read_machines(*text, file_, target());
  if (!read.found) {
    std::string all;
    for (const auto& x : read.errors)
      all += (all.empty() ? "" : "\n") + to_text(x);
    return {errc::invalid_study, all};
  }
  auto result = std::move(*read.found);
  if (!connect_.empty()) {
    auto where = parse_endpoint(connect_);
    if (!where)
      return {where.failure().code, "--connect: " + where.failure().message};
    result.service = std::move(*where);
  }
  if (auto why = choose_groups(result))
    return *why;
  return result;
}

std::optional<error> scale_verb::choose_groups(machines& of) const {
  std::vector<std::string> names;
  for (const auto& x : of.trainers)
    names.push_back(x.name);
  for (const auto& wanted : groups_)
    if (std::ranges::find(names, wanted) == names.end())
      return error{errc::invalid_argument, file_ + " has no trainers '" + wanted
                                             + '\''
                                             + did_you_mean(wanted, names)};
  if (!groups_.empty())
    std::erase_if(of.trainers, [&](const auto& x) {
      return std::ranges::find(groups_, x.name) == groups_.end();
    });
  return std::nullopt;
}

expected<scale_settings>
scale_verb::settings_for(const machines& of,
                         const std::optional<fleet>& prices) {
  scale_settings result;
  result.fleet = fleet_;
  result.min = min_;
  result.idle_seconds = *span_from(idle_);
  result.join_seconds = *span_from(join_);
  result.queue_seconds = *span_from(queue_);
  std::uint64_t sum = 0;
  bool are_all_limited = true;
  for (const auto& x : of.trainers) {
    scale_group group;
    group.name = x.name;
    group.ranks = x.ranks;
    group.trainers = std::max(x.gpus / x.ranks, 1u);
    if (x.count_max)
      group.processes_max = *x.count_max;
    sum += x.count_max.value_or(0) * group.trainers;
    are_all_limited = are_all_limited && x.count_max;
    if (prices) {
      const auto* kind = prices->find(x.name);
      if (kind == nullptr)
        return {errc::invalid_argument, "the list of machines has no kind '"
                                          + x.name + "', as trainers of "
                                          + file_ + " are called"};
      group.price = kind->trainer_price();
      group.device = kind->device;
      group.start_seconds = kind->start_seconds;
    }
    result.end_seconds = std::max(result.end_seconds, x.notice_seconds + 60.0);
    result.groups.push_back(std::move(group));
  }
  if (!max_ && !are_all_limited)
    return {errc::invalid_argument,
            "say by --max how many trainers there may be, or by 'count_max' of "
            "each in "
              + file_};
  result.max = max_.value_or(sum);
  if (result.min > result.max)
    return {errc::invalid_argument, "--min is " + std::to_string(result.min)
                                      + ", which is more than the most, "
                                      + std::to_string(result.max)};
  return result;
}

expected<std::unique_ptr<scale_engine>>
scale_verb::make_engine(const machines& of) const {
  if (target() == deploy_target::slurm)
    return slurm_engine(of, fleet_);
  if (target() == deploy_target::ray)
    return ray_engine(of, fleet_, python_, ray_address_);
  auto access = complete(access_);
  if (!access)
    return access.failure();
  return kubernetes_engine(of, fleet_, connect_, std::move(*access),
                           std::make_unique<curl_http>());
}

int scale_verb::scale(const machines& of, const scale_settings& settings,
                      scale_engine& engine, journal_file& journal) {
  loop_.interval = std::chrono::milliseconds{
    static_cast<long>(std::ceil(*span_from(interval_) * 1000))};
  std::optional<client> service;
  if (!down_) {
    client_options options;
    options.credentials = server_.keys;
    options.name = "hippo scale, fleet " + fleet_;
    options.reconnect_for = std::chrono::seconds{2}; // it asks again anyway
    auto connected = client::connect(server_.text, std::move(options));
    if (!connected)
      return refuse(connected.failure());
    service.emplace(std::move(*connected));
  }
  // Permanent faults of the engine are told before anything begins.
  if (const auto listed = engine.list();
      !listed && listed.failure().code != errc::io_failed)
    return fail(listed.failure(), exit_failed);
  const interrupt_guard guard;
  scale_loop loop{
    loop_, settings, of, engine, [&] { return service->demand(); }, journal};
  return down_ ? loop.end_all() : loop.run();
}

int scale_verb::run() {
  const auto of = read_file();
  if (!of)
    return fail(of.failure(), exit_bad_input);
  std::optional<fleet> prices;
  if (!prices_.load(prices))
    return exit_bad_input;
  if (down_)
    max_ = max_.value_or(min_);
  const auto settings = settings_for(*of, prices);
  if (!settings)
    return fail(settings.failure(), exit_bad_input);
  const auto path =
    journal_.empty() ? usual_journal(fleet_) : expected{journal_};
  if (!path)
    return fail(path.failure(), exit_bad_input);
  auto journal = journal_file::open(*path);
  if (!journal)
    return fail(journal.failure(), exit_failed);
  const auto engine = make_engine(*of);
  if (!engine)
    return fail(engine.failure(), exit_bad_input);
  return scale(*of, *settings, **engine, *journal);
}

} // namespace

void add_scale(verb_table& verbs) {
  const auto x = std::make_shared<scale_verb>();
  auto* verb = verbs.add(
    service_group, "scale", "Run as many trainers as there is work for",
    "hippo scale machines.yaml --on slurm --max 40", [x] { return x->run(); });
  x->add_to(*verb);
}

} // namespace hippo

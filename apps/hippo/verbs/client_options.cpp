#include "verbs/client_options.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string_view>
#include <utility>

#include "common_options.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "outcome.hpp"
#include "studies.hpp"
#include "terminal.hpp"

namespace hippo {

namespace {

void on_interrupt(int) {
  constexpr std::string_view text
    = "\nhippo: interrupted; the service goes on\n";
  [[maybe_unused]] const auto written
    = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(exit_interrupted);
}

/// Returns an environment variable, or what stands for it.
std::string setting(const char* name, const char* fallback) {
  const char* const set = std::getenv(name);
  return set != nullptr && *set != '\0' ? set : fallback;
}

} // namespace

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

service_address::service_address()
  : text(setting("HIPPO_SERVER", default_service_address)),
    keys(setting("HIPPO_KEYS", "")), workloads(built_in_workloads()) {}

void service_address::add_to(CLI::App& verb) {
  verb.add_option("--keys", keys,
                  "File of `hippo keys add NAME --role client`, if not "
                  "HIPPO_KEYS's");
  verb
    .add_option("--server", text,
                "HOST:PORT of the service, if not HIPPO_SERVER's")
    ->capture_default_str();
}

CLI::Option* service_address::add_state_to(CLI::App& verb) {
  return verb
    .add_option("--state", state, "Look into this state folder instead")
    ->excludes("--server");
}

std::optional<error> service_address::know(const common_options& chosen) {
  auto catalogue = make_catalogue(chosen.program(), chosen.libraries);
  if (!catalogue)
    return catalogue.failure();
  workloads = std::move(catalogue->workloads);
  return std::nullopt;
}

expected<service_connection> connect(const service_address& where) {
  struct sigaction act {};
  act.sa_handler = on_interrupt;
  ::sigemptyset(&act.sa_mask);
  ::sigaction(SIGINT, &act, nullptr);
  client_options options;
  options.name = "hippo command line, process " + std::to_string(::getpid());
  std::unique_ptr<folder_service> folder;
  if (!where.state.empty()) {
    auto opened = folder_service::open(where.state, where.workloads);
    if (!opened)
      return opened.failure();
    folder = std::move(*opened);
  } else {
    options.credentials = where.keys;
  }
  auto service = client::connect(folder ? folder->address() : where.text,
                                 std::move(options));
  if (!service)
    return service.failure();
  return service_connection{std::move(folder), std::move(*service)};
}

CLI::App* study_argument::add_to(CLI::App* verb) {
  verb->add_option("study", study, "Its number, or its name")->required();
  server.add_to(*verb);
  return verb;
}

void listing_options::add_to(CLI::App& verb) {
  verb.add_option("-f,--format", format, "Output format")
    ->check(CLI::IsMember({"table", "json", "yaml", "csv"}))
    ->capture_default_str();
  verb.add_option("--sort", view.sort, "Order by COLUMN or COLUMN:desc");
  verb
    .add_option("--filter", view.filters,
                "Only rows with COLUMN=VALUE, or != < <= > >= "
                "(repeatable)")
    ->allow_extra_args(false);
  verb.add_option("--columns", view.columns, "Show these, e.g. id,name")
    ->delimiter(',')
    ->allow_extra_args(false);
  verb.add_option("--limit", view.limit, "Show so many rows at most")
    ->check(above_zero);
}

expected<std::string> listing_options::render(const listing& listing) {
  static const std::map<std::string, listing_format> formats{
    {"table", listing_format::table},
    {"json", listing_format::json},
    {"yaml", listing_format::yaml},
    {"csv", listing_format::csv}};
  view.format = formats.at(format);
  view.width = table_columns(STDOUT_FILENO);
  return hippo::render(listing, view);
}

int listing_options::print(const listing& listing) {
  const auto text = render(listing);
  if (!text)
    return refuse(text.failure());
  std::cout << *text;
  return exit_done;
}

} // namespace hippo

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "folder_service.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "interrupts.hpp"
#include "outcome.hpp"
#include "page.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;

struct open_arguments {
  std::string state = "hippo-state";
  bool only_print = false;
};

/// Returns where the page of the service that works on a state folder is, as
/// its service.json says; nothing: none runs, or it was killed.
std::optional<std::string> find_page(const std::string& state) {
  std::ifstream in(state + "/service.json");
  const auto said = nlohmann::json::parse(in, nullptr, false);
  if (!said.is_object() || !said.contains("pid") || !said.contains("http"))
    return std::nullopt;
  const auto pid = said["pid"].get<std::int64_t>();
  if (!std::filesystem::exists("/proc/" + std::to_string(pid)))
    return std::nullopt;
  const bool is_secure = said.value("tls", false);
  return (is_secure ? "https://" : "http://") + said["http"].get<std::string>()
         + "/";
}

int open_page(const open_arguments& x) {
  if (const auto address = find_page(x.state)) {
    show_page(*address, x.only_print);
    return exit_done;
  }
  // Nobody works there: the folder is looked at.
  const interrupt_guard guard;
  const auto folder
    = folder_service::open(x.state, built_in_workloads(), "127.0.0.1");
  if (!folder)
    return fail(folder.failure(), exit_bad_input);
  show_page("http://127.0.0.1:" + std::to_string((*folder)->http_port()) + "/",
            x.only_print);
  std::cerr << "hippo: no service runs on " << x.state
            << "; the page is there until Ctrl-C\n";
  while (!interrupt_guard::is_asked())
    std::this_thread::sleep_for(100ms);
  return exit_done;
}

} // namespace

void add_open(verb_table& verbs) {
  const auto x = std::make_shared<open_arguments>();
  auto* verb = verbs.add(
    local_group, "open", "Show the page of a state folder",
    "hippo open --state hippo-state", [x] { return open_page(*x); });
  verb
    ->add_option("--state", x->state,
                 "Folder of a service that runs, or of studies that were run")
    ->capture_default_str();
  verb->add_flag("--print", x->only_print,
                 "Only print the address, start no browser");
}

} // namespace hippo

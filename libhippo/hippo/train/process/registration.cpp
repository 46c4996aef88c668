#include <algorithm>
#include <cstddef>
#include <iterator>

#include <nlohmann/json.hpp>

#include "hippo/model/averaging.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/train/process/made_workload.hpp"
#include "hippo/train/process/process_workload.hpp"

namespace hippo {

namespace {

constexpr std::string_view args_prefix = "args.";
constexpr std::string_view versions_prefix = "version.";

/// Words of a command up to the devices of ranks.
constexpr std::ptrdiff_t ranks_words = 6;

const std::string& text_of(const std::map<std::string, scalar>& x,
                           const std::string& name) {
  const auto i = x.find(name);
  if (i == x.end() || !std::holds_alternative<std::string>(i->second))
    throw std::runtime_error("the workload's '" + name + "' is missing");
  return std::get<std::string>(i->second);
}

void add_arg(const std::string& option, const scalar& value,
             const workload_spec& spec, process_setup& to) {
  const auto name = option.substr(args_prefix.size());
  to.args.emplace(name, value);
  if (const auto exact = spec.exact.find(option); exact != spec.exact.end())
    to.exact_args.emplace(name, exact->second);
}

process_setup setup_of(const workload_spec& spec) {
  process_setup result;
  result.average = averaging_of(spec);
  for (const auto& [name, value] : spec.options) {
    if (name == "seed" && std::holds_alternative<double>(value))
      result.seed = static_cast<std::uint64_t>(std::get<double>(value));
    else if (name.starts_with(args_prefix))
      add_arg(name, value, spec, result);
    else if (name.starts_with(versions_prefix))
      result.versions.emplace(name.substr(versions_prefix.size()),
                              std::get<std::string>(value));
  }
  return result;
}

process_options options_of(const workload_spec& spec,
                           const process_context& context) {
  process_options result;
  result.folder = text_of(spec.settings, "folder");
  if (spec.settings.contains("initial"))
    result.initial = text_of(spec.settings, "initial");
  result.device = context.device;
  result.threads = context.threads;
  if (const auto i = spec.settings.find("silence_seconds");
      i != spec.settings.end())
    result.silence_max = std::chrono::milliseconds{
      static_cast<std::int64_t>(std::get<double>(i->second) * 1000)};
  return result;
}

/// Whether code that is said to be exact is to show that it is.
bool is_tried(const workload_spec& spec, const process_context& context) {
  const auto is_false = [](const auto& in, const char* name) {
    const auto i = in.find(name);
    const auto* x = i == in.end() ? nullptr : std::get_if<double>(&i->second);
    return x != nullptr && *x == 0;
  };
  return context.tries && !is_false(spec.settings, "check")
         && !is_false(spec.options, "exact");
}

/// Returns the GPUs of ranks, separated by commas; empty: they train on the
/// CPU.
std::string devices_of(std::uint32_t ranks, const process_context& context) {
  std::string result;
  if (context.device == "cpu")
    return result;
  const auto& devices = context.rank_devices;
  if (devices.size() < ranks)
    throw std::runtime_error(
      "ranks: " + std::to_string(ranks)
      + " takes as many GPUs, and this "
        "trainer has "
      + std::to_string(std::max<std::size_t>(devices.size(), 1))
      + ": start it with --ranks " + std::to_string(ranks));
  for (std::uint32_t i = 0; i < ranks; ++i)
    result += (i == 0 ? "" : ",") + devices[i];
  return result;
}

/// Whether the process of a workload may be of use to others.
bool is_reusable(const workload_spec& spec, const process_context& context) {
  // An initial state is part of the process's environment.
  return context.idle && ranks_of(spec) == 1
         && !spec.settings.contains("initial");
}

/// Tells apart processes by all that they are started with.
process_reuse reuse_of(const workload_spec& spec,
                       const process_context& context,
                       const process_options& options) {
  if (!is_reusable(spec, context))
    return {};
  process_reuse result{context.idle, {}};
  const auto add = [&](const std::string& x) {
    result.code += std::to_string(x.size()) + ':' + x;
  };
  for (const auto& x : options.command)
    add(x);
  add(std::to_string(options.silence_max.count()));
  for (const auto& [name, value] : spec.options)
    if (name.starts_with(file_option("")))
      add(name + '=' + std::get<std::string>(value));
  return result;
}

/// Returns how the ranks of a gang's member are started in a world.
/// @param ranks of a trial, which its members share evenly
auto command_in(std::vector<std::string> command, std::uint32_t ranks,
                const rank_member& place) {
  const auto count = ranks / place.members;
  return [=, command = std::move(command)](const rank_world& world) {
    const std::string words[] = {"--member",
                                 std::to_string(place.member * count),
                                 std::to_string(count),
                                 world.host,
                                 world.master.host,
                                 std::to_string(world.master.port),
                                 world.id};
    auto result = command;
    // Behind the program, --ranks, their number and their devices.
    result.insert(result.begin() + ranks_words, std::begin(words),
                  std::end(words));
    return result;
  };
}

std::unique_ptr<workload> make_python(const workload_spec& spec,
                                      const process_context& context) {
  auto options = options_of(spec, context);
  auto setup = setup_of(spec);
  const auto named = spec.settings.contains("python_executable");
  options.command = {named ? text_of(spec.settings, "python_executable")
                           : context.python,
                     "-m", "hippo_hpo.workload_process"};
  const auto ranks = ranks_of(spec);
  const auto place = rank_member_of(spec);
  if (ranks > 1)
    options.command.insert(options.command.end(),
                           {"--ranks", std::to_string(ranks),
                            devices_of(ranks / place.members, context)});
  if (is_reusable(spec, context))
    options.command.emplace_back("--renew");
  if (ranks == 1 && is_tried(spec, context))
    options.command.emplace_back("--try");
  options.command.push_back(text_of(spec.options, "class"));
  for (const auto& [name, version] : setup.versions)
    options.command.push_back(name);
  if (place.members > 1)
    options.command_in = command_in(options.command, ranks, place);
  auto reuse = reuse_of(spec, context, options);
  return make_process_workload(std::move(options), std::move(setup),
                               std::move(reuse));
}

std::unique_ptr<workload> make_command(const workload_spec& spec,
                                       const process_context& context) {
  auto options = options_of(spec, context);
  options.command = nlohmann::json::parse(text_of(spec.options, "command"))
                      .get<std::vector<std::string>>();
  if (options.command.empty())
    throw std::runtime_error("the workload's command is empty");
  auto reuse = reuse_of(spec, context, options);
  return make_process_workload(std::move(options), setup_of(spec),
                               std::move(reuse));
}

std::unique_ptr<workload> make_files(const workload_spec& spec,
                                     const process_context& context) {
  auto options = options_of(spec, context);
  options.command = {text_of(spec.options, "program")};
  return make_file_workload(std::move(options), setup_of(spec));
}

} // namespace

void add_process_workloads(workload_registry& registry,
                           const process_context& context) {
  const auto add = [&](const std::string& name, auto make) {
    for (const auto& x : built_in_workloads())
      if (x.name == name)
        registry.add(x, [=](const workload_spec& spec) {
          return make(spec, context);
        });
  };
  add(python_workload, make_python);
  add(command_workload, make_command);
  add(files_workload, make_files);
}

} // namespace hippo

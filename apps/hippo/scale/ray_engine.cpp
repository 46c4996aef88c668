#include "scale/ray_engine.hpp"

#include <chrono>
#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>

#include "hippo/base/backoff.hpp"
#include "hippo/base/endpoint.hpp"
#include "hippo/deploy/engine_answers.hpp"
#include "scale/tool.hpp"

namespace hippo {

namespace {

using ray_json = nlohmann::ordered_json;
using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds ray_call_max{50};
/// Pauses between two starts of a program that ends.
constexpr std::chrono::milliseconds restart_first{1'000};
constexpr std::chrono::milliseconds restart_max{60'000};

std::string key_of(const machines& x, const trainer_group& group) {
  if (x.keys.empty() || !group.key.empty())
    return group.key;
  const auto* home = std::getenv("HOME");
  return std::string{home == nullptr ? "" : home} + "/.hippo/" + group.name
         + ".pem";
}

class ray final : public scale_engine {
public:
  ray(const machines& machines, std::string fleet, const std::string& python,
      const std::string& address)
    : machines_(machines), fleet_(std::move(fleet)),
      program_({python, "-m", "hippo_hpo.ray_engine", "--address", address}) {}

  expected<std::vector<listed_trainer>> list() override {
    const auto answer = ask({{"call", "list"}, {"fleet", fleet_}});
    return answer ? read_ray_list(answer->dump()) : answer.failure();
  }

  std::optional<error> start(const std::string& name,
                             const trainer_group& group) override {
    const auto answer =
      ask({{"call", "start"},
           {"fleet", fleet_},
           {"name", name},
           {"group", group.name},
           {"gpus", group.gpus},
           {"cpus", group.cpus},
           {"memory_bytes", bytes_of_quantity(group.memory)},
           {"command", trainer_command(group, to_text(machines_.service),
                                       key_of(machines_, group), name)},
           {"env", ray_json::object()}});
    return answer ? std::nullopt : std::optional{answer.failure()};
  }

  std::optional<error> end(const listed_trainer& which) override {
    const auto answer = ask({{"call", "end"}, {"id", which.id}});
    return answer ? std::nullopt : std::optional{answer.failure()};
  }

private:
  expected<ray_json> ask(const ray_json& request) {
    if (clock::now() < paused_until_)
      return {errc::io_failed,
              "the program of Ray is started again soon: " + last_failure_};
    const auto line = program_.ask(request.dump(), ray_call_max);
    if (!line)
      return failed(line.failure());
    auto answer = ray_json::parse(*line, nullptr, false);
    if (!answer.is_object())
      return failed({errc::io_failed, "the program of Ray has answered '"
                                        + line->substr(0, 100) + "'"});
    pauses_.reset();
    if (!answer.contains("error"))
      return answer;
    const auto why = answer.value("error", ray_json{});
    const auto passes = answer.value("temporary", ray_json(true));
    return {passes == ray_json(true) ? errc::io_failed : errc::invalid_argument,
            why.is_string() ? why.get<std::string>() : why.dump()};
  }

  error failed(error why) {
    last_failure_ = why.message;
    paused_until_ = clock::now() + pauses_.next();
    return why;
  }

  const machines& machines_;
  std::string fleet_;
  line_program program_;
  backoff pauses_{restart_first, restart_max};
  clock::time_point paused_until_{};
  std::string last_failure_;
};

} // namespace

std::unique_ptr<scale_engine> ray_engine(const machines& machines,
                                         std::string fleet,
                                         const std::string& python,
                                         const std::string& address) {
  return std::make_unique<ray>(machines, std::move(fleet), python, address);
}

} // namespace hippo

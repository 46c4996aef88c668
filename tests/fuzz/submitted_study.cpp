// The text of a study, as a client sends it. What is accepted can be told to
// trainers, stored, read back and shown.

#include <algorithm>

#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "hippo/base/name.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/net/wire/codec.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo::fuzz {

namespace {

/// As many trials as are looked at of one study.
constexpr std::uint64_t trials_max = 3;

/// As much of a trial as one lease tells at the most.
constexpr std::size_t lease_bytes_max = 16 << 20;

template <class T>
void require_travels(const T& x, const std::string& what) {
  const auto back = decode(encode(x));
  require(static_cast<bool>(back),
          what + ": " + (back ? "" : back.failure().message));
}

/// Leases what a trial begins with, as a merger does.
void require_leases(const study_spec& spec, const trial_parameters& trial) {
  lease work;
  work.number = lease_id{1};
  work.workload = spec.workload;
  std::size_t bytes = 0;
  const auto segments = join(trial.sequences, spec.max_steps);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto encoded = encode_configuration(segments[i].config);
    const auto back = decode_configuration(encoded);
    require(static_cast<bool>(back),
            "a configuration: " + (back ? "" : back.failure().message));
    require(*back == segments[i].config, "a configuration is another one");
    bytes += encoded.size();
    if (i > 0 && bytes > lease_bytes_max)
      break;
    const auto end =
      i + 1 < segments.size() ? segments[i + 1].begin : spec.max_steps;
    work.stages.push_back(
      {node_id{i + 1}, segments[i].begin, end, segments[i].config, 1});
  }
  work.stops = {{work.stages.back().end, true, true, true}};
  require_travels(work, "a lease");
}

/// Expects that all that has a name has one that survives everything.
void require_names(const study_spec& spec) {
  const auto expect = [](const std::optional<std::string>& why) {
    require(!why, "a name " + why.value_or(""));
  };
  expect(refused_study_name(spec.name));
  for (const auto& x : spec.objective.all().metrics)
    expect(refused_name(x.metric));
  for (const auto& x : spec.objective.constraints)
    expect(refused_name(x.metric));
  for (const auto& [name, value] : spec.workload.options)
    expect(refused_name(name));
  for (const auto& [name, value] : spec.space.sample(0, 0).sequences)
    expect(refused_name(name));
}

void require_runs(const study_spec& spec) {
  require_names(spec);
  const auto size = spec.space.size();
  for (std::uint64_t i = 0; i < trials_max; ++i) {
    const auto trial =
      size ? spec.space.at(i < *size ? (i == 1 ? *size - 1 : i) : 0)
           : spec.space.sample(spec.seed, i);
    (void)trial.shown.dump(); // throws if it is no text
    require_leases(spec, trial);
  }
  stop_report report;
  report.lease = lease_id{1};
  report.node = node_id{1};
  report.device = "cpu";
  report.values[spec.objective.metric] = 0;
  require_travels(resent{key_of(spec.workload), report}, "a report");
}

void handle(std::string_view input) {
  const auto read = admit_study(std::string{input}, "fuzz.yaml",
                                built_in_workloads(), {true, {}});
  require(read.study.has_value() == read.errors.empty(),
          "a study with errors, or none without");
  for (const auto* list : {&read.errors, &read.warnings})
    for (const auto& x : *list)
      (void)nlohmann::json(to_text(x)).dump();
  if (read.study)
    require_runs(read.study->spec());
}

} // namespace

const target submitted_study{"submitted_study",
                             handle,
                             {"{",
                              "}",
                              "[",
                              "]",
                              ": ",
                              ", ",
                              "\n  ",
                              "- ",
                              "&a ",
                              "*a",
                              "\"",
                              "\\_",
                              "\\N",
                              "\\0",
                              "\\x85",
                              "\xc2\x85",
                              ".nan",
                              ".inf",
                              "-.inf",
                              "1e308",
                              "1e-308",
                              "0",
                              "-1",
                              "1000000000",
                              "0.1",
                              "choice: ",
                              "uniform: ",
                              "points: ",
                              "value: ",
                              "with: ",
                              "log_uniform: ",
                              "int_uniform: ",
                              "log_int_uniform: ",
                              "normal: ",
                              "log_normal: ",
                              "product: ",
                              "lr",
                              ".constant",
                              "resample: {space: ",
                              "pbt: ",
                              "failed: ",
                              "multistep: ",
                              "milestones: ",
                              "gamma: ",
                              "initial: ",
                              "cosine: ",
                              "horizon: ",
                              "end: ",
                              "piecewise: ",
                              "exponential: ",
                              "linear: ",
                              "polynomial: ",
                              "warmup: ",
                              "then: ",
                              "steps: ",
                              "from: ",
                              "to: ",
                              "cosine_restarts: ",
                              "period: ",
                              "cyclic: ",
                              "one_cycle: ",
                              "rex: ",
                              "reduce_on_plateau: ",
                              "step: ",
                              "wsd: ",
                              "peak: ",
                              "stable: ",
                              "decay: ",
                              "shape: ",
                              "join: ",
                              "inverse_sqrt: ",
                              "20%",
                              "12.5%",
                              "simplex: ",
                              "share",
                              "max_steps: {choice: [",
                              "eval_every: ",
                              "budget: {trials: ",
                              "algorithm: ",
                              "args: ",
                              "packages: ",
                              "python: ",
                              "command: ",
                              "files: ",
                              "\n--- # code\n",
                              "seed: "}};

} // namespace hippo::fuzz

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <variant>

#include "arguments.hpp"
#include "checked.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/train/torch/training.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Returns what is known of a built-in workload, or ends the program.
inline const workload_descriptor& described(const std::string& name) {
  const auto& all = built_in_workloads();
  const auto i = std::ranges::find(all, name, &workload_descriptor::name);
  if (i == all.end()) {
    std::fprintf(stderr, "no workload '%s'\n", name.c_str());
    std::exit(2);
  }
  return *i;
}

/// Takes over values by name, or ends the program if one has none of the names
/// of `known`.
template <class Map, class Convert>
void take_over(Map& to, const std::map<std::string, scalar>& from,
               const std::vector<parameter_descriptor>& known,
               Convert convert) {
  for (const auto& [name, x] : from) {
    if (std::ranges::find(known, name, &parameter_descriptor::name)
        == known.end()) {
      std::fprintf(stderr, "the workload has no '%s'\n", name.c_str());
      std::exit(2);
    }
    to[name] = convert(x);
  }
}

/// Returns a spec of a built-in workload. Data are made up where the workload
/// can do that.
/// @param examples images, windows or nodes to train on
/// @param options what is not to have its default
inline workload_spec spec_of(const std::string& name, double examples,
                             const std::map<std::string, scalar>& options) {
  const auto& known = described(name).options;
  workload_spec spec{name, {}};
  for (const auto& x : known)
    spec.options[x.name] =
      std::ranges::count(x.words, "synthetic") > 0 ? "synthetic" : x.fallback;
  spec.options["data.train"] = examples;
  spec.options["data.validation"] = 1000.0;
  take_over(spec.options, options, known, [](const scalar& x) { return x; });
  return spec;
}

/// Makes a built-in workload, or ends the program. Unless told otherwise the
/// thread that trains prepares its batches: peers have one thread as well.
inline std::unique_ptr<workload>
made(const workload_spec& spec, const std::string& device = "cpu",
     const data_options& data = {.prepare_threads = 0}) {
  checked(prepare_device(
    device, 1,
    numerics_from(numerics_of(spec)).value_or(default_numerics)));
  workload_registry registry;
  add_built_in_workloads(registry, device, data);
  return checked(registry.make(spec));
}

inline std::unique_ptr<workload>
made(const std::string& name, double examples,
     const std::string& device = "cpu",
     const std::map<std::string, scalar>& options = {}) {
  return made(spec_of(name, examples, options), device);
}

/// The defaults of a built-in workload, without dropout and augmentation.
/// @param values what is to have others
inline configuration plain(const std::string& name, double batch_size,
                           const std::map<std::string, scalar>& values = {}) {
  const auto& known = described(name).hyper_parameters;
  const auto form_of = [](const scalar& x) {
    return std::holds_alternative<double>(x)
             ? form::constant(std::get<double>(x))
             : form::text(std::get<std::string>(x));
  };
  configuration result;
  for (const auto& x : known)
    result[x.name] = form_of(x.fallback);
  result["batch_size"] = form::constant(batch_size);
  for (const char* off : {"dropout", "crop", "flip"})
    if (result.contains(off))
      result[off] = form::constant(0.0);
  take_over(result, values, known, form_of);
  return result;
}

} // namespace hippo

#pragma once

#include <memory>
#include <string>
#include <variant>

#include "checked.hpp"
#include "hippo/train/descriptor.hpp"
#include "hippo/train/torch/training.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Makes a built-in workload, or ends the program. Data are made up where the
/// workload can do that.
inline std::unique_ptr<workload> made(const std::string& name, double images,
                                      const std::string& device = "cpu",
                                      double lanes = 1) {
  checked(prepare_device(device));
  workload_registry registry;
  add_built_in_workloads(registry, device);
  workload_spec spec{name, {}};
  for (const auto& x : built_in_workloads())
    if (x.name == name)
      for (const auto& y : x.options)
        spec.options[y.name] = y.fallback;
  spec.options["data.train"] = images;
  spec.options["data.validation"] = 1000.0;
  if (spec.options.contains("data.set"))
    spec.options["data.set"] = std::string{"synthetic"};
  if (lanes != 1)
    spec.options["lanes"] = lanes;
  return checked(registry.make(spec));
}

/// The defaults of a built-in workload, without dropout and augmentation.
inline configuration plain(const std::string& name, double batch_size) {
  configuration result;
  for (const auto& x : built_in_workloads())
    if (x.name == name)
      for (const auto& y : x.hyper_parameters)
        result[y.name] = std::holds_alternative<double>(y.fallback)
                           ? form::constant(std::get<double>(y.fallback))
                           : form::text(std::get<std::string>(y.fallback));
  result["batch_size"] = form::constant(batch_size);
  for (const char* off : {"dropout", "crop", "flip"})
    if (result.contains(off))
      result[off] = form::constant(0.0);
  return result;
}

} // namespace hippo

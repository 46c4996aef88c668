#pragma once

#include <memory>
#include <string>
#include <variant>

#include "checked.hpp"
#include "hippo/train/descriptor.hpp"
#include "hippo/train/torch/training.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Makes a built-in workload on the CPU, or ends the program.
inline std::unique_ptr<workload> made(const std::string& name, double images) {
  checked(prepare_device("cpu"));
  workload_registry registry;
  add_built_in_workloads(registry, "cpu");
  return checked(registry.make(
    {name,
     {{"seed", 1.0},
      {"data.train", images},
      {"data.validation", 1000.0},
      {"data.folder", "/usr/share/datasets/fashion-mnist"}}}));
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

#include "hippo/service/study/client_values.hpp"

#include <utility>

namespace hippo {

std::string with_constants(const std::string& values,
                           const study_options& known) {
  const auto& spec = known.spec;
  const auto given = read_parameters(values, spec.lengths(), known.workload,
                                     name_rules::today, spec.typed);
  if (!given || spec.space.empty())
    return values;
  const auto varied = spec.space.varied();
  auto all = given->shown;
  const auto any = spec.space.sample(0, 0).shown;
  for (const auto& [name, value] : any.items())
    if (!varied.contains(name) && !all.contains(name))
      all[name] = value;
  auto with_products = all;
  const auto products = spec.space.products();
  for (const auto& [name, value] : products.items())
    if (!all.contains(name))
      with_products[name] = value;
  // Unless it has not all that they are made of.
  if (with_products.size() > all.size()
      && read_parameters(with_products.dump(), spec.lengths(), known.workload,
                         name_rules::today, spec.typed))
    all = std::move(with_products);
  return all.size() == given->shown.size() ? values : all.dump();
}

} // namespace hippo

#include "hippo/service/study/client_values.hpp"

#include <utility>

namespace hippo {

std::string with_constants(const std::string& values, const study_spec& study,
                           const workload_descriptor& workload,
                           name_rules rules) {
  const auto read = [&](const std::string& text) {
    return read_parameters(text, study.lengths(), workload, rules,
                           study.typed);
  };
  const auto given = read(values);
  if (!given || study.space.empty())
    return values;
  const auto varied = study.space.varied();
  auto all = given->shown;
  const auto any = study.space.sample(0, 0).shown;
  for (const auto& [name, value] : any.items())
    if (!varied.contains(name) && !all.contains(name))
      all[name] = value;
  auto with_products = all;
  const auto products = study.space.products();
  for (const auto& [name, value] : products.items())
    if (!all.contains(name))
      with_products[name] = value;
  // Unless it has not all that they are made of.
  if (with_products.size() > all.size()
      && read(with_products.dump()))
    all = std::move(with_products);
  return all.size() == given->shown.size() ? values : all.dump();
}

} // namespace hippo

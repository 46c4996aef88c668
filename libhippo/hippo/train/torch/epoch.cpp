#include "hippo/train/torch/epoch.hpp"

#include <numeric>
#include <stdexcept>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/train/torch/random.hpp"

namespace hippo {

std::uint64_t whole(const scalar& value) {
  return static_cast<std::uint64_t>(std::get<double>(value));
}

std::int64_t count_of(const workload_spec& spec, const std::string& option) {
  return static_cast<std::int64_t>(whole(spec.options.at(option)));
}

const std::string& word_of(const workload_spec& spec,
                           const std::string& option) {
  return std::get<std::string>(spec.options.at(option));
}

double number_at(const configuration& config, const std::string& name,
                 step_t at) {
  return std::get<double>(config.at(name).at(at));
}

std::string data_key(const workload_spec& spec) {
  std::string result;
  for (const auto& [name, x] : spec.options)
    if (name.starts_with("data."))
      result += '\n' + name + '=' + to_text(x);
  return result;
}

update_rule update_rule_at(const configuration& config, step_t at) {
  const auto number = [&](const char* name) {
    return number_at(config, name, at);
  };
  update_rule result;
  result.kind = std::get<std::string>(config.at("optimizer").at(at)) == "sgd"
                  ? optimizer_kind::sgd
                  : optimizer_kind::adamw;
  result.lr = number("lr");
  result.momentum = number("momentum");
  result.beta2 = number("beta2");
  result.weight_decay = number("weight_decay");
  return result;
}

epoch_values epoch_values_at(const configuration& config, step_t at) {
  return {update_rule_at(config, at),
          whole(number_at(config, "batch_size", at)),
          number_at(config, "dropout", at)};
}

void check_batch_size(const configuration& config, step_t at,
                      std::size_t size) {
  const auto batch_size = epoch_values_at(config, at).batch_size;
  if (batch_size > size)
    throw std::invalid_argument("batch_size " + std::to_string(batch_size)
                                + " is above data.train "
                                + std::to_string(size));
}

std::vector<std::uint32_t> random_order(std::size_t size,
                                        random_numbers numbers) {
  std::vector<std::uint32_t> result(size);
  std::iota(result.begin(), result.end(), 0U);
  for (auto n = result.size(); n > 1; --n)
    std::swap(result[n - 1], result[numbers.below(n)]);
  return result;
}

std::vector<std::uint32_t> epoch_order(std::uint64_t seed, step_t step,
                                       std::size_t size) {
  return random_order(size, {seed, purpose::order, {step}});
}

} // namespace hippo

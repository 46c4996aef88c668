#include "hippo/model/parameter_makers.hpp"

#include <limits>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/model/sync.hpp"

namespace hippo::describe {

parameter_descriptor number(std::string name, double fallback, double min,
                            double max, std::string meaning) {
  parameter_descriptor x;
  x.name = std::move(name);
  x.fallback = fallback;
  x.min = min;
  x.max = max;
  x.meaning = std::move(meaning);
  return x;
}

parameter_descriptor integer(std::string name, double fallback, double min,
                             double max, std::string meaning) {
  auto x = number(std::move(name), fallback, min, max, std::move(meaning));
  x.integer = true;
  return x;
}

parameter_descriptor words(std::string name, std::vector<std::string> allowed,
                           std::string fallback, std::string meaning) {
  parameter_descriptor x;
  x.name = std::move(name);
  x.fallback = std::move(fallback);
  x.words = std::move(allowed);
  x.meaning = std::move(meaning);
  return x;
}

parameter_descriptor text(std::string name, std::string fallback,
                          std::string meaning) {
  return words(std::move(name), {}, std::move(fallback), std::move(meaning));
}

parameter_descriptor learning_rate(double fallback) {
  const auto infinity = std::numeric_limits<double>::infinity();
  return number("lr", fallback, 0, infinity, "learning rate");
}

parameter_descriptor batch_size(double fallback, double max,
                                std::string meaning) {
  auto x = integer("batch_size", fallback, 1, max, std::move(meaning));
  x.max_option = "data.train";
  x.affects_speed = true;
  return x;
}

parameter_descriptor optimizer(std::string fallback) {
  auto x = words("optimizer", {"adamw", "sgd"}, std::move(fallback),
                 "update rule; a change of it starts its state afresh");
  x.affects_speed = true;
  return x;
}

parameter_descriptor fraction(std::string name, double fallback,
                              std::string meaning) {
  auto x = number(std::move(name), fallback, 0, 1, std::move(meaning));
  x.max_excluded = true;
  return x;
}

parameter_descriptor precision() {
  return words("precision", {"float32", "tf32", "bfloat16", "float16"},
               "float32",
               "numbers that are multiplied; weights and losses are float32 in "
               "any case, tf32 is float32 on a CPU, float16 needs a GPU");
}

parameter_descriptor numerics_option() {
  return words("numerics", {"native", "portable"}, "native",
               "instructions of CPUs: all that the CPU has, or those of AVX2 "
               "alone, which give the same bits on more machines; no matter on "
               "GPUs");
}

std::vector<parameter_descriptor> sync_parameters() {
  constexpr double most = 1e6;
  const sync_rule defaults;
  auto lag = integer(sync_lag_name, static_cast<double>(defaults.lag), 0, most,
                     "iterations until weights that were exchanged arrive; "
                     "below sync_every");
  lag.max_parameter = sync_every_name;
  lag.max_excluded = true;
  auto rate = number(sync_lr_name, defaults.lr, 0,
                     std::numeric_limits<double>::infinity(),
                     "bmuf: learning rate of the centre (block learning rate)");
  rate.min_excluded = true;
  // Configurations of before it was there are those of today.
  rate.left_out = true;
  return {
    integer(sync_every_name, static_cast<double>(defaults.every), 1, most,
            "iterations from one exchange of weights to the next"),
    std::move(lag),
    number(sync_alpha_name, defaults.alpha, 0, 1,
           "share of the way to each other that weights go"),
    fraction(sync_momentum_name, defaults.momentum,
             "bmuf: momentum of the centre (block momentum)"),
    std::move(rate),
  };
}

images_descriptor of_one_set(images_descriptor x) {
  const auto count = to_text(x.count);
  x.training_part = "the first of the " + count;
  x.validation_part =
    "the last of the " + count + "; with data.train at most " + count;
  return x;
}

images_descriptor fashion_images() {
  return of_one_set({"/usr/share/datasets/fashion-mnist",
                     "folder of the Fashion-MNIST files, plain or gzipped",
                     60000,
                     20000,
                     5000,
                     "10",
                     {},
                     {}});
}

} // namespace hippo::describe

#pragma once

#include <string>
#include <vector>

#include "hippo/model/workload_descriptor.hpp"

// Parts of the descriptors of the workloads that come with Hippo.

namespace hippo::describe {

/// The version of these workloads: to be raised with every change of their
/// results.
inline constexpr const char* built_in_version = "built-in 6";

parameter_descriptor number(std::string name, double fallback, double min,
                            double max, std::string meaning);

parameter_descriptor integer(std::string name, double fallback, double min,
                             double max, std::string meaning);

parameter_descriptor words(std::string name, std::vector<std::string> allowed,
                           std::string fallback, std::string meaning);

/// A text that may be anything.
parameter_descriptor text(std::string name, std::string fallback,
                          std::string meaning);

/// A number of `[0, 1)`.
parameter_descriptor fraction(std::string name, double fallback,
                              std::string meaning);

/// It may be 0: schedules begin and end there.
parameter_descriptor learning_rate(double fallback);

/// @param meaning the content of an iteration
parameter_descriptor batch_size(double fallback, double max,
                                std::string meaning);

parameter_descriptor optimizer(std::string fallback);

/// In which numbers a network multiplies. The default is a part of the keys of
/// studies that are stored: with another one they would begin anew.
parameter_descriptor precision();

/// With which of a CPU's instructions a network is computed.
parameter_descriptor numerics_option();

/// The exchanges of parts that train copies of the weights (`sync_rule`): all
/// but their kind.
std::vector<parameter_descriptor> sync_parameters();

/// The images of a data set's training files.
struct images_descriptor {
  std::string folder;          ///< where the files are by default
  std::string meaning;         ///< of the option that names it
  double count;                ///< of images, at the most
  double training;             ///< of them trained on by default
  double validation;           ///< of them measured on by default
  std::string classes;         ///< how many there are
  std::string training_part;   ///< which ones are trained on
  std::string validation_part; ///< which ones are measured on
};

/// Adds which images of one set of `x.count` are used.
images_descriptor of_one_set(images_descriptor set);

/// Returns the images of Fashion-MNIST.
images_descriptor fashion_images();

} // namespace hippo::describe

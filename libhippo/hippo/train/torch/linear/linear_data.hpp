#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hippo/model/workload_spec.hpp"
#include "hippo/train/torch/data/image_data.hpp"
#include "hippo/train/torch/linear/linear_model.hpp"
#include "hippo/train/torch/tensor_file.hpp"

// The common part of the workloads that are linear models of images.

namespace hippo {

/// Returns the loss that the option `loss` names.
linear_loss loss_of(const workload_spec& spec);

/// Returns the images of Fashion-MNIST that a spec names. Throws
/// as `read_fashion`.
std::shared_ptr<const image_data> fashion_images(const workload_spec& spec);

/// Returns images as examples, with a target of 1 for their class and 0 for
/// the others. @param set a part of `images`
linear_examples examples_of(std::shared_ptr<const image_data> images,
                            const image_set& set);

/// Takes numbers out of tensors. Throws `std::runtime_error` if there are not
/// as many.
void take(const tensor_map& from, const std::string& name,
          std::vector<double>& to);

/// Returns the numbers as one row.
at::Tensor tensor_of(const std::vector<double>& values);

/// Returns the weights of a linear model as a PyTorch module's.
/// @param prefix of the names `weight` and `bias`
named_tensors module_of(const linear_examples& examples,
                        const std::vector<double>& weights,
                        const std::string& prefix);

} // namespace hippo

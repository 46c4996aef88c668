#include "hippo/train/torch/networks/dropout.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include <stdexcept>
#include <string>

#include "hippo/model/subnetworks.hpp"

namespace hippo {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What is dropped where.
struct place {
  const step_kernels* kernels;
  const step_values* values;
  std::uint64_t layer;

  [[nodiscard]] at::Tensor drop(const at::Tensor& x) const {
    const auto from = x.contiguous();
    auto to = at::empty_like(from);
    kernels->drop(*values, layer, from, to);
    return to;
  }
};

class dropout : public torch::autograd::Function<dropout> {
public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const place& where) {
    context->saved_data["place"] =
      at::from_blob(const_cast<place*>(&where), {sizeof where}, at::kByte)
        .clone();
    return where.drop(x);
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto saved = context->saved_data["place"].toTensor();
    return {static_cast<const place*>(saved.const_data_ptr())
              ->drop(gradients[0]),
            {}};
  }
};

/// Throws `std::invalid_argument` if blocks do not fill the features of a
/// layer.
void check_block(const hippo_cuda_step& values, const at::Tensor& tensor) {
  const auto features = tensor.numel() / tensor.size(0);
  if (features % values.dropout_block != 0)
    throw std::invalid_argument(
      std::string{dropout_block_name} + ' '
      + std::to_string(values.dropout_block) + " does not divide the "
      + std::to_string(features) + " features of a layer");
}

} // namespace

at::Tensor dropped(const at::Tensor& tensor, const step_values* values,
                   std::uint64_t layer) {
  if (values == nullptr || !values->drops())
    return tensor;
  if ((*values)->dropout_slots != 0)
    check_block(**values, tensor);
  return dropped_by(step_kernels::of(tensor.device()), tensor, *values, layer);
}

at::Tensor dropped_by(const step_kernels& kernels, const at::Tensor& tensor,
                      const step_values& values, std::uint64_t layer) {
  return dropout::apply(tensor, place{&kernels, &values, layer});
}

} // namespace hippo

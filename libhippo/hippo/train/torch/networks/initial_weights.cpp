#include "hippo/train/torch/networks/initial_weights.hpp"

#include <cmath>

namespace hippo {

void put_initial_weights(const named_tensors& parameters, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  std::uint64_t index = 0;
  for (const auto& [name, x] : parameters) {
    ++index;
    if (x.dim() == 1) {
      // A one-dimensional weight is the scale of a normalisation.
      x.fill_(name.ends_with(".weight") ? 1 : 0);
      continue;
    }
    const auto inputs = x[0].numel();
    const auto bound = 1 / std::sqrt(static_cast<double>(inputs));
    put_uniform(x, bound, {seed, purpose::weights, {index}});
  }
}

void put_uniform(const at::Tensor& to, double bound, random_numbers numbers) {
  const at::NoGradGuard no_grad;
  auto values = at::empty(to.sizes(), at::kFloat);
  auto* out = values.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i)
    out[i] = static_cast<float>((2 * numbers.uniform() - 1) * bound);
  to.copy_(values);
}

} // namespace hippo

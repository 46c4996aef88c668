#include "hippo/train/torch/networks/initial_weights.hpp"

#include <cmath>

#include "hippo/train/torch/random.hpp"

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
    random_numbers numbers{seed, purpose::weights, {index}};
    auto values = at::empty(x.sizes(), at::kFloat);
    auto* out = values.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < values.numel(); ++i)
      out[i] = static_cast<float>((2 * numbers.uniform() - 1) * bound);
    x.copy_(values);
  }
}

} // namespace hippo

#include "hippo/train/torch/networks/networks.hpp"

#include "hippo/train/torch/networks/network_families.hpp"

namespace hippo {

std::unique_ptr<model> make_network(const std::string& name,
                                    const image_form& form,
                                    const network_place& place) {
  for (int depth : {20, 32, 44, 56, 110})
    if (name == "resnet" + std::to_string(depth))
      return make_residual_network(depth, form, place);
  if (name == "mlp")
    return make_mlp(2, 128, form, place);
  if (name == "mlp-wide")
    return make_mlp(4, 1024, form, place);
  if (name == "cnn")
    return make_cnn(form, place);
  if (name == "wrn16-4")
    return make_wide_residual_network(16, 4, form, place);
  if (name == "mobilenetv2")
    return make_mobilenet(form, place);
  return nullptr;
}

} // namespace hippo

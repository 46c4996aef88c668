#pragma once

#include <memory>
#include <string>

#include "hippo/train/torch/data/image_data.hpp"
#include "hippo/train/torch/networks/model.hpp"

namespace hippo {

/// Makes the network for small images of this name:
///
/// - `mlp`: two hidden layers of 128;
/// - `mlp-wide`: four hidden layers of 1024;
/// - `cnn`: two 3 x 3 convolutions, each pooled and normalised, and a linear
///   layer;
/// - `resnet20`, `resnet32`, `resnet44`, `resnet56`, `resnet110`: residual
///   networks (He et al., 2016) of depth 6n + 2, with projections where the
///   shape changes (option B);
/// - `wrn16-4`: a wide residual network (Zagoruyko and Komodakis, 2016);
/// - `mobilenetv2`: MobileNetV2 (Sandler et al., 2018) with stride 1 instead of
///   2 in the first convolution and in the stage of 24 channels, so that 32 x
///   32 pixels become 4 x 4.
///
/// They drop out activations before their last layer, `mlp` and `mlp-wide`
/// after each hidden one.
/// @returns null if there is none of that name
std::unique_ptr<model> make_network(const std::string& name,
                                    const image_form& form,
                                    const network_place& place);

} // namespace hippo

#pragma once

#include <memory>

#include "hippo/train/torch/data/image_data.hpp"
#include "hippo/train/torch/networks/model.hpp"

// The parts of `make_network`.

namespace hippo {

/// @param hidden layers, of `width` features each
std::unique_ptr<model> make_mlp(int hidden, std::int64_t width,
                                const image_form& form,
                                const network_place& place);

std::unique_ptr<model> make_cnn(const image_form& form,
                                const network_place& place);

/// REQUIRES: `depth` is 6n + 2.
std::unique_ptr<model> make_residual_network(int depth, const image_form& form,
                                             const network_place& place);

/// REQUIRES: `depth` is 6n + 4.
std::unique_ptr<model> make_wide_residual_network(int depth, int width,
                                                  const image_form& form,
                                                  const network_place& place);

std::unique_ptr<model> make_mobilenet(const image_form& form,
                                      const network_place& place);

} // namespace hippo

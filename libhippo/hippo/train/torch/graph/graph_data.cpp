#include "hippo/train/torch/graph/graph_data.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/base/portable_math.hpp"
#include "hippo/train/torch/data/image_files.hpp"
#include "hippo/train/torch/data/shared_values.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/graph/graph_files.hpp"
#include "hippo/train/torch/random.hpp"

namespace hippo {

namespace {

/// Neighbours of an image.
constexpr std::int64_t nearest_images = 10;

/// Edges of a graph that is made, in each direction: 4 bytes each.
constexpr double edges_max = 268435456;

/// Throws `std::invalid_argument` if a graph is likely to have too many edges.
void check_edges(const block_model& model) {
  const auto nodes = static_cast<double>(model.nodes),
             blocks = static_cast<double>(model.blocks);
  const auto edges =
    nodes * nodes * (model.within + (blocks - 1) * model.between) / blocks;
  if (edges > edges_max)
    throw std::invalid_argument("data.nodes " + std::to_string(model.nodes)
                                + ", data.within " + to_text(model.within)
                                + " and data.between " + to_text(model.between)
                                + " make about " + to_text(std::round(edges))
                                + " edges, more than " + to_text(edges_max));
}

/// Returns a stochastic block model whose blocks are the classes. Feature c of
/// a node is 1 if that is its class, else 0, plus normally distributed noise:
/// neighbours are needed to tell classes apart.
graph_data make_block_data(const workload_spec& spec) {
  const auto number = [&](const char* name) {
    return std::get<double>(spec.options.at(name));
  };
  const auto seed = whole(spec.options.at("seed"));
  const auto nodes = whole(spec.options.at("data.nodes")),
             training = whole(spec.options.at("data.train")),
             validation = whole(spec.options.at("data.validation"));
  check_nodes(spec, nodes, " of data.nodes");
  const block_model model{static_cast<std::int64_t>(nodes),
                          count_of(spec, "data.classes"), number("data.within"),
                          number("data.between")};
  check_edges(model);
  auto labels = draw_blocks(model, seed);
  graph_data result{draw_graph(model, labels, seed),
                    model.blocks,
                    {},
                    {},
                    model.blocks,
                    node_range(0, training),
                    node_range(training, training + validation)};
  const auto noise = number("data.noise");
  for (std::size_t i = 0; i < nodes; ++i) {
    random_numbers numbers{seed, purpose::example, {i}};
    for (std::int64_t c = 0; c < model.blocks; ++c)
      result.features.push_back(static_cast<float>(
        (labels[i] == c ? 1 : 0) + noise * normal_quantile(numbers.uniform())));
  }
  result.labels = std::move(labels);
  return result;
}

/// Returns images of Fashion-MNIST as nodes: those to train on, then those to
/// measure on, each with edges to the nearest of all.
graph_data read_image_data(const workload_spec& spec) {
  const auto images =
    read_fashion(std::get<std::string>(spec.options.at("data.folder")),
                 {whole(spec.options.at("data.train")),
                  whole(spec.options.at("data.validation"))});
  const auto training = images.training.labels.size(),
             nodes = training + images.validation.labels.size();
  if (nodes <= static_cast<std::size_t>(nearest_images))
    throw std::invalid_argument(
      "data.train and data.validation are " + std::to_string(nodes)
      + " images, of which each is to have " + std::to_string(nearest_images)
      + " neighbours: give more");
  std::vector<float> bytes;
  std::vector<std::uint32_t> labels;
  for (const auto* set : {&images.training, &images.validation}) {
    bytes.insert(bytes.end(), set->pixels.begin(), set->pixels.end());
    labels.insert(labels.end(), set->labels.begin(), set->labels.end());
  }
  const auto width = static_cast<std::int64_t>(images.form.size());
  graph_data result{nearest_neighbours(bytes, width, nearest_images),
                    width,
                    {},
                    std::move(labels),
                    static_cast<std::int64_t>(images.form.classes),
                    node_range(0, training),
                    node_range(training, nodes)};
  for (auto& x : bytes)
    x = images.values[0][static_cast<std::size_t>(x)];
  result.features = std::move(bytes);
  return result;
}

} // namespace

std::vector<std::uint32_t> node_range(std::uint64_t first, std::uint64_t end) {
  std::vector<std::uint32_t> result(end - first);
  std::iota(result.begin(), result.end(), static_cast<std::uint32_t>(first));
  return result;
}

void check_nodes(const workload_spec& spec, std::uint64_t nodes,
                 const std::string& place) {
  const auto training = whole(spec.options.at("data.train")),
             validation = whole(spec.options.at("data.validation"));
  if (training + validation > nodes)
    throw std::invalid_argument(
      "data.train " + std::to_string(training) + " and data.validation "
      + std::to_string(validation) + " are more than the "
      + std::to_string(nodes) + place);
}

std::shared_ptr<const graph_data> graph_data_of(const workload_spec& spec) {
  // Never destroyed: the last workload may outlive other static objects.
  static auto& all = *new shared_values<graph_data>;
  const auto& set = word_of(spec, "data.set");
  const auto key =
    data_key(spec)
    + (set == "sbm" ? "\n" + to_text(spec.options.at("seed")) : "");
  return all.get(key, [&] {
    return std::make_shared<const graph_data>(
      set == "sbm"         ? make_block_data(spec)
      : set == "csr"       ? read_csr(spec)
      : set == "planetoid" ? read_planetoid(spec)
                           : read_image_data(spec));
  });
}

} // namespace hippo

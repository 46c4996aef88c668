#include "hippo/train/torch/graph/graph_files.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "hippo/base/csv.hpp"
#include "hippo/train/torch/data/checked_files.hpp"
#include "hippo/train/torch/data/npy_array.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t graph_bytes_max = std::uint64_t{8} << 30;
constexpr std::int64_t classes_max = 1000;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::invalid_argument(path + ": " + why);
}

/// Returns the whole numbers from 0 on of an array of one dimension.
std::vector<std::int64_t> whole_numbers(const at::Tensor& array,
                                        const std::string& path) {
  if (array.dim() != 1 || array.is_floating_point())
    refuse(path, "must be one row of whole numbers");
  const auto values = array.to(at::kLong);
  const auto* first = values.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> result(first, first + values.numel());
  for (std::size_t i = 0; i < result.size(); ++i)
    if (result[i] < 0)
      refuse(path, "number " + std::to_string(i) + " is "
                     + std::to_string(result[i]) + ": must be at least 0");
  return result;
}

std::vector<std::uint32_t> narrow(const std::vector<std::int64_t>& numbers,
                                  const std::string& path) {
  std::vector<std::uint32_t> result;
  for (const auto number : numbers) {
    if (number > std::int64_t{UINT32_MAX})
      refuse(path, std::to_string(number) + " is no number of a node");
    result.push_back(static_cast<std::uint32_t>(number));
  }
  return result;
}

/// Puts the first nodes into training and the last ones into validation.
void split(graph_data& data, const workload_spec& spec) {
  const auto nodes = static_cast<std::uint64_t>(data.edges.nodes());
  check_nodes(spec, nodes, " nodes of " + word_of(spec, "data.folder"));
  data.training = node_range(0, whole(spec.options.at("data.train")));
  data.validation =
    node_range(nodes - whole(spec.options.at("data.validation")), nodes);
}

std::vector<std::string> files_of(const workload_spec& spec,
                                  const std::vector<std::string>& paths) {
  return read_checked(paths, "data.folder", word_of(spec, "data.sha256"),
                      graph_bytes_max);
}

/// Returns the one file of a folder that ends so.
std::string file_ending_in(const std::string& folder,
                           const std::string& ending) {
  std::vector<std::string> found;
  std::error_code failed;
  for (const auto& each : fs::directory_iterator{folder, failed})
    if (each.path().extension() == ending)
      found.push_back(each.path().string());
  if (found.size() != 1)
    throw missing_data_error("data.folder: " + folder + " has "
                             + std::to_string(found.size()) + " files *"
                             + ending
                             + ": give a folder with one *.content and one "
                               "*.cites");
  return found.front();
}

/// A line of a text, taken apart at white space.
struct text_line {
  std::string place; ///< `file:line`
  std::vector<std::string> fields;
};

std::vector<text_line> lines_of(const std::string& text,
                                const std::string& path) {
  std::vector<text_line> result;
  std::istringstream in{text};
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    text_line next{path + ':' + std::to_string(number), {}};
    std::istringstream fields{line};
    for (std::string field; fields >> field;)
      next.fields.push_back(std::move(field));
    if (!next.fields.empty())
      result.push_back(std::move(next));
  }
  return result;
}

/// Returns undirected edges as a graph.
graph graph_of(const std::set<std::pair<std::uint32_t, std::uint32_t>>& edges,
               std::size_t nodes) {
  std::vector<std::int64_t> offsets(nodes + 1);
  std::vector<std::uint32_t> neighbours;
  for (const auto& [from, to] : edges) { // by node, then by neighbour
    ++offsets[from + 1];
    neighbours.push_back(to);
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return {std::move(offsets), std::move(neighbours)};
}

} // namespace

graph_data read_csr(const workload_spec& spec) {
  const auto& folder = word_of(spec, "data.folder");
  const std::vector<std::string> paths{
    folder + "/indptr.npy", folder + "/indices.npy", folder + "/features.npy",
    folder + "/labels.npy"};
  const auto files = files_of(spec, paths);
  const auto array = [&](std::size_t i) {
    return npy_array(files[i], paths[i]);
  };
  graph_data result{{whole_numbers(array(0), paths[0]),
                     narrow(whole_numbers(array(1), paths[1]), paths[1])},
                    0,
                    {},
                    narrow(whole_numbers(array(3), paths[3]), paths[3]),
                    0,
                    {},
                    {}};
  const auto nodes = result.edges.nodes();
  const auto features = array(2);
  if (features.dim() != 2 || features.size(0) != nodes || features.size(1) == 0)
    refuse(paths[2], "must be " + std::to_string(nodes)
                       + " nodes x features, as the graph has nodes");
  result.width = features.size(1);
  const auto values = features.to(at::kFloat);
  result.features.assign(values.const_data_ptr<float>(),
                         values.const_data_ptr<float>() + values.numel());
  for (std::size_t i = 0; i < result.features.size(); ++i)
    if (!std::isfinite(result.features[i]))
      refuse(paths[2],
             "a feature of node "
               + std::to_string(i / static_cast<std::size_t>(result.width))
               + " is no finite number");
  if (static_cast<std::int64_t>(result.labels.size()) != nodes)
    refuse(paths[3], "has " + std::to_string(result.labels.size())
                       + " classes, and the graph " + std::to_string(nodes)
                       + " nodes");
  if (!result.labels.empty())
    result.classes = std::ranges::max(result.labels) + std::int64_t{1};
  if (result.classes < 2 || result.classes > classes_max)
    refuse(paths[3], "has " + std::to_string(result.classes)
                       + " classes: must be from 2 to "
                       + std::to_string(classes_max));
  split(result, spec);
  return result;
}

graph_data read_planetoid(const workload_spec& spec) {
  const auto& folder = word_of(spec, "data.folder");
  const std::vector<std::string> paths{file_ending_in(folder, ".content"),
                                       file_ending_in(folder, ".cites")};
  const auto files = files_of(spec, paths);
  const auto nodes = lines_of(files[0], paths[0]);
  std::map<std::string, std::uint32_t> numbers;
  std::map<std::string, std::uint32_t> classes; // in alphabetical order
  std::vector<float> features;
  for (const auto& [place, fields] : nodes) {
    const auto count = nodes.front().fields.size();
    if (fields.size() < 3 || fields.size() != count)
      refuse(place,
             "has " + std::to_string(fields.size())
               + " fields: must be a name, features and a class, as many "
                 "as the first line's "
               + std::to_string(count));
    if (!numbers
           .emplace(fields.front(), static_cast<std::uint32_t>(numbers.size()))
           .second)
      refuse(place, "node '" + fields.front() + "' is there a second time");
    for (std::size_t i = 1; i + 1 < count; ++i) {
      const auto feature = number_from<float>(fields[i]);
      if (!feature || !std::isfinite(*feature))
        refuse(place, "feature " + std::to_string(i)
                        + " must be a finite number, found '" + fields[i]
                        + "'");
      features.push_back(*feature);
    }
    classes.emplace(fields.back(), 0);
  }
  if (classes.size() < 2
      || static_cast<std::int64_t>(classes.size()) > classes_max)
    refuse(paths[0], "has " + std::to_string(classes.size())
                       + " classes: must be from 2 to "
                       + std::to_string(classes_max));
  std::uint32_t next = 0;
  for (auto& [name, number] : classes)
    number = next++;
  std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const auto& [place, fields] : lines_of(files[1], paths[1])) {
    if (fields.size() != 2)
      refuse(place, "has " + std::to_string(fields.size())
                      + " fields: must be the names of two nodes");
    std::array<std::uint32_t, 2> ends{};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto found = numbers.find(fields[i]);
      if (found == numbers.end())
        refuse(place, "an edge to node '" + fields[i] + "', which is not in "
                        + paths[0]);
      ends[i] = found->second;
    }
    if (ends[0] == ends[1])
      continue;
    edges.emplace(ends[0], ends[1]);
    edges.emplace(ends[1], ends[0]);
  }
  std::vector<std::uint32_t> labels;
  for (const auto& node : nodes)
    labels.push_back(classes.at(node.fields.back()));
  graph_data result{graph_of(edges, nodes.size()),
                    static_cast<std::int64_t>(features.size() / nodes.size()),
                    std::move(features),
                    std::move(labels),
                    static_cast<std::int64_t>(classes.size()),
                    {},
                    {}};
  split(result, spec);
  return result;
}

} // namespace hippo

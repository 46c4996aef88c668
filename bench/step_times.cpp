// How well step times are predicted where they were not measured.
//
//   step_times PROFILE...
//
// The files are what `hippo profile` writes. Leaves out each batch size of each
// of them in turn and has `step_model` predict it of all the rest, and then
// each whole profile likewise. Prints JSON: for both, a list of predictions.

#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/forecast/simulate/profile.hpp"
#include "hippo/plan/schedule/step_model.hpp"

namespace {

using namespace hippo;

/// Returns the times of the batch sizes that a profile has.
/// @returns nothing if it cannot be read, which is said
std::vector<step_profile> read(const std::string& path) {
  std::ifstream in{path};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  const auto file = read_profile(text, path);
  for (const auto& x : file.errors)
    std::cerr << path << ": " << x.message << '\n';
  if (!file.profile)
    return {};
  const auto& x = *file.profile;
  std::vector<step_profile> result;
  for (const auto& table : x.step_seconds)
    if (table.by == "batch_size")
      for (const auto& [batch, seconds] : table.by_number)
        result.push_back({x.device, x.workload.name, batch, x.size,
                          seconds / std::ceil(x.size.samples / batch)});
  return result;
}

/// Predicts what a model that knows of `known` alone takes a measured one for.
nlohmann::json predict(const std::vector<step_profile>& known,
                       const step_profile& x) {
  nlohmann::json result{{"kind", x.kind},
                        {"workload", x.workload},
                        {"batch", x.batch},
                        {"measured", x.seconds}};
  const auto told
    = step_model{known}.predict(x.kind, x.workload, x.batch, x.size);
  if (told) {
    result["predicted"] = told->seconds;
    result["margin"] = told->margin;
  }
  return result;
}

bool is_same(const step_profile& x, const step_profile& y) {
  return x.kind == y.kind && x.workload == y.workload;
}

} // namespace

int main(int argc, char** argv) {
  std::vector<step_profile> all;
  for (int i = 1; i < argc; ++i) {
    const auto more = read(argv[i]);
    if (more.empty()) {
      std::cerr << argv[i] << " has no times by batch size\n";
      return 1;
    }
    all.insert(all.end(), more.begin(), more.end());
  }
  auto batches = nlohmann::json::array(), profiles = nlohmann::json::array();
  for (const auto& x : all) {
    auto known = all;
    std::erase_if(known, [&](const auto& y) {
      return is_same(x, y) && y.batch == x.batch;
    });
    batches.push_back(predict(known, x));
    std::erase_if(known, [&](const auto& y) { return is_same(x, y); });
    profiles.push_back(predict(known, x));
  }
  std::cout << nlohmann::json{{"batches", batches}, {"profiles", profiles}}
            << '\n';
}

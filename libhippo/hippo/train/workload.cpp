#include "hippo/train/workload.hpp"

#include <algorithm>
#include <utility>

#include "hippo/base/nearest.hpp"

namespace hippo {

std::unique_ptr<content_source> workload_state::content() const {
  return std::make_unique<memory_source>(bytes());
}

void workload::load_file() {
  throw std::logic_error("this workload is given states as bytes");
}

std::shared_ptr<const workload_state> workload::snapshot() {
  return std::make_shared<saved_state>(save());
}

void workload::restore(const workload_state& saved) {
  load(saved.bytes());
}

std::vector<std::string> workload::differences(const std::string& left,
                                               const std::string& right) {
  if (left == right)
    return {};
  const auto [i, j] =
    std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  return {"the saved states differ from byte "
          + std::to_string(i - left.begin()) + " on (of "
          + std::to_string(left.size()) + " and " + std::to_string(right.size())
          + " bytes)"};
}

void workload::export_weights(const std::string&) {
  throw std::runtime_error("this workload cannot export its weights");
}

void workload_registry::add(workload_descriptor descriptor,
                            workload_factory factory) {
  auto name = descriptor.name;
  entries_.insert_or_assign(std::move(name),
                            entry{std::move(descriptor), std::move(factory)});
}

void workload_registry::add(workload_registry other,
                            const std::string& version) {
  for (auto& [name, x] : other.entries_) {
    x.descriptor.version = version;
    entries_.insert_or_assign(name, std::move(x));
  }
}

std::vector<workload_descriptor> workload_registry::descriptors() const {
  std::vector<workload_descriptor> result;
  for (const auto& [name, x] : entries_)
    result.push_back(x.descriptor);
  return result;
}

expected<std::unique_ptr<workload>>
workload_registry::make(const workload_spec& spec) const {
  const auto i = entries_.find(spec.name);
  if (i == entries_.end()) {
    std::vector<std::string> known;
    for (const auto& [name, x] : entries_)
      known.push_back(name);
    return {errc::unknown_workload, "no workload is named '" + spec.name + "'"
                                      + did_you_mean(spec.name, known)};
  }
  try {
    return i->second.factory(spec);
  } catch (const missing_data_error& e) {
    return {errc::missing_data, e.what()};
  } catch (const std::bad_alloc& e) {
    return {errc::resource_exhausted, e.what()};
  } catch (const std::exception& e) {
    return {errc::training_failed, e.what()};
  }
}

} // namespace hippo

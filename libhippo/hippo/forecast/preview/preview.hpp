#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/model/records.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/report/preview.hpp"
#include "hippo/search/accepted_study.hpp"

namespace hippo {

/// The most trials and measurements that are looked at in one run of the
/// studies.
inline constexpr std::uint64_t preview_events_max = 2'000'000;

/// Works out what studies that run together would train. Algorithms that stop
/// early are also run on made-up results, in which each trial has a random
/// quality; the estimate is the mean over several such runs.
/// @param workloads those that the studies name are among them
/// @param known what has been trained, by workload key; null: nobody knows, and
///              no known steps are said
/// @param stages_max so many stages of their tree are wanted at most
/// @param others how far trials of other studies get, by workload key, in the
///               nodes of `known`: the tree has them too; null: it has not
/// @param stops asked now and then: whether nobody wants to know any more
/// @returns `errc::resource_exhausted` if that takes more than
///          `preview_events_max`, `errc::cancelled` if it was told to stop
/// @complexity O(trials * segments + size of `known`)
expected<preview_view>
preview(const std::vector<accepted_study>& studies,
        const std::vector<workload_descriptor>& workloads,
        const std::map<std::string, stored_plan>* known = nullptr,
        std::size_t stages_max = 0,
        const std::map<std::string, std::vector<stored_end>>* others = nullptr,
        const std::function<bool()>& stops = [] { return false; });

} // namespace hippo

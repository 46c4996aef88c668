#include "hippo/model/sync.hpp"

#include <algorithm>
#include <cassert>

namespace hippo {

const std::vector<std::string>& sync_words() {
  static const std::vector<std::string> all{"step", "average", "elastic",
                                            "bmuf"};
  return all;
}

sync_kind sync_kind_of(const std::string& word) {
  const auto& all = sync_words();
  const auto i = std::ranges::find(all, word);
  assert(i != all.end());
  return static_cast<sync_kind>(i - all.begin());
}

} // namespace hippo

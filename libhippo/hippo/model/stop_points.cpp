#include "hippo/model/stop_points.hpp"

#include <algorithm>

namespace hippo {

void merge_stop(std::vector<stop_point>& stops, std::size_t passed,
                const stop_point& stop) {
  auto i = std::ranges::lower_bound(stops.begin()
                                      + static_cast<std::ptrdiff_t>(passed),
                                    stops.end(), stop.at, {}, &stop_point::at);
  if (i->at == stop.at) {
    i->evaluate = i->evaluate || stop.evaluate;
    i->save = i->save || stop.save;
  } else {
    i = stops.insert(i, stop);
  }
  if (stop.last)
    stops.erase(i + 1, stops.end());
}

} // namespace hippo

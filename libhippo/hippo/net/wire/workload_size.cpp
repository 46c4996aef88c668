#include "hippo/net/wire/workload_size.hpp"

#include <cmath>

namespace hippo {

void put(schema::WorkloadSize::Builder out, const workload_size& size) {
  out.setOperations(size.operations);
  out.setParameters(size.parameters);
  out.setSamples(size.samples);
}

workload_size size_in(schema::WorkloadSize::Reader in) {
  const auto number = [](double x) {
    return std::isfinite(x) && x > 0 ? x : 0;
  };
  return {number(in.getOperations()), number(in.getParameters()),
          number(in.getSamples())};
}

} // namespace hippo

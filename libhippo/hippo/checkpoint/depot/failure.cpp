#include "hippo/checkpoint/depot/failure.hpp"

namespace hippo {

void put_failure(schema::Failure::Builder out, const error& failure) {
  out.setCode(static_cast<std::uint8_t>(failure.code));
  out.setMessage(failure.message);
}

} // namespace hippo

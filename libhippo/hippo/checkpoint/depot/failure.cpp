#include "hippo/checkpoint/depot/failure.hpp"

namespace hippo {

void put_failure(schema::Failure::Builder out, const error& x) {
  out.setCode(static_cast<std::uint8_t>(x.code));
  out.setMessage(x.message);
}

} // namespace hippo

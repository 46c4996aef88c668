#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "hippo/checkpoint/object_store/credentials.hpp"
#include "hippo/net/http/http.hpp"

namespace hippo {

/// Finds credentials where Amazon's tools look for them, and newer ones before
/// they end or once a store refuses them. Not thread-safe.
class credential_provider {
public:
  /// @param carrier asks metadata services
  /// @param now seconds since 1970
  /// REQUIRES: `carrier` outlives `*this`.
  credential_provider(http& carrier, environment env,
                      std::function<std::int64_t()> now);

  /// @returns credentials, or `errc::io_failed` naming the places that have
  ///          none
  expected<aws_credentials> get();

  /// They were refused: the next call of `get` looks again.
  void forget() { known_.reset(); }

private:
  expected<aws_credentials> ask(const credential_source& from);
  expected<aws_credentials> ask_identity(const credential_source& from);
  expected<aws_credentials> ask_machine(const std::string& where);

  http& carrier_;
  const environment env_;
  const std::function<std::int64_t()> now_;
  std::optional<aws_credentials> known_;
};

/// Returns the variables of this process's environment.
environment own_environment();

} // namespace hippo

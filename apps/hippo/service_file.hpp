#pragma once

#include <optional>
#include <string>

#include "hippo/base/endpoint.hpp"
#include "hippo/base/error.hpp"

namespace hippo {

/// Where a service can be reached, as programs on its machine read it in its
/// state folder: `service.json` with `pid`, `trainers`, `clients`, `http`,
/// whether these want `tls`, and `people`: where those with tokens look, if
/// that is anywhere.
/// It is there from when clients may come until the service ends in good order.
/// One that was killed leaves it: who reads it finds nobody there.
class service_file {
public:
  explicit service_file(const std::string& state);
  ~service_file();
  service_file(const service_file&) = delete;
  service_file& operator=(const service_file&) = delete;

  /// @returns `errc::io_failed` if it cannot be written
  std::optional<error> write(const endpoint& trainers, const endpoint& clients,
                             const endpoint& http, bool tls,
                             const std::string& people);

private:
  std::string path_;
};

} // namespace hippo

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/model/workload_descriptor.hpp"

namespace hippo {

/// Shows a state folder to clients in this process as a service would, without
/// running anything: what changes something is refused. Others may run studies
/// in the folder at the same time.
class folder_service {
public:
  /// @param workloads that its studies may name
  /// @param http_host where its page is shown as well, at any port; empty:
  ///                  nowhere
  /// @returns why the folder cannot be read
  static expected<std::unique_ptr<folder_service>>
  open(const std::string& state, std::vector<workload_descriptor> workloads,
       const std::string& http_host = {});

  ~folder_service();
  folder_service(const folder_service&) = delete;
  folder_service& operator=(const folder_service&) = delete;

  /// Where `client::connect` finds it: nobody else may.
  [[nodiscard]] std::string address() const;

  /// Where its page is. REQUIRES: it was opened with one.
  [[nodiscard]] std::uint16_t http_port() const;

private:
  struct parts;

  explicit folder_service(std::unique_ptr<parts> all);

  std::unique_ptr<parts> parts_;
};

} // namespace hippo

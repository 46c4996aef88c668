#pragma once

#include <optional>
#include <string>

#include "gateway/gateway.hpp"
#include "private_folder.hpp"

namespace hippo {

/// Prints a page's address, and has the desktop show it if there is one.
void show_page(const std::string& address, bool only_print);

/// The page of what runs in this process, for this machine alone.
class own_page {
public:
  /// REQUIRES: the actors live longer than this
  own_page(caf::actor_system& system, query_sources sources);

  /// @returns why it cannot be shown
  std::optional<error> open();

  [[nodiscard]] std::string address() const;

private:
  private_folder folder_; ///< where clients would come: nobody knows of it
  gateway entrance_;
};

} // namespace hippo

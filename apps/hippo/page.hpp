#pragma once

#include <string>

namespace hippo {

/// Prints a page's address, and has the desktop show it if there is one.
void show_page(const std::string& address, bool only_print);

} // namespace hippo

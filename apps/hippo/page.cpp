#include "page.hpp"

#include <iostream>

#include "child_process.hpp"

namespace hippo {

void show_page(const std::string& address, bool only_print) {
  std::cout << address << std::endl;
  if (!only_print) // a machine without a desktop has no such program
    static_cast<void>(run_program({"xdg-open", address}));
}

} // namespace hippo

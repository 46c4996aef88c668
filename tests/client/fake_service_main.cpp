// Serves a filled model until its standard input ends, for the tests of the
// command line.

#include <iostream>

#include "client/fake_service.hpp"

int main() {
  hippo::fake_model model;
  fill(model);
  const hippo::fake_service service{model};
  std::cout << service.port() << std::endl;
  while (std::cin.get() != std::char_traits<char>::eof()) {
  }
}

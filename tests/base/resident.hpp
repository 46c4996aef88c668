#pragma once

#include <fstream>
#include <string>

namespace hippo::test {

/// Kilobytes of a kind (a key of /proc/self/status) that this process has in
/// memory.
inline long resident_kb(const std::string& kind) {
  std::ifstream in{"/proc/self/status"};
  for (std::string word; in >> word;)
    if (word == kind + ":") {
      long result = 0;
      in >> result;
      return result;
    }
  return -1;
}

} // namespace hippo::test

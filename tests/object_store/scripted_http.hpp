#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "hippo/net/http/http.hpp"

namespace hippo {

/// Answers what it is told to, and keeps what it was asked.
struct scripted_http final : http {
  std::deque<http_answer> answers;
  std::vector<http_request> asked;
  std::vector<std::string> bodies; ///< of what was asked
  http_answer perform(const http_request& request) override {
    asked.push_back(request);
    bodies.emplace_back(request.body);
    if (answers.empty())
      return {0, "no route", {}, {}};
    auto result = answers.front();
    answers.pop_front();
    return result;
  }
};

inline http_answer ok(std::string body) {
  return {200, "", {}, std::move(body)};
}

} // namespace hippo

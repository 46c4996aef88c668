#include "scale/kubernetes_engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "hippo/deploy/engine_answers.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;

constexpr auto account_folder =
  "/var/run/secrets/kubernetes.io/serviceaccount/";
constexpr std::chrono::seconds api_call_max{30};
constexpr std::uint64_t list_bytes_max = 256u << 20;
/// The longest pause that an answer can ask for.
constexpr long pause_seconds_max = 60;

enum : long {
  status_ok = 200,
  status_not_found = 404,
  status_conflict = 409,
  status_too_many = 429,
  status_fault = 500,
};

std::string text_of_file(const std::string& path) {
  std::ifstream in{path};
  std::stringstream text;
  text << in.rdbuf();
  auto result = text.str();
  while (!result.empty() && (result.back() == '\n' || result.back() == ' '))
    result.pop_back();
  return result;
}

std::string pod_variable(const char* name) {
  const auto* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class kubernetes final : public scale_engine {
public:
  kubernetes(const machines& machines, std::string fleet, std::string service,
             kubernetes_access access, std::unique_ptr<http> carrier)
    : machines_(machines), fleet_(std::move(fleet)),
      service_(std::move(service)), access_(std::move(access)),
      carrier_(std::move(carrier)) {}

  expected<std::vector<listed_trainer>> list() override {
    std::vector<listed_trainer> result;
    std::string next;
    do {
      const auto answer =
        ask("GET",
            "?labelSelector=" + std::string{fleet_label} + "%3D" + fleet_
              + "&limit=500" + (next.empty() ? "" : "&continue=" + next),
            {}, {});
      if (!answer)
        return answer.failure();
      if (answer->status != status_ok)
        return refusal(*answer);
      auto part = read_job_list(answer->body, fleet_);
      if (!part)
        return part.failure();
      result.insert(result.end(), part->trainers.begin(), part->trainers.end());
      next = part->next;
    } while (!next.empty());
    return result;
  }

  std::optional<error> start(const std::string& name,
                             const trainer_group& group) override {
    const auto job = kubernetes_job(machines_, group, {fleet_, name}, service_);
    const auto answer = ask("POST", "", job, "application/yaml");
    if (!answer)
      return answer.failure();
    // One of that name is there: an answer of before was lost.
    if (answer->status / 100 == 2 || answer->status == status_conflict)
      return std::nullopt;
    return refusal(*answer);
  }

  std::optional<error> end(const listed_trainer& which) override {
    const auto answer = ask("DELETE", '/' + which.id,
                            R"({"kind":"DeleteOptions","apiVersion":"v1",)"
                            R"("propagationPolicy":"Background"})",
                            "application/json");
    if (!answer)
      return answer.failure();
    if (answer->status / 100 == 2 || answer->status == status_not_found)
      return std::nullopt;
    return refusal(*answer);
  }

private:
  expected<http_answer> ask(const std::string& method, const std::string& rest,
                            const std::string& body, const std::string& type) {
    if (const auto left = paused_until_ - clock::now();
        left > clock::duration{0})
      return {errc::io_failed,
              "the API server has asked for a pause, of which "
                + std::to_string(
                  std::chrono::ceil<std::chrono::seconds>(left).count())
                + " s are left"};
    http_request request;
    request.method = method;
    request.url = access_.server + "/apis/batch/v1/namespaces/"
                  + access_.name_space + "/jobs" + rest;
    request.headers = {"Accept: application/json"};
    if (!access_.token_file.empty()) {
      const auto token = text_of_file(access_.token_file);
      if (token.empty())
        return {errc::not_allowed,
                "there is no token in " + access_.token_file};
      request.headers.push_back("Authorization: Bearer " + token);
    }
    if (!type.empty())
      request.headers.push_back("Content-Type: " + type);
    request.body = body;
    request.answer_bytes_max = list_bytes_max;
    request.total_max = api_call_max;
    request.through_proxy = false;
    request.ca_file = access_.ca_file;
    auto answer = carrier_->perform(request);
    if (answer.status == 0)
      return {errc::io_failed, "the API server at " + access_.server
                                 + " does not answer: " + answer.trouble};
    return answer;
  }

  error refusal(const http_answer& x) {
    if (const auto wait = x.headers.find("retry-after");
        wait != x.headers.end())
      paused_until_ = clock::now()
                      + std::chrono::seconds{std::clamp(
                        std::strtol(wait->second.c_str(), nullptr, 10), 0L,
                        pause_seconds_max)};
    const bool passes = x.status == status_too_many || x.status >= status_fault;
    return {passes ? errc::io_failed : errc::not_allowed,
            "the API server says " + std::to_string(x.status) + ": "
              + read_refusal(x.body)};
  }

  const machines& machines_;
  std::string fleet_;
  std::string service_;
  kubernetes_access access_;
  std::unique_ptr<http> carrier_;
  clock::time_point paused_until_{};
};

} // namespace

expected<kubernetes_access> complete(kubernetes_access x) {
  const std::string folder = account_folder;
  if (x.server.empty()) {
    const auto host = pod_variable("KUBERNETES_SERVICE_HOST");
    if (host.empty())
      return {errc::invalid_argument,
              "this is no pod of Kubernetes: say by --api-server and "
              "--token-file where its API server is and who asks"};
    const auto port = pod_variable("KUBERNETES_SERVICE_PORT");
    x.server = "https://"
               + (host.find(':') == std::string::npos ? host : '[' + host + ']')
               + ':' + (port.empty() ? "443" : port);
    if (x.token_file.empty())
      x.token_file = folder + "token";
    if (x.ca_file.empty())
      x.ca_file = folder + "ca.crt";
  }
  if (x.name_space.empty())
    x.name_space = text_of_file(folder + "namespace");
  if (x.name_space.empty())
    x.name_space = "default";
  while (x.server.ends_with('/'))
    x.server.pop_back();
  return x;
}

std::unique_ptr<scale_engine> kubernetes_engine(const machines& machines,
                                                std::string fleet,
                                                std::string service,
                                                kubernetes_access access,
                                                std::unique_ptr<http> carrier) {
  return std::make_unique<kubernetes>(machines, std::move(fleet),
                                      std::move(service), std::move(access),
                                      std::move(carrier));
}

} // namespace hippo

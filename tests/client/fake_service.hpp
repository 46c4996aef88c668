#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hippo/net/client/client.hpp"

namespace hippo {

/// A study of the model.
struct fake_study {
  study_view info;
  std::string text;
  std::vector<trial_view> trials;
  std::vector<event_view> events;
};

/// What fake services serve; outlives each of them, as a state folder does.
/// Guarded by its mutex.
///
/// A study has three trials. Each call that waits for it makes one of them end,
/// with two measurements, unless its name begins with `slow`. A study whose
/// text says `algorithm: client` has those that are asked for.
struct fake_model {
  std::mutex mutex;
  std::vector<fake_study> studies; ///< by id, from 1
  std::vector<trainer_view> trainers;
  std::string log;
  std::map<std::string, int> calls; ///< so far, by method

  /// Whether `train` answers.
  bool trains = true;

  /// The error that a method fails with, as it goes over the wire.
  std::map<std::string, std::string> failures;

  /// Methods during which the connection is cut, each once, after what they do.
  std::map<std::string, int> cuts;

  /// Adds a study. REQUIRES: the mutex is held
  fake_study& add(const std::string& text);

  /// Ends one more trial of a study. REQUIRES: the mutex is held
  void go_on(fake_study& study);
};

/// Fills a model with what listings show.
void fill(fake_model& model);

/// A service over loopback, on a thread of its own.
class fake_service {
public:
  /// @param port 0: any
  explicit fake_service(fake_model& model, std::uint16_t port = 0);

  /// Cuts all connections and stops listening.
  ~fake_service();

  fake_service(const fake_service&) = delete;
  fake_service& operator=(const fake_service&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string address() const {
    return "127.0.0.1:" + std::to_string(port());
  }

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

} // namespace hippo

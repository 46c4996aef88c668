#pragma once

#include <memory>
#include <string>

#include "hippo/net/http/http.hpp"
#include "scale/engine.hpp"

namespace hippo {

/// Where the API server is, and by which rights it is asked.
struct kubernetes_access {
  std::string server;     ///< https://HOST:PORT
  std::string token_file; ///< read for each call, as tokens change
  std::string ca_file;    ///< of its certificate; empty: the system's
  std::string name_space;
};

/// Completes what is empty from the service account of a pod.
/// @returns `errc::invalid_argument` if this is no pod, and what is to be said
expected<kubernetes_access> complete(kubernetes_access access);

/// Kubernetes by the REST of its API server: a Job for each process, with the
/// name of that.
/// @param machines of `deploy_target::kubernetes`; outlives the engine
/// @param service as of `kubernetes_job`
std::unique_ptr<scale_engine> kubernetes_engine(const machines& machines,
                                                std::string fleet,
                                                std::string service,
                                                kubernetes_access access,
                                                std::unique_ptr<http> carrier);

} // namespace hippo

#pragma once

#include <map>
#include <string>
#include <vector>

#include "hippo/deploy/machines.hpp"

namespace hippo {

/// Returns the words that start one of the trainers.
/// @param service where it connects, HOST:PORT
/// @param key the file of its key; empty: it has none
/// @param name by which the service is to know it; empty: its host's
std::vector<std::string> trainer_command(const trainer_group& group,
                                         const std::string& service,
                                         const std::string& key,
                                         const std::string& name = {});

/// A trainer that `hippo scale` starts.
struct fleet_trainer {
  std::string fleet; ///< a label of DNS
  std::string name;  ///< likewise
};

/// The comment of a job of Slurm, by which `hippo scale` finds it again.
std::string fleet_comment(const std::string& fleet, const std::string& group);

/// Returns a batch script for `sbatch`: a job array of the trainers.
/// REQUIRES: `machines` is of `deploy_target::slurm`, and `group` one of its
/// trainers
std::string slurm_script(const machines& machines, const trainer_group& group);

/// The same for one trainer, which is the process of the batch script itself.
std::string slurm_script(const machines& machines, const trainer_group& group,
                         const fleet_trainer& trainer);

/// Returns a script of Bash that starts and stops trainers over `ssh`.
/// REQUIRES: `machines` is of `deploy_target::ssh`
std::string ssh_script(const machines& machines);

/// The texts of a key folder's files by their names in it, such as
/// `authority/client.crt`.
using key_texts = std::map<std::string, std::string>;

/// Returns the names of the files that `kubernetes_manifests` needs.
/// REQUIRES: `machines` is of `deploy_target::kubernetes`
std::vector<std::string> needed_keys(const machines& machines);

/// Returns the objects of a service and its trainers, as one stream of YAML.
/// REQUIRES: `keys` has what `needed_keys` names
std::string kubernetes_manifests(const machines& machines,
                                 const key_texts& keys);

/// The labels of a Job of `kubernetes_job`.
inline constexpr auto fleet_label = "hippo-fleet";
inline constexpr auto group_label = "hippo-group";

/// Returns a Job of one trainer, as YAML. It uses the Secret of its group that
/// `kubernetes_manifests` has.
/// REQUIRES: as of `kubernetes_manifests`
/// @param service where trainers connect; empty: at the service of these
std::string kubernetes_job(const machines& machines, const trainer_group& group,
                           const fleet_trainer& trainer,
                           const std::string& service);

} // namespace hippo

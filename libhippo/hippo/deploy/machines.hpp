#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/endpoint.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// The system that starts trainers.
enum class deploy_target { slurm, kubernetes, ssh, ray };

/// The ports of a service that `hippo deploy` describes: those that
/// `hippo serve` has unless it is told otherwise, and one for people.
inline constexpr std::uint16_t trainer_port_number = 4848;
inline constexpr std::uint16_t client_port_number = 4849;
inline constexpr std::uint16_t http_port_number = 4850;
inline constexpr std::uint16_t people_port_number = 4851;

/// Trainers that are alike, and come in by one key.
struct trainer_group {
  std::string name; ///< a label of DNS; the key is NAME.pem
  /// How many: tasks of a job array, pods, or processes of each host.
  unsigned count = 1;
  unsigned gpus = 0; ///< of each; 0: it trains on the CPU
  unsigned cpus = 1; ///< of each; the threads of one that trains on the CPU
  unsigned ranks = 1; ///< processes of each trial that they train
  bool gangs = true;  ///< whether several may train together
  std::string memory; ///< of each, with a binary unit: `16Gi`; empty: not said
  /// How long it is given to leave, in seconds.
  unsigned notice_seconds = 120;
  std::string python; ///< for studies that bring code; empty: `python3`

  /// Of trainers that `hippo scale` starts, how many at most; nothing: as many
  /// as it may. On Kubernetes with `prometheus`, an autoscaler's maximum.
  std::optional<unsigned> count_max;

  // -- slurm, ssh and ray -----------------------------------------------------

  std::string program = "hippo-trainer"; ///< on the machines

  // -- slurm ------------------------------------------------------------------

  std::string time; ///< of a task, as Slurm writes it; empty: the partition's
  std::string partition;           ///< empty: the cluster's
  std::vector<std::string> sbatch; ///< further options

  // -- kubernetes -------------------------------------------------------------

  std::string image;
  std::string queue;                        ///< of Kueue; empty: none
  std::map<std::string, std::string> nodes; ///< labels of the nodes
  std::vector<std::string> tolerate;        ///< keys of the nodes' taints

  // -- ray --------------------------------------------------------------------

  std::string key; ///< file on the nodes; empty: ~/.hippo/NAME.pem

  // -- ssh --------------------------------------------------------------------

  std::vector<std::string> hosts; ///< as `ssh` takes them
};

/// The service of a cluster of Kubernetes.
struct service_pod {
  std::string image;
  std::string storage; ///< of its state folder: `100Gi`
  std::string storage_class; ///< empty: the cluster's
  unsigned cpus = 2;
  std::string memory = "4Gi";
};

/// The machines that train, as people write them down.
struct machines {
  deploy_target target = deploy_target::ssh;
  endpoint service; ///< where trainers connect; not on Kubernetes
  service_pod pod;  ///< kubernetes
  std::string keys = "hippo-keys"; ///< folder of `hippo keys`; empty: insecure
  std::string prometheus; ///< its address, of what scales; may be empty
  std::vector<trainer_group> trainers; ///< not empty, no name twice
};

/// The result of reading machines: some unless there is an error.
struct machines_file {
  std::optional<machines> found;
  std::vector<diagnostic> errors;
};

/// Reads and checks the text of a file of machines; docs/deploy.md describes
/// it. Nothing in it can end a word of a shell or a value of YAML. Every error
/// that can be told independently is told.
/// @param name stands for the file in messages
machines_file read_machines(const std::string& text, const std::string& name,
                            deploy_target target);

} // namespace hippo

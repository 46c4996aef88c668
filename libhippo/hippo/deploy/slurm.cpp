#include "hippo/deploy/deploy.hpp"
#include "hippo/deploy/template_text.hpp"

namespace hippo {

namespace {

constexpr auto batch_script = R"sh(#!/bin/bash
# Trainers of the service at {{SERVICE}}, as a job array. They leave when their
# time is up; those whose node is wanted for others are queued again.
# The service does not run under Slurm: it outlives every job.
#SBATCH --job-name=hippo-{{NAME}}
#SBATCH --array=1-{{COUNT}}
{{OPTIONS}}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=hippo-{{NAME}}-%A-%a.log
# SIGTERM so many seconds before the end: what has begun is saved, the rest
# handed back. Another trainer goes on with it.
#SBATCH --signal=TERM@{{NOTICE}}
set -euo pipefail

{{CHECK_KEY}}
{{FIND_END}}
# `exec`, so that the signal reaches the trainer and not this shell.
exec srun --kill-on-bad-exit=1 \
  {{COMMAND}}
)sh";

constexpr auto fleet_script = R"sh(#!/bin/bash
# A trainer of the service at {{SERVICE}}, started by hippo scale.
#SBATCH --job-name={{TRAINER}}
#SBATCH --comment={{COMMENT}}
{{OPTIONS}}
# Two jobs of one name never run at once.
#SBATCH --dependency=singleton
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={{TRAINER}}.log
# SIGTERM so many seconds before the end, to this process: the trainer. What has
# begun is saved, the rest handed back.
#SBATCH --signal=B:TERM@{{NOTICE}}
set -euo pipefail

{{CHECK_KEY}}
{{FIND_END}}
exec \
  {{COMMAND}}
)sh";

constexpr auto check_key = R"sh(key=${HIPPO_KEY:-$HOME/.hippo/{{NAME}}.pem}
[[ -r $key ]] || {
  echo "there is no key $key: make it by hippo keys add {{NAME}}" \
    "--role trainer --keys {{KEYS}}, and copy it there (mode 0600)" >&2
  exit 2
}
)sh";

constexpr auto find_end =
  R"sh(# The end of the job: Slurm sets it from 23.02 on.
if [[ -z ${SLURM_JOB_END_TIME-} ]]; then
  end=$(squeue --noheader --jobs "${SLURM_JOB_ID-}" --format %e || true)
  if [[ $end == *T* ]] && end=$(date --date "$end" +%s); then
    export SLURM_JOB_END_TIME=$end
  fi
fi
)sh";

std::string options_of(const trainer_group& x) {
  std::string result;
  const auto add = [&](const std::string& option) {
    result += "#SBATCH " + option + '\n';
  };
  if (!x.partition.empty())
    add("--partition=" + x.partition);
  if (x.gpus > 0)
    add("--gpus=" + std::to_string(x.gpus));
  add("--cpus-per-task=" + std::to_string(x.cpus));
  if (!x.memory.empty()) // Slurm's G is 2^30 bytes
    add("--mem=" + x.memory.substr(0, x.memory.size() - 1));
  if (!x.time.empty())
    add("--time=" + x.time);
  for (const auto& option : x.sbatch)
    add(option);
  return result;
}

std::string key_check_of(const machines& machines, const trainer_group& group) {
  if (machines.keys.empty())
    return {};
  return filled(check_key, {{"NAME", group.name}, {"KEYS", machines.keys}});
}

std::string key_word(const machines& machines) {
  return machines.keys.empty() ? "" : "\"$key\"";
}

} // namespace

std::string fleet_comment(const std::string& fleet, const std::string& group) {
  return "hippo:" + fleet + ':' + group;
}

std::string slurm_script(const machines& machines, const trainer_group& group,
                         const fleet_trainer& trainer) {
  const auto service = to_text(machines.service);
  const auto command =
    trainer_command(group, service, key_word(machines), trainer.name);
  return filled(fleet_script,
                {{"SERVICE", service},
                 {"TRAINER", trainer.name},
                 {"COMMENT", fleet_comment(trainer.fleet, group.name)},
                 {"OPTIONS", options_of(group)},
                 {"NOTICE", std::to_string(group.notice_seconds)},
                 {"CHECK_KEY", key_check_of(machines, group)},
                 {"FIND_END", find_end},
                 {"COMMAND", lines_of(command)}});
}

std::string slurm_script(const machines& machines, const trainer_group& group) {
  const auto service = to_text(machines.service);
  const auto command = trainer_command(group, service, key_word(machines));
  return filled(batch_script, {{"SERVICE", service},
                               {"NAME", group.name},
                               {"COUNT", std::to_string(group.count)},
                               {"OPTIONS", options_of(group)},
                               {"NOTICE", std::to_string(group.notice_seconds)},
                               {"CHECK_KEY", key_check_of(machines, group)},
                               {"FIND_END", find_end},
                               {"COMMAND", lines_of(command)}});
}

} // namespace hippo

#include <algorithm>
#include <cassert>

#include "hippo/deploy/deploy.hpp"
#include "hippo/deploy/template_text.hpp"

namespace hippo {

namespace {

// Of what `serve` needs, the files by their names in the key folder; the keys
// of its authorities stay at home.
const std::vector<std::string> service_keys{
  "authority/client.crt", "authority/service.crt", "authority/trainer.crt",
  "service.pem"};

constexpr auto service_text = R"(apiVersion: v1
kind: Service
metadata:
  name: hippo
  labels: {app.kubernetes.io/name: hippo}
spec:
  selector: {app.kubernetes.io/name: hippo}
  ports:
    - {name: trainers, port: {{TRAINERS}}, targetPort: trainers}
    - {name: clients, port: {{CLIENTS}}, targetPort: clients}
    - {name: people, port: {{PEOPLE}}, targetPort: people}
---
# One service: its state folder has one writer. It may be killed at any time,
# and goes on with what is stored.
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: hippo
  labels: {app.kubernetes.io/name: hippo}
spec:
  serviceName: hippo
  replicas: 1
  selector:
    matchLabels: {app.kubernetes.io/name: hippo}
  template:
    metadata:
      labels: {app.kubernetes.io/name: hippo}
    spec:
      terminationGracePeriodSeconds: 60
      {{POD_SECURITY}}
      {{COPY_KEYS}}
      containers:
        - name: hippo
          image: "{{IMAGE}}"
          command:
            - hippo
            - serve
            - --state=/data/state
            - --listen=0.0.0.0:{{TRAINERS}}
            - --rpc=0.0.0.0:{{CLIENTS}}
            - --http=127.0.0.1:{{HTTP}}
            - --people=0.0.0.0:{{PEOPLE}}
            - {{ACCESS}}
            - --log-format=json
          ports:
            - {name: trainers, containerPort: {{TRAINERS}}}
            - {name: clients, containerPort: {{CLIENTS}}}
            - {name: people, containerPort: {{PEOPLE}}}
          # Reading a large state folder takes a while.
          startupProbe:
            tcpSocket: {port: people}
            periodSeconds: 5
            failureThreshold: 120
          # 503 while the store cannot be written.
          readinessProbe:
            httpGet: {path: /healthz, port: people, scheme: {{SCHEME}}}
          livenessProbe:
            tcpSocket: {port: people}
            periodSeconds: 10
            failureThreshold: 6
          resources:
            requests: {cpu: "{{CPUS}}", memory: {{MEMORY}}}
            limits: {memory: {{MEMORY}}}
          {{CONTAINER_SECURITY}}
          volumeMounts:
            - {name: data, mountPath: /data}
            - {name: tmp, mountPath: /tmp}
            {{KEY_MOUNT}}
      volumes:
        - name: tmp
          emptyDir: {}
        {{KEY_VOLUMES}}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        {{STORAGE_CLASS}}
        resources:
          requests: {storage: {{STORAGE}}}
)";

// A pod of trainers, as objects hold it.
constexpr auto pod_text = R"(metadata:
  labels: {app.kubernetes.io/name: hippo-trainer-{{NAME}}}
spec:
  # On SIGTERM it saves what it has begun and hands the rest back.
  terminationGracePeriodSeconds: {{NOTICE}}
  {{RESTART}}
  {{NODES}}
  {{TOLERATE}}
  {{POD_SECURITY}}
  {{COPY_KEYS}}
  containers:
    - name: trainer
      image: "{{IMAGE}}"
      command:
        {{COMMAND}}
      env:
        - {name: HOME, value: /tmp}
      resources:
        requests: {{REQUESTS}}
        {{LIMITS}}
      {{CONTAINER_SECURITY}}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        {{KEY_MOUNT}}
  volumes:
    - name: tmp
      emptyDir: {}
    {{KEY_VOLUMES}}
)";

// A fixed number of trainers. One that leaves, since its node is drained say,
// ends with another code than 0, and is replaced.
constexpr auto jobs_text = R"(---
apiVersion: batch/v1
kind: Job
metadata:
  name: hippo-trainer-{{NAME}}
  labels:
    app.kubernetes.io/name: hippo-trainer-{{NAME}}
    {{QUEUE}}
spec:
  {{SUSPEND}}
  parallelism: {{COUNT}}
  completions: {{COUNT}}
  completionMode: Indexed
  backoffLimit: 10000
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions: [{type: DisruptionTarget, status: "True"}]
  template:
    {{POD}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: hippo-trainer-{{NAME}}
spec:
  minAvailable: {{AVAILABLE}}
  selector:
    matchLabels: {app.kubernetes.io/name: hippo-trainer-{{NAME}}}
)";

constexpr auto fleet_job_text = R"(apiVersion: batch/v1
kind: Job
metadata:
  name: {{TRAINER}}
  labels:
    app.kubernetes.io/name: hippo-trainer-{{NAME}}
    {{FLEET_LABEL}}: {{FLEET}}
    {{GROUP_LABEL}}: {{NAME}}
    {{QUEUE}}
spec:
  {{SUSPEND}}
  backoffLimit: 0
  ttlSecondsAfterFinished: 600
  template:
    {{POD}}
)";

// The trainers of an autoscaler, which says how many.
constexpr auto scaled_text = R"(---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: hippo-trainer-{{NAME}}
  labels: {app.kubernetes.io/name: hippo-trainer-{{NAME}}}
spec:
  selector:
    matchLabels: {app.kubernetes.io/name: hippo-trainer-{{NAME}}}
  # A new one may find no room before an old one has gone.
  strategy:
    rollingUpdate: {maxSurge: 0, maxUnavailable: 25%}
  template:
    {{POD}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: hippo-trainer-{{NAME}}
spec:
  maxUnavailable: 25%
  selector:
    matchLabels: {app.kubernetes.io/name: hippo-trainer-{{NAME}}}
)";

// The rights of `hippo scale`: its calls, and no others.
constexpr auto rights_text = R"(---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: hippo-scale
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: hippo-scale
rules:
  - apiGroups: [batch]
    resources: [jobs]
    verbs: [list, create, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: hippo-scale
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: hippo-scale
subjects:
  - {kind: ServiceAccount, name: hippo-scale}
)";

constexpr auto scaler_text = R"(---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: hippo-trainer-{{NAME}}
spec:
  scaleTargetRef: {name: hippo-trainer-{{NAME}}}
  minReplicaCount: {{COUNT}}
  maxReplicaCount: {{COUNT_MAX}}
  triggers:
    # Those at work, and one more for each lease that waits for a trainer.
    - type: prometheus
      metadata:
        serverAddress: {{PROMETHEUS}}
        query: >-
          sum(hippo_trainers{state="busy"}) + sum(hippo_leases_waiting)
        threshold: "1"
)";

constexpr auto secret_text = R"(apiVersion: v1
kind: Secret
metadata:
  name: {{NAME}}
type: Opaque
stringData:
  {{FILES}}
---
)";

constexpr auto pod_security = R"(automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
)";

constexpr auto container_security = R"(securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
)";

// The files of a Secret cannot be private to who runs as another user than
// root, and keys that others can read are refused.
constexpr auto copy_keys = R"(initContainers:
  - name: copy-keys
    image: "{{IMAGE}}"
    command:
      - sh
      - -euc
      - |
        umask 077
        mkdir -p /keys/hippo/authority
        cp /secret/*.pem /keys/hippo/
        for file in /secret/*.crt; do
          [ ! -e "$file" ] || cp "$file" /keys/hippo/authority/
        done
    {{CONTAINER_SECURITY}}
    volumeMounts:
      - {name: secret, mountPath: /secret, readOnly: true}
      - {name: keys, mountPath: /keys}
)";

constexpr auto key_volumes = R"(- name: secret
  secret: {secretName: {{NAME}}}
- name: keys
  emptyDir: {medium: Memory}
)";

constexpr auto key_mount = "- {name: keys, mountPath: /keys}";

std::string key_file(const trainer_group& x) { return x.name + ".pem"; }

std::string object_name(const trainer_group& x) {
  return "hippo-trainer-" + x.name;
}

/// A Secret whose keys are file names without folders, since it has none.
std::string secret_of(const std::string& name,
                      const std::vector<std::string>& files,
                      const key_texts& keys) {
  std::string text;
  for (const auto& file : files) {
    assert(keys.contains(file));
    text += filled("{{NAME}}: |\n  {{TEXT}}\n",
                   {{"NAME", file.substr(file.rfind('/') + 1)},
                    {"TEXT", keys.at(file)}});
  }
  return filled(secret_text, {{"NAME", name}, {"FILES", text}});
}

/// What a pod needs to have the keys of a Secret in a private folder.
struct key_parts {
  std::string copy, volumes, mount;
};

key_parts parts_of(const machines& x, const std::string& secret,
                   const std::string& image) {
  if (x.keys.empty())
    return {};
  return {filled(copy_keys, {{"IMAGE", image},
                             {"CONTAINER_SECURITY", container_security}}),
          filled(key_volumes, {{"NAME", secret}}), key_mount};
}

std::string service_of(const machines& x) {
  const auto keys = parts_of(x, "hippo-keys", x.pod.image);
  return filled(
    service_text,
    {{"TRAINERS", std::to_string(trainer_port_number)},
     {"CLIENTS", std::to_string(client_port_number)},
     {"HTTP", std::to_string(http_port_number)},
     {"PEOPLE", std::to_string(people_port_number)},
     {"ACCESS", x.keys.empty() ? "--insecure" : "--keys=/keys/hippo"},
     {"SCHEME", x.keys.empty() ? "HTTP" : "HTTPS"},
     {"IMAGE", x.pod.image},
     {"CPUS", std::to_string(x.pod.cpus)},
     {"MEMORY", x.pod.memory},
     {"STORAGE", x.pod.storage},
     {"STORAGE_CLASS", x.pod.storage_class.empty()
                         ? ""
                         : "storageClassName: \"" + x.pod.storage_class + '"'},
     {"POD_SECURITY", pod_security},
     {"CONTAINER_SECURITY", container_security},
     {"COPY_KEYS", keys.copy},
     {"KEY_VOLUMES", keys.volumes},
     {"KEY_MOUNT", keys.mount}});
}

std::string service_in_cluster() {
  return "hippo:" + std::to_string(trainer_port_number);
}

std::string nodes_of(const trainer_group& x) {
  std::string result;
  for (const auto& [key, value] : x.nodes)
    result += "  " + key + ": \"" + value + "\"\n";
  return result.empty() ? "" : "nodeSelector:\n" + result;
}

std::string tolerations_of(const trainer_group& x) {
  std::string result;
  for (const auto& key : x.tolerate)
    result += "  - {key: " + key + ", operator: Exists}\n";
  return result.empty() ? "" : "tolerations:\n" + result;
}

std::string limits_of(const trainer_group& x) {
  std::string result;
  if (!x.memory.empty())
    result += "memory: " + x.memory;
  if (x.gpus > 0)
    result += (result.empty() ? "" : ", ")
              + ("nvidia.com/gpu: " + std::to_string(x.gpus));
  return result.empty() ? "" : "limits: {" + result + '}';
}

/// The exit code of a trainer that was told to leave, where its place is to be
/// filled again.
constexpr auto leave_code = "143";

/// Words of the command beside those of every trainer.
struct pod_words {
  std::string service; ///< HOST:PORT
  std::string name;    ///< by which the service knows it; empty: its host's
  bool is_replaced = false; ///< when it has left
  bool is_of_job = false;
};

std::string command_of(const machines& x, const trainer_group& group,
                       const pod_words& words) {
  const auto key = x.keys.empty() ? "" : "/keys/hippo/" + key_file(group);
  std::string result;
  for (const auto& word :
       trainer_command(group, words.service, key, words.name))
    result += "- \"" + word + "\"\n";
  if (words.is_replaced)
    result += std::string{"- --leave-code="} + leave_code + '\n';
  return result + "- --log-format=json\n";
}

std::string pod_of(const machines& x, const trainer_group& group,
                   const pod_words& words) {
  const auto keys = parts_of(x, object_name(group), group.image);
  auto requests = "{cpu: \"" + std::to_string(group.cpus) + '"';
  if (!group.memory.empty())
    requests += ", memory: " + group.memory;
  requests += '}';
  return filled(pod_text,
                {{"NAME", group.name},
                 {"NOTICE", std::to_string(group.notice_seconds)},
                 {"RESTART", words.is_of_job ? "restartPolicy: Never" : ""},
                 {"NODES", nodes_of(group)},
                 {"TOLERATE", tolerations_of(group)},
                 {"IMAGE", group.image},
                 {"COMMAND", command_of(x, group, words)},
                 {"REQUESTS", requests},
                 {"LIMITS", limits_of(group)},
                 {"POD_SECURITY", pod_security},
                 {"CONTAINER_SECURITY", container_security},
                 {"COPY_KEYS", keys.copy},
                 {"KEY_VOLUMES", keys.volumes},
                 {"KEY_MOUNT", keys.mount}});
}

std::string queue_of(const trainer_group& x) {
  return x.queue.empty() ? "" : "kueue.x-k8s.io/queue-name: " + x.queue;
}

/// Kueue lets go on what it has room for.
std::string suspend_of(const trainer_group& x) {
  return x.queue.empty() ? "" : "suspend: true";
}

std::string trainers_of(const machines& x, const trainer_group& group) {
  pod_words words;
  words.service = service_in_cluster();
  if (group.count_max && x.prometheus.empty())
    return {}; // hippo scale starts them
  if (group.count_max)
    return filled(scaled_text,
                  {{"NAME", group.name}, {"POD", pod_of(x, group, words)}})
           + filled(scaler_text,
                    {{"NAME", group.name},
                     {"COUNT", std::to_string(group.count)},
                     {"COUNT_MAX", std::to_string(*group.count_max)},
                     {"PROMETHEUS", x.prometheus}});
  words.is_of_job = words.is_replaced = true;
  return filled(jobs_text, {{"NAME", group.name},
                            {"QUEUE", queue_of(group)},
                            {"SUSPEND", suspend_of(group)},
                            {"COUNT", std::to_string(group.count)},
                            {"AVAILABLE", std::to_string(group.count * 3 / 4)},
                            {"POD", pod_of(x, group, words)}});
}

} // namespace

std::vector<std::string> needed_keys(const machines& machines) {
  if (machines.keys.empty())
    return {};
  auto result = service_keys;
  for (const auto& group : machines.trainers)
    result.push_back(key_file(group));
  return result;
}

std::string kubernetes_manifests(const machines& machines,
                                 const key_texts& keys) {
  std::string result;
  if (!machines.keys.empty()) {
    result += secret_of("hippo-keys", service_keys, keys);
    for (const auto& group : machines.trainers)
      result += secret_of(object_name(group), {key_file(group)}, keys);
  }
  result += service_of(machines);
  for (const auto& group : machines.trainers)
    result += trainers_of(machines, group);
  const bool scales = std::ranges::any_of(
    machines.trainers, [](const auto& x) { return x.count_max.has_value(); });
  if (scales && machines.prometheus.empty())
    result += rights_text;
  return result;
}

std::string kubernetes_job(const machines& machines, const trainer_group& group,
                           const fleet_trainer& trainer,
                           const std::string& service) {
  pod_words words;
  words.service = service.empty() ? service_in_cluster() : service;
  words.name = trainer.name;
  words.is_of_job = true;
  return filled(fleet_job_text, {{"TRAINER", trainer.name},
                                 {"NAME", group.name},
                                 {"FLEET_LABEL", fleet_label},
                                 {"FLEET", trainer.fleet},
                                 {"GROUP_LABEL", group_label},
                                 {"QUEUE", queue_of(group)},
                                 {"SUSPEND", suspend_of(group)},
                                 {"POD", pod_of(machines, group, words)}});
}

} // namespace hippo

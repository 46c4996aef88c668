#pragma once

#include "hippo/forecast/machines/machines.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/model/measuring.hpp"
#include "hippo/model/timing.hpp"
#include "hippo/net/wire/messages.hpp"
#include "hippo/plan/schedule/placement.hpp"
#include "hippo/plan/schedule/step_model.hpp"
#include "hippo/service/merge/kept_code.hpp"
#include "hippo/service/pool/workload_need.hpp"

// The fields of the parts of events and effects, for traces: each once, for
// writing, reading and comparing.

namespace hippo::trace {

template <class F>
void fields(F& f, error& x) {
  f("code", x.code);
  f("message", x.message);
}
template <class F>
void fields(F& f, hello& x) {
  f("protocol", x.protocol);
  f("host", x.host);
  f("process_id", x.process_id);
  f("device", x.device);
  f("workloads", x.workloads);
  f("threads", x.threads);
  f("memory_bytes", x.memory_bytes);
  f("driver", x.driver);
  f("compute_capability", x.compute_capability);
  f("numerics", x.numerics);
  f("notice_seconds", x.notice_seconds);
  f("machine", x.machine);
  f("at_once", x.at_once);
  f("code_at_once", x.code_at_once);
}
template <class F>
void fields(F& f, welcome& x) {
  f("refusal", x.refusal);
  f("trainer", x.trainer);
  f("heartbeat_interval_ms", x.heartbeat_interval_ms);
}
template <class F>
void fields(F& f, heartbeat& x) {
  f("trainer", x.trainer);
  f("lease", x.lease);
  f("at", x.at);
  f("count", x.count);
  f("overdue_ms", x.overdue_ms);
}
template <class F>
void fields(F& f, workload_need& x) {
  f("key", x.key);
  f("name", x.name);
  f("version", x.version);
  f("numerics", x.numerics);
}
template <class F>
void fields(F& f, placement_facts& x) {
  f("speeds", x.speeds);
  f("complexity", x.complexity);
}
template <class F>
void fields(F& f, machine_kind& x) {
  f("name", x.name);
  f("device", x.device);
  f("price", x.price);
  f("count", x.count);
  f("trainers", x.trainers);
  f("start_seconds", x.start_seconds);
  f("interruptions", x.interruptions);
  f("notice_seconds", x.notice_seconds);
  f("profiles", x.profiles);
}
template <class F>
void fields(F& f, fleet& x) {
  f("kinds", x.kinds);
}
template <class F>
void fields(F& f, workload_size& x) {
  f("operations", x.operations);
  f("parameters", x.parameters);
  f("samples", x.samples);
}
template <class F>
void fields(F& f, workload_spec& x) {
  f("name", x.name);
  f("options", x.options);
  f("settings", x.settings);
  f("any_device", x.any_device);
  f("exact", x.exact);
}
template <class F>
void fields(F& f, checkpoint& x) {
  f("file", x.file);
  f("bytes", x.bytes);
  f("digest", x.digest);
  f("device", x.device);
}
template <class F>
void fields(F& f, kept_code& x) {
  f("folder", x.folder);
  f("file", x.file);
  f("text", x.text);
}
template <class F>
void fields(F& f, stage& x) {
  f("node", x.node);
  f("begin", x.begin);
  f("end", x.end);
  f("config", x.config);
  f("identity", x.identity);
}
template <class F>
void fields(F& f, stop_point& x) {
  f("at", x.at);
  f("evaluate", x.evaluate);
  f("save", x.save);
  f("last", x.last);
}
template <class F>
void fields(F& f, lease& x) {
  f("number", x.number);
  f("workload", x.workload);
  f("folder", x.folder);
  f("token", x.token);
  f("depot", x.depot);
  f("code", x.code);
  f("start", x.start);
  f("lane", x.lane);
  f("stages", x.stages);
  f("stops", x.stops);
}
template <class F>
void fields(F& f, stop_request& x) {
  f("lease", x.lease);
  f("point", x.point);
}
template <class F>
void fields(F& f, stop_report& x) {
  f("lease", x.lease);
  f("at", x.at);
  f("values", x.values);
  f("saved", x.saved);
  f("device", x.device);
  f("load_ns", x.load_ns);
  f("train_ns", x.train_ns);
  f("evaluate_ns", x.evaluate_ns);
  f("save_ns", x.save_ns);
  f("trained_steps", x.trained_steps);
  f("node", x.node);
  f("identity", x.identity);
  f("output", x.output);
  f("size", x.size);
}
template <class F>
void fields(F& f, lease_end& x) {
  f("lease", x.lease);
  f("at", x.at);
  f("failure", x.failure);
  f("log", x.log);
  f("during", x.during);
}
template <class F>
void fields(F& f, ack& x) {
  f("lease", x.lease);
  f("at", x.at);
}
template <class F>
void fields(F& f, timing& x) {
  f("device", x.device);
  f("what", x.what);
  f("speed_key", x.speed_key);
  f("stages", x.stages);
  f("count", x.count);
  f("seconds", x.seconds);
  f("squared_log_deviations", x.squared_log_deviations);
  f("size", x.size);
}
template <class F>
void fields(F& f, step_profile& x) {
  f("kind", x.kind);
  f("workload", x.workload);
  f("batch", x.batch);
  f("size", x.size);
  f("seconds", x.seconds);
  f("weight", x.weight);
}
template <class F>
void fields(F& f, measuring& x) {
  f("every", x.every);
  f("rungs", x.rungs);
  f("branches", x.branches);
  f("parts_anywhere", x.parts_anywhere);
}

} // namespace hippo::trace

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
void fields(F& inspector, error& failure) {
  inspector("code", failure.code);
  inspector("message", failure.message);
}
template <class F>
void fields(F& inspector, hello& hello) {
  inspector("protocol", hello.protocol);
  inspector("host", hello.host);
  inspector("process_id", hello.process_id);
  inspector("device", hello.device);
  inspector("workloads", hello.workloads);
  inspector("threads", hello.threads);
  inspector("memory_bytes", hello.memory_bytes);
  inspector("driver", hello.driver);
  inspector("compute_capability", hello.compute_capability);
  inspector("numerics", hello.numerics);
  inspector("notice_seconds", hello.notice_seconds);
  inspector("machine", hello.machine);
  inspector("at_once", hello.at_once);
  inspector("code_at_once", hello.code_at_once);
  inspector("seconds_left", hello.seconds_left);
  inspector("ranks", hello.ranks);
  inspector("gang", hello.gang);
}
template <class F>
void fields(F& inspector, welcome& welcome) {
  inspector("refusal", welcome.refusal);
  inspector("trainer", welcome.trainer);
  inspector("heartbeat_interval_ms", welcome.heartbeat_interval_ms);
}
template <class F>
void fields(F& inspector, heartbeat& event) {
  inspector("trainer", event.trainer);
  inspector("lease", event.lease);
  inspector("at", event.at);
  inspector("count", event.count);
  inspector("overdue_ms", event.overdue_ms);
}
template <class F>
void fields(F& inspector, workload_need& need) {
  inspector("key", need.key);
  inspector("name", need.name);
  inspector("version", need.version);
  inspector("numerics", need.numerics);
  inspector("ranks", need.ranks);
}
template <class F>
void fields(F& inspector, helper_demand& demand) {
  inspector("trainers", demand.trainers);
  inspector("kinds", demand.kinds);
  inspector("helping", demand.helping);
}
template <class F>
void fields(F& inspector, placement_facts& facts) {
  inspector("speeds", facts.speeds);
  inspector("complexity", facts.complexity);
}
template <class F>
void fields(F& inspector, machine_kind& machine_kind) {
  inspector("name", machine_kind.name);
  inspector("device", machine_kind.device);
  inspector("price", machine_kind.price);
  inspector("count", machine_kind.count);
  inspector("trainers", machine_kind.trainers);
  inspector("start_seconds", machine_kind.start_seconds);
  inspector("interruptions", machine_kind.interruptions);
  inspector("notice_seconds", machine_kind.notice_seconds);
  inspector("profiles", machine_kind.profiles);
}
template <class F>
void fields(F& inspector, fleet& fleet) {
  inspector("kinds", fleet.kinds);
}
template <class F>
void fields(F& inspector, workload_size& size) {
  inspector("operations", size.operations);
  inspector("parameters", size.parameters);
  inspector("samples", size.samples);
}
template <class F>
void fields(F& inspector, workload_spec& spec) {
  inspector("name", spec.name);
  inspector("options", spec.options);
  inspector("settings", spec.settings);
  inspector("any_device", spec.any_device);
  inspector("exact", spec.exact);
}
template <class F>
void fields(F& inspector, part_file& file) {
  inspector("file", file.file);
  inspector("bytes", file.bytes);
  inspector("digest", file.digest);
}
template <class F>
void fields(F& inspector, checkpoint& checkpoint) {
  inspector("file", checkpoint.file);
  inspector("bytes", checkpoint.bytes);
  inspector("digest", checkpoint.digest);
  inspector("device", checkpoint.device);
  inspector("table_bytes", checkpoint.table_bytes);
  inspector("part_files", checkpoint.part_files);
}
template <class F>
void fields(F& inspector, kept_code& code) {
  inspector("folder", code.folder);
  inspector("file", code.file);
  inspector("text", code.text);
}
template <class F>
void fields(F& inspector, stage& stage) {
  inspector("node", stage.node);
  inspector("begin", stage.begin);
  inspector("end", stage.end);
  inspector("config", stage.config);
  inspector("identity", stage.identity);
}
template <class F>
void fields(F& inspector, stop_point& stop) {
  inspector("at", stop.at);
  inspector("evaluate", stop.evaluate);
  inspector("save", stop.save);
  inspector("last", stop.last);
}
template <class F>
void fields(F& inspector, gang_place& gang) {
  inspector("lead", gang.lead);
  inspector("members", gang.members);
  inspector("rank", gang.rank);
  inspector("secret", gang.secret);
}
template <class F>
void fields(F& inspector, lease& lease) {
  inspector("number", lease.number);
  inspector("workload", lease.workload);
  inspector("folder", lease.folder);
  inspector("token", lease.token);
  inspector("depot", lease.depot);
  inspector("code", lease.code);
  inspector("start", lease.start);
  inspector("base", lease.base);
  inspector("lane", lease.lane);
  inspector("gang", lease.gang);
  inspector("stages", lease.stages);
  inspector("stops", lease.stops);
}
template <class F>
void fields(F& inspector, stop_request& request) {
  inspector("lease", request.lease);
  inspector("point", request.point);
}
template <class F>
void fields(F& inspector, stop_report& report) {
  inspector("lease", report.lease);
  inspector("at", report.at);
  inspector("values", report.values);
  inspector("saved", report.saved);
  inspector("device", report.device);
  inspector("load_ns", report.load_ns);
  inspector("train_ns", report.train_ns);
  inspector("wait_ns", report.wait_ns);
  inspector("evaluate_ns", report.evaluate_ns);
  inspector("save_ns", report.save_ns);
  inspector("trained_steps", report.trained_steps);
  inspector("node", report.node);
  inspector("identity", report.identity);
  inspector("output", report.output);
  inspector("size", report.size);
}
template <class F>
void fields(F& inspector, lease_end& end) {
  inspector("lease", end.lease);
  inspector("at", end.at);
  inspector("failure", end.failure);
  inspector("log", end.log);
  inspector("during", end.during);
}
template <class F>
void fields(F& inspector, ack& ack) {
  inspector("lease", ack.lease);
  inspector("at", ack.at);
}
template <class F>
void fields(F& inspector, timing& timing) {
  inspector("device", timing.device);
  inspector("what", timing.what);
  inspector("speed_key", timing.speed_key);
  inspector("stages", timing.stages);
  inspector("count", timing.count);
  inspector("seconds", timing.seconds);
  inspector("squared_log_deviations", timing.squared_log_deviations);
  inspector("size", timing.size);
}
template <class F>
void fields(F& inspector, step_profile& profile) {
  inspector("kind", profile.kind);
  inspector("workload", profile.workload);
  inspector("batch", profile.batch);
  inspector("size", profile.size);
  inspector("seconds", profile.seconds);
  inspector("weight", profile.weight);
}
template <class F>
void fields(F& inspector, measuring& measuring) {
  inspector("every", measuring.every);
  inspector("rungs", measuring.rungs);
  inspector("branches", measuring.branches);
  inspector("parts_anywhere", measuring.parts_anywhere);
}

} // namespace hippo::trace

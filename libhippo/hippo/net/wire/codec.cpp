#include "hippo/net/wire/codec.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include <kj/exception.h>
#include <nlohmann/json.hpp>

#include "hippo/base/endpoint.hpp"
#include "hippo/base/name.hpp"
#include "hippo/model/parts.hpp"
#include "hippo/net/wire/complaint.hpp"
#include "hippo/net/wire/form_codec.hpp"
#include "hippo/net/wire/text_codec.hpp"
#include "hippo/net/wire/workload_size.hpp"

namespace hippo {

namespace {

// -- encoding -----------------------------------------------------------------

unsigned count(std::size_t count) {
  return static_cast<unsigned>(count);
}

void put(schema::Configuration::Builder out, const configuration& x) {
  auto list = out.initParameters(count(x.size()));
  for (unsigned i = 0; const auto& [name, shape] : x) {
    list[i].setName(name);
    put_form(list[i++].initForm(), shape);
  }
}

void put(capnp::List<schema::Option>::Builder out,
         const std::map<std::string, scalar>& x,
         const std::map<std::string, std::string>& exact) {
  for (unsigned i = 0; const auto& [name, value] : x) {
    out[i].setName(name);
    if (const auto found = exact.find(name); found != exact.end())
      out[i].setJson(found->second);
    auto to = out[i++].initValue();
    if (auto* number = std::get_if<double>(&value))
      to.setNumber(*number);
    else
      to.setWord(std::get<std::string>(value));
  }
}

void put(schema::WorkloadSpec::Builder out, const workload_spec& x) {
  out.setName(x.name);
  put(out.initOptions(count(x.options.size())), x.options, x.exact);
  if (!x.settings.empty())
    put(out.initSettings(count(x.settings.size())), x.settings, {});
  out.setAnyDevice(x.any_device);
}

void put(schema::Checkpoint::Builder out, const checkpoint& x) {
  out.setFile(x.file);
  out.setBytes(x.bytes);
  out.setDigest(x.digest);
  out.setDevice(x.device);
  out.setTableBytes(x.table_bytes);
  if (x.part_files.empty())
    return;
  auto files = out.initPartFiles(count(x.part_files.size()));
  for (unsigned i = 0; i < files.size(); ++i) {
    files[i].setFile(x.part_files[i].file);
    files[i].setBytes(x.part_files[i].bytes);
    files[i].setDigest(x.part_files[i].digest);
  }
}

void put(schema::StopPoint::Builder out, const stop_point& x) {
  out.setAt(x.at);
  out.setEvaluate(x.evaluate);
  out.setSave(x.save);
  out.setLast(x.last);
}

void put(schema::Failure::Builder out, const error& x) {
  out.setCode(static_cast<std::uint8_t>(x.code));
  out.setMessage(x.message);
}

void put(schema::StopReport::Builder out, const stop_report& x) {
  out.setLease(number_of(x.lease));
  out.setAt(x.at);
  auto values = out.initValues(count(x.values.size()));
  for (unsigned i = 0; const auto& [name, value] : x.values) {
    values[i].setName(name);
    values[i++].setValue(value);
  }
  if (x.saved)
    put(out.initSaved(), *x.saved);
  out.setDevice(x.device);
  out.setLoadNanos(x.load_ns);
  out.setTrainNanos(x.train_ns);
  out.setWaitNanos(x.wait_ns);
  out.setEvaluateNanos(x.evaluate_ns);
  out.setSaveNanos(x.save_ns);
  out.setTrainedSteps(x.trained_steps);
  out.setNode(number_of(x.node));
  out.setIdentity(x.identity);
  if (!x.output.empty())
    out.setOutput(x.output);
  put(out.initSize(), x.size);
}

/// Makes a message by letting `fill` write its root.
template <class Schema, class F>
wire<Schema> make(F&& fill) {
  capnp::MallocMessageBuilder builder;
  fill(builder.initRoot<Schema>());
  return wire<Schema>{builder};
}

// -- decoding -----------------------------------------------------------------

bool get_step(step_t in, step_t& out, const char* what, complaint& why) {
  out = in;
  return why.require(in <= max_step, what, "is beyond the last step");
}

/// Reads a list of named things into a map; `value(x, to, why)` reads one.
template <class List, class Value, class F>
bool get_map(List in, std::map<std::string, Value>& out, std::size_t limit,
             const char* what, complaint& why, F&& value) {
  if (!why.require(in.size() <= limit, what, "are too many"))
    return false;
  for (auto x : in) {
    std::string name;
    if (!get_name(x.getName(), name, "a name", why)
        || !why.require(out.empty() || out.rbegin()->first < name, what,
                        "are not sorted by name")
        || !value(x, out.emplace_hint(out.end(), std::move(name), Value{})
                       ->second,
                  why))
      return false;
  }
  return true;
}

bool get(schema::Configuration::Reader in, configuration& out,
         complaint& why) {
  return get_map(in.getParameters(), out, max_hyper_parameters,
                 "the hyper-parameters", why,
                 [](schema::HyperParameter::Reader x, form& to, complaint& y) {
                   return get_form(x.getForm(), to, y);
                 });
}

bool get(schema::Scalar::Reader in, scalar& out, complaint& why) {
  switch (in.which()) {
    case schema::Scalar::NUMBER:
      out = in.getNumber();
      return why.require(std::isfinite(in.getNumber()), "an option",
                         "is not finite");
    case schema::Scalar::WORD:
      return get(in.getWord(), out.emplace<std::string>(), max_text_bytes,
                 emptiness::allowed, "an option", why);
  }
  return why.require(false, "an option", "is neither number nor word");
}

bool get(schema::WorkloadSpec::Reader in, workload_spec& out, complaint& why) {
  out.any_device = in.getAnyDevice();
  const auto value = [](schema::Option::Reader x, scalar& to, complaint& y) {
    return get(x.getValue(), to, y);
  };
  const auto option = [&](schema::Option::Reader x, scalar& to, complaint& y) {
    if (x.hasJson()) {
      auto& text = out.exact[x.getName().cStr()];
      if (!get(x.getJson(), text, max_text_bytes, emptiness::refused,
               "an option's JSON", y)
          || !y.require(nlohmann::json::accept(text), "an option's JSON",
                        "is none"))
        return false;
    }
    return value(x, to, y);
  };
  return get_name(in.getName(), out.name, "the workload's name", why)
         && get_map(in.getOptions(), out.options, max_workload_options,
                    "the workload's options", why, option)
         && get_map(in.getSettings(), out.settings, max_workload_options,
                    "the workload's settings", why, value);
}

/// Whether a file's name leads nowhere else.
bool stays_inside(const std::string& name, const char* what, complaint& why) {
  return why.require(name.find('/') == std::string::npos && name != "."
                       && name != "..",
                     what, "leads out of its folder");
}

bool get_part_files(capnp::List<schema::PartFile>::Reader in, checkpoint& out,
                    complaint& why) {
  const auto* what = "a checkpoint's files of parts";
  if (!why.require(in.size() <= part_files_max, what, "are too many")
      || !why.require(in.size() == 0 || out.table_bytes > 0, what,
                      "have no table"))
    return false;
  for (auto x : in) {
    part_file next{{}, x.getBytes(), x.getDigest()};
    if (!get_name(x.getFile(), next.file, "the name of a file of parts", why)
        || !stays_inside(next.file, "the name of a file of parts", why)
        || !why.require(next.bytes > 0 && next.bytes <= max_checkpoint_bytes,
                        "the size of a file of parts", "is out of range")
        || !why.require(out.part_files.empty()
                          || out.part_files.back().file < next.file,
                        what, "are not sorted")
        || !why.require(next.file != out.file, what, "hold the checkpoint's"))
      return false;
    out.part_files.push_back(std::move(next));
  }
  return true;
}

bool get(schema::Checkpoint::Reader in, checkpoint& out, emptiness empty,
         complaint& why) {
  const auto* what = "a checkpoint's file name";
  out = {{}, in.getBytes(), in.getDigest(), {}, in.getTableBytes(), {}};
  return get(in.getFile(), out.file, max_name_bytes, empty, what, why)
         && get_word(in.getDevice(), out.device, "a checkpoint's device", why)
         && stays_inside(out.file, what, why)
         && why.require(out.bytes <= max_checkpoint_bytes, "a checkpoint",
                        "is too large")
         && why.require(out.table_bytes <= out.bytes,
                        "a checkpoint's table of parts",
                        "is larger than its file")
         && get_part_files(in.getPartFiles(), out, why);
}

bool get(schema::StopPoint::Reader in, stop_point& out, complaint& why) {
  out.evaluate = in.getEvaluate();
  out.save = in.getSave();
  out.last = in.getLast();
  return get_step(in.getAt(), out.at, "a stop", why);
}

bool get(schema::Failure::Reader in, error& out, complaint& why) {
  out.code = static_cast<errc>(in.getCode());
  return why.require(in.getCode() != 0, "a failure", "has no code")
         && get_prose(in.getMessage(), out.message, max_text_bytes,
                      "a failure's message", why);
}

bool get_duration(std::uint64_t in, std::uint64_t& out, complaint& why) {
  out = in;
  return why.require(in <= max_duration_ns, "a duration", "is too long");
}

template <any_id Id>
bool get_number(std::uint64_t in, Id& out, complaint& why) {
  out = Id{in};
  const auto* what = std::is_same_v<Id, lease_id> ? "the lease" : "the trainer";
  return why.require(in != 0, what, "has no number");
}

bool get(schema::Stage::Reader in, stage& out, complaint& why) {
  out.node = node_id{in.getNode()};
  out.identity = in.getIdentity();
  return get_step(in.getBegin(), out.begin, "a stage's begin", why)
         && get_step(in.getEnd(), out.end, "a stage's end", why)
         && why.require(out.begin <= out.end, "a stage",
                        "ends before it begins")
         && get(in.getConfig(), out.config, why)
         && why.require(std::all_of(out.config.begin(), out.config.end(),
                                    [&out](const auto& x) {
                                      return x.second.origin <= out.begin;
                                    }),
                        "a form", "begins after its stage");
}

bool get_gang_address(capnp::Text::Reader in, std::string& out,
                      complaint& why) {
  return get_word(in, out, "the address for a gang", why)
         && why.require(out.empty() || parse_endpoint(out),
                        "the address for a gang", "is not HOST:PORT");
}

bool get(schema::Hello::Reader in, hello& out, complaint& why) {
  out.protocol = in.getProtocol();
  out.process_id = in.getProcessId();
  out.threads = in.getThreads();
  out.memory_bytes = in.getMemory();
  out.notice_seconds = in.getNotice();
  out.seconds_left = in.getSecondsLeft();
  out.ranks = std::max(in.getRanks(), 1u);    // 0: of an older peer
  out.at_once = std::max(in.getAtOnce(), 1u); // 0: of an older peer
  out.code_at_once = std::max(in.getCodeAtOnce(), 1u);
  if (!why.require(out.protocol != 0, "the protocol version", "is missing")
      || !why.require(std::max(out.at_once, out.code_at_once) <= lanes_max,
                      "the number of leases at once", "is out of range")
      || !why.require(out.ranks <= ranks_max, "the number of ranks",
                      "is out of range")
      || !get_word(in.getHost(), out.host, "the host name", why)
      || !get_name(in.getDevice(), out.device, "the kind of device", why)
      || !get_word(in.getDriver(), out.driver, "the GPU's driver", why)
      || !get_word(in.getComputeCapability(), out.compute_capability,
                   "the compute capability", why)
      || !get_word(in.getNumerics(), out.numerics, "the numerics", why)
      || !get_word(in.getMachine(), out.machine, "the kind of machine", why)
      || !get_gang_address(in.getGang(), out.gang, why))
    return false;
  const auto version = [](auto x, std::string& to, complaint& y) {
    return get_word(x.getVersion(), to, "a workload's version", y);
  };
  return get_map(in.getWorkloads(), out.workloads, max_workloads,
                 "the workloads", why, version);
}

bool get(schema::Welcome::Reader in, welcome& out, complaint& why) {
  switch (in.which()) {
    case schema::Welcome::ACCEPTED: {
      const auto accepted = in.getAccepted();
      out.heartbeat_interval_ms = accepted.getHeartbeatIntervalMillis();
      return get_number(accepted.getTrainer(), out.trainer, why)
             && why.require(out.heartbeat_interval_ms > 0
                              && out.heartbeat_interval_ms
                                   <= max_heartbeat_interval_ms,
                            "the interval of heartbeats", "is out of range");
    }
    case schema::Welcome::REFUSED:
      return get(in.getRefused(), out.refusal.emplace(), why);
  }
  return why.require(false, "the answer", "neither accepts nor refuses");
}

bool get_stages(schema::Lease::Reader in, lease& out, complaint& why) {
  const auto stages = in.getStages();
  if (!why.require(stages.size() > 0, "the lease", "has no stages")
      || !why.require(stages.size() <= max_lease_stages, "the stages",
                      "are too many"))
    return false;
  for (auto x : stages) {
    stage next;
    if (!get(x, next, why)
        || !why.require(out.stages.empty()
                          || out.stages.back().end == next.begin,
                        "a stage", "does not begin where the one before ends"))
      return false;
    out.stages.push_back(std::move(next));
  }
  return true;
}

bool get_stops(schema::Lease::Reader in, lease& out, complaint& why) {
  const auto stops = in.getStops();
  if (!why.require(stops.size() > 0, "the lease", "has no stops")
      || !why.require(stops.size() <= max_lease_stops, "the stops",
                      "are too many"))
    return false;
  for (auto x : stops) {
    stop_point next;
    if (!get(x, next, why)
        || !why.require(out.stops.empty() || out.stops.back().at < next.at,
                        "the stops", "are not sorted by step"))
      return false;
    out.stops.push_back(next);
  }
  return why.require(out.stops.front().at >= out.stages.front().begin,
                     "a stop", "lies before the stages")
         && why.require(out.stops.back().at == out.stages.back().end,
                        "the last stop", "is not at the end of the stages");
}

/// @param ranks of a trial, which members share evenly; 1: they share parts
bool get(schema::Gang::Reader in, std::uint32_t ranks, gang_place& out,
         complaint& why) {
  const auto members = in.getMembers();
  const auto may_be = ranks > 1 ? ranks % std::max(members.size(), 1u) == 0
                                : members.size() <= parts_max
                                    && std::has_single_bit(members.size());
  out.rank = in.getRank();
  if (!why.require(members.size() >= 2 && may_be,
                   "the number of a gang's members", "is out of range")
      || !why.require(out.rank < members.size(), "the rank in a gang",
                      "is out of range")
      || !get_number(in.getLead(), out.lead, why)
      || !get_name(in.getSecret(), out.secret, "the secret of a gang", why))
    return false;
  for (auto member : members)
    if (!get_gang_address(member, out.members.emplace_back(), why)
        || !why.require(!out.members.back().empty(),
                        "the address of a gang's member", "is empty"))
      return false;
  return true;
}

bool get(schema::Lease::Reader in, lease& out, complaint& why) {
  out.depot = in.getDepot();
  out.lane = in.getLane();
  return get_number(in.getNumber(), out.number, why)
         && get(in.getWorkload(), out.workload, why)
         && get_path(in.getFolder(), out.folder, "the folder", why)
         && get_word(in.getToken(), out.token, "the token", why)
         && get(in.getStart(), out.start, emptiness::allowed, why)
         && get(in.getCode(), out.code, emptiness::allowed, why)
         && get(in.getBase(), out.base, emptiness::allowed, why)
         && (!in.hasGang()
             || get(in.getGang(), ranks_of(out.workload), out.gang.emplace(),
                    why))
         && get_stages(in, out, why) && get_stops(in, out, why)
         && why.require(out.lane < lanes_max, "the lane", "is out of range")
         && why.require(!out.start.file.empty()
                          || out.stages.front().begin == 0,
                        "the lease", "begins late, but without a checkpoint");
}

bool get(schema::Stop::Reader in, stop_request& out, complaint& why) {
  return get_number(in.getLease(), out.lease, why)
         && get(in.getPoint(), out.point, why)
         && why.require(out.point.evaluate || out.point.save, "the stop",
                        "has no purpose");
}

bool get(schema::Cancel::Reader in, cancel_request& out, complaint& why) {
  return get_number(in.getLease(), out.lease, why);
}

bool get(schema::StopReport::Reader in, stop_report& out, complaint& why) {
  const auto metric = [](schema::StopMetric::Reader x, double& to, complaint&) {
    to = x.getValue();
    return true;
  };
  out.node = node_id{in.getNode()};
  out.identity = in.getIdentity();
  out.size = size_in(in.getSize());
  return get_number(in.getLease(), out.lease, why)
         && get_step(in.getAt(), out.at, "the stop", why)
         && get_map(in.getValues(), out.values, max_metrics, "the metrics", why,
                    metric)
         && why.require(bytes_of_names(out.values) <= max_metrics_bytes,
                        "the names of the metrics", "are too long together")
         && (!in.hasSaved()
             || get(in.getSaved(), out.saved.emplace(), emptiness::refused,
                    why))
         && get_name(in.getDevice(), out.device, "the kind of device", why)
         && get_duration(in.getLoadNanos(), out.load_ns, why)
         && get_duration(in.getTrainNanos(), out.train_ns, why)
         && get_duration(in.getWaitNanos(), out.wait_ns, why)
         && why.require(out.wait_ns <= out.train_ns, "the time of waiting",
                        "is longer than that of training")
         && get_duration(in.getEvaluateNanos(), out.evaluate_ns, why)
         && get_duration(in.getSaveNanos(), out.save_ns, why)
         && get_step(in.getTrainedSteps(), out.trained_steps,
                     "the number of trained steps", why)
         && get_prose(in.getOutput(), out.output, max_text_bytes, "the output",
                      why)
         && why.require(out.trained_steps <= out.at, "the stop",
                        "lies before the steps that were trained");
}

bool get(schema::LeaseEnd::Reader in, lease_end& out, complaint& why) {
  if (in.getDuring() <= schema::LeaseEnd::Part::SAVING) // one that is known
    out.during = static_cast<lease_part>(in.getDuring());
  return get_number(in.getLease(), out.lease, why)
         && get_step(in.getAt(), out.at, "the last step", why)
         && (!in.hasFailure()
             || get(in.getFailure(), out.failure.emplace(), why))
         && get_prose(in.getLog(), out.log, max_log_bytes, "the log", why);
}

bool get(schema::Ack::Reader in, ack& out, complaint& why) {
  return get_number(in.getLease(), out.lease, why)
         && get_step(in.getAt(), out.at, "the stop", why);
}

bool get(schema::Resent::Reader in, resent& out, complaint& why) {
  return get(in.getWorkload(), out.workload_key, max_text_bytes,
             emptiness::refused, "the workload key", why)
         && get(in.getReport(), out.report, why)
         && why.require(out.report.node != root_node, "the report",
                        "names no node");
}

bool get(schema::Goodbye::Reader in, goodbye& out, complaint& why) {
  return get_number(in.getTrainer(), out.trainer, why);
}

bool get(schema::Heartbeat::Reader in, heartbeat& out, complaint& why) {
  out.lease = lease_id{in.getLease()};
  out.count = in.getCount();
  out.overdue_ms = in.getOverdueMillis();
  return get_number(in.getTrainer(), out.trainer, why)
         && get_step(in.getAt(), out.at, "the step", why);
}

/// Decodes a message, mapping what Cap'n Proto throws on bad bytes to an error.
template <class T, class Schema>
expected<T> decode_as(const char* name, const wire<Schema>& x) {
  const auto malformed = [name](const std::string& why) {
    return error{errc::malformed_message,
                 std::string{"malformed "} + name + ": " + why};
  };
  if (x.empty())
    return malformed("it is empty or ends within a word");
  if (x.words().size() > max_wire_words)
    return malformed("it is too large");
  try {
    T out;
    complaint why;
    const bool ok = x.read([&out, &why](typename Schema::Reader in) {
      return get(in, out, why);
    });
    if (!ok)
      return malformed(why.text());
    return out;
  } catch (const kj::Exception& problem) {
    return malformed(problem.getDescription().cStr());
  }
}

} // namespace

// -- messages -----------------------------------------------------------------

wire<schema::Hello> encode(const hello& hello) {
  return make<schema::Hello>([&hello](schema::Hello::Builder out) {
    out.setProtocol(hello.protocol);
    out.setHost(hello.host);
    out.setProcessId(hello.process_id);
    out.setDevice(hello.device);
    out.setThreads(hello.threads);
    out.setMemory(hello.memory_bytes);
    out.setDriver(hello.driver);
    out.setComputeCapability(hello.compute_capability);
    out.setNumerics(hello.numerics);
    out.setNotice(hello.notice_seconds);
    out.setSecondsLeft(hello.seconds_left);
    out.setRanks(hello.ranks);
    out.setGang(hello.gang);
    out.setMachine(hello.machine);
    out.setAtOnce(hello.at_once);
    out.setCodeAtOnce(hello.code_at_once);
    auto list = out.initWorkloads(count(hello.workloads.size()));
    for (unsigned i = 0; const auto& [name, version] : hello.workloads) {
      list[i].setName(name);
      list[i++].setVersion(version);
    }
  });
}

wire<schema::Welcome> encode(const welcome& welcome) {
  return make<schema::Welcome>([&welcome](schema::Welcome::Builder out) {
    if (welcome.refusal) {
      put(out.initRefused(), *welcome.refusal);
      return;
    }
    auto accepted = out.initAccepted();
    accepted.setTrainer(number_of(welcome.trainer));
    accepted.setHeartbeatIntervalMillis(welcome.heartbeat_interval_ms);
  });
}

void put(schema::Gang::Builder out, const gang_place& gang) {
  out.setLead(number_of(gang.lead));
  out.setRank(gang.rank);
  out.setSecret(gang.secret);
  auto members = out.initMembers(count(gang.members.size()));
  for (unsigned i = 0; i < members.size(); ++i)
    members.set(i, gang.members[i]);
}

wire<schema::Lease> encode(const lease& lease) {
  return make<schema::Lease>([&lease](schema::Lease::Builder out) {
    out.setNumber(number_of(lease.number));
    put(out.initWorkload(), lease.workload);
    out.setFolder(lease.folder);
    out.setToken(lease.token);
    out.setDepot(lease.depot);
    out.setLane(lease.lane);
    put(out.initStart(), lease.start);
    if (!lease.code.file.empty())
      put(out.initCode(), lease.code);
    if (!lease.base.file.empty())
      put(out.initBase(), lease.base);
    if (lease.gang)
      put(out.initGang(), *lease.gang);
    auto stages = out.initStages(count(lease.stages.size()));
    for (unsigned i = 0; i < stages.size(); ++i) {
      stages[i].setNode(number_of(lease.stages[i].node));
      stages[i].setBegin(lease.stages[i].begin);
      stages[i].setEnd(lease.stages[i].end);
      stages[i].setIdentity(lease.stages[i].identity);
      put(stages[i].initConfig(), lease.stages[i].config);
    }
    auto stops = out.initStops(count(lease.stops.size()));
    for (unsigned i = 0; i < stops.size(); ++i)
      put(stops[i], lease.stops[i]);
  });
}

wire<schema::Stop> encode(const stop_request& request) {
  return make<schema::Stop>([&request](schema::Stop::Builder out) {
    out.setLease(number_of(request.lease));
    put(out.initPoint(), request.point);
  });
}

wire<schema::Cancel> encode(const cancel_request& request) {
  return make<schema::Cancel>([&request](schema::Cancel::Builder out) {
    out.setLease(number_of(request.lease));
  });
}

wire<schema::StopReport> encode(const stop_report& report) {
  return make<schema::StopReport>(
    [&report](schema::StopReport::Builder out) { put(out, report); });
}

wire<schema::LeaseEnd> encode(const lease_end& end) {
  return make<schema::LeaseEnd>([&end](schema::LeaseEnd::Builder out) {
    out.setLease(number_of(end.lease));
    out.setAt(end.at);
    if (end.failure)
      put(out.initFailure(), *end.failure);
    out.setLog(end.log);
    out.setDuring(static_cast<schema::LeaseEnd::Part>(end.during));
  });
}

wire<schema::Ack> encode(const ack& ack) {
  return make<schema::Ack>([&ack](schema::Ack::Builder out) {
    out.setLease(number_of(ack.lease));
    out.setAt(ack.at);
  });
}

wire<schema::Resent> encode(const resent& resent) {
  return make<schema::Resent>([&resent](schema::Resent::Builder out) {
    out.setWorkload(resent.workload_key);
    put(out.initReport(), resent.report);
  });
}

wire<schema::Goodbye> encode(const goodbye& goodbye) {
  return make<schema::Goodbye>(
    [&goodbye](auto out) { out.setTrainer(number_of(goodbye.trainer)); });
}

wire<schema::Heartbeat> encode(const heartbeat& heartbeat) {
  return make<schema::Heartbeat>([&heartbeat](schema::Heartbeat::Builder out) {
    out.setTrainer(number_of(heartbeat.trainer));
    out.setLease(number_of(heartbeat.lease));
    out.setAt(heartbeat.at);
    out.setCount(heartbeat.count);
    out.setOverdueMillis(heartbeat.overdue_ms);
  });
}

expected<hello> decode(const wire<schema::Hello>& message) {
  return decode_as<hello>("hello", message);
}

expected<welcome> decode(const wire<schema::Welcome>& message) {
  return decode_as<welcome>("welcome", message);
}

expected<lease> decode(const wire<schema::Lease>& message) {
  return decode_as<lease>("lease", message);
}

std::optional<lease_id> number_of(const wire<schema::Lease>& message) {
  if (message.empty() || message.words().size() > max_wire_words)
    return {};
  try {
    const auto number = message.read([](auto in) { return in.getNumber(); });
    return number == 0 ? std::nullopt : std::optional{lease_id{number}};
  } catch (const kj::Exception&) {
    return {};
  }
}

expected<stop_request> decode(const wire<schema::Stop>& message) {
  return decode_as<stop_request>("stop request", message);
}

expected<cancel_request> decode(const wire<schema::Cancel>& message) {
  return decode_as<cancel_request>("cancel request", message);
}

expected<stop_report> decode(const wire<schema::StopReport>& message) {
  return decode_as<stop_report>("stop report", message);
}

expected<lease_end> decode(const wire<schema::LeaseEnd>& message) {
  return decode_as<lease_end>("lease end", message);
}

expected<heartbeat> decode(const wire<schema::Heartbeat>& message) {
  return decode_as<heartbeat>("heartbeat", message);
}

expected<ack> decode(const wire<schema::Ack>& message) {
  return decode_as<ack>("acknowledgement", message);
}

expected<resent> decode(const wire<schema::Resent>& message) {
  return decode_as<resent>("resent report", message);
}

expected<goodbye> decode(const wire<schema::Goodbye>& message) {
  return decode_as<goodbye>("goodbye", message);
}

// -- configurations -----------------------------------------------------------

std::string encode_configuration(const configuration& params) {
  const auto message = make<schema::Configuration>(
    [&params](schema::Configuration::Builder out) { put(out, params); });
  const auto bytes = message.words().asChars();
  return {bytes.begin(), bytes.size()};
}

expected<configuration> decode_configuration(std::string_view bytes) {
  return decode_as<configuration>("configuration",
                                  wire<schema::Configuration>::of_bytes(bytes));
}

} // namespace hippo

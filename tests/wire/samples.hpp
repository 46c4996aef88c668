#pragma once

#include <limits>

#include "hippo/net/wire/codec.hpp"

namespace hippo::samples {

inline form polynomial(step_t origin) {
  return {form_kind::polynomial, origin, {0.1, 0.001, 20, 0.5}, {}};
}

inline form cosine(step_t origin) {
  return {form_kind::cosine, origin, {0.1, 0, 12}, {}};
}

inline form exponential(step_t origin) {
  return {form_kind::exponential, origin, {0.1, 0.9}, {}};
}

inline form line(step_t origin) {
  return {form_kind::line, origin, {0.1, -0.01, 3}, {}};
}

inline form rex(step_t origin) {
  return {form_kind::rex, origin, {0.1, 0, 20, 0.5}, {}};
}

inline form fading_ramp(step_t origin) {
  return {form_kind::fading_ramp, origin, {0.1, 0.3, 0.5, 2, 9}, {}};
}

inline form square_root(step_t origin) {
  return {form_kind::square_root, origin, {0.1, 0.02, 20}, {}};
}

inline form inverse_root(step_t origin) {
  return {form_kind::inverse_root, origin, {0.1, 100}, {}};
}

inline form whole_exponential(step_t origin) {
  return {form_kind::exponential, origin, {3, 2}, {}, value_type::whole};
}

/// One hyper-parameter of each kind; placed forms begin at `origin`.
inline configuration config(step_t origin = 0) {
  return {{"batch_size", form::constant(64)},
          {"decay", polynomial(origin)},
          {"dropout", exponential(origin)},
          {"fade", fading_ramp(origin)},
          {"layers", form::json("[64,null]")},
          {"lr", cosine(origin)},
          {"nesterov", form::truth(true)},
          {"nothing", form::constant(0)},
          {"optimizer", form::text("sgd")},
          {"ramp", line(origin)},
          {"rex", rex(origin)},
          {"root", square_root(origin)},
          {"slow", inverse_root(origin)},
          {"width", whole_exponential(origin)}};
}

inline lease path() {
  lease x;
  x.number = lease_id{7};
  x.workload = {"fashion-cnn", {{"data.train", 20000.0}, {"mode", "fast"}},
                {{"silence_seconds", 5.0}}};
  x.workload.any_device = true;
  x.workload.exact = {{"mode", "\"fast\""}};
  x.code = {"code.json", 300, 0xc0de};
  x.folder = "/tmp/checkpoints";
  x.base = checkpoint{"n1-s3-l2.ckpt", 9000, 5, {}, 700, {}};
  x.token = ".hippo-0123";
  x.depot = 4849;
  x.lane = 5;
  x.start = {"k1-n3-s10", 4096, 0xdeadbeefcafef00d, "cpu"};
  x.stages = {{node_id{3}, 10, 12, config(4), 77},
              {node_id{5}, 12, 20, config(12), 78},
              {node_id{9}, 20, 20, {{"lr", form::constant(0.5)}}}};
  x.stops = {{10, true, false}, {12, false, true}, {20, true, true}};
  x.gang = gang_place{lease_id{6}, {"node7:4001", "[::1]:4002"}, 1, "s3cret"};
  return x;
}

inline stop_report report() {
  stop_report x;
  x.lease = lease_id{7};
  x.at = 12;
  x.values = {{"loss", std::numeric_limits<double>::quiet_NaN()},
              {"speed", std::numeric_limits<double>::infinity()},
              {"val_accuracy", 0.91}};
  x.saved = checkpoint{
    "k1-n3-s12", 4096, 17,
    {},          96,   {{"n1-s3-l2.ckpt", 9000, 5}, {"n2-s5-l2.ckpt", 1, 0}}};
  x.device = "cpu avx2 t1";
  x.load_ns = 1;
  x.train_ns = 2;
  x.evaluate_ns = 3;
  x.save_ns = 4;
  x.wait_ns = 1;
  x.trained_steps = 2;
  x.node = node_id{5};
  x.identity = 0xfeedfacefeedface;
  x.output = "epoch 12\n";
  x.size = {7e9, 2.5e7, 50000};
  return x;
}

inline hello greeting() {
  return {protocol_version,
          "node7",
          4711,
          "cpu avx2 t1",
          {{"fashion-cnn", "built-in 3"}, {"toy", ""}},
          2,
          1ull << 34,
          "13.0",
          "9.0",
          "portable",
          120,
          "a100-spot",
          16,
          1,
          0,
          1,
          "node7:4001"};
}

} // namespace hippo::samples

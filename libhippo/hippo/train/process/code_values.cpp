#include "hippo/train/process/code_values.hpp"

#include <cmath>

#include "hippo/net/wire/form_codec.hpp"

namespace hippo {

namespace {

using nlohmann::json;

json whole(double x) { return static_cast<std::int64_t>(x); }

/// A value as code is given it.
json to_json(const scalar& x, value_type type) {
  const auto* number = std::get_if<double>(&x);
  if (number == nullptr) {
    const auto& word = std::get<std::string>(x);
    return type == value_type::json ? json::parse(word) : json(word);
  }
  if (type == value_type::whole)
    return whole(*number);
  return type == value_type::truth ? json(*number != 0) : json(*number);
}

} // namespace

json arguments_json(const process_setup& setup) {
  auto result = json::object();
  for (const auto& [name, value] : setup.args) {
    const auto exact = setup.exact_args.find(name);
    const auto* number = std::get_if<double>(&value);
    if (exact != setup.exact_args.end())
      result[name] = json::parse(exact->second);
    else if (number != nullptr && std::trunc(*number) == *number
             && std::abs(*number) < whole_limit)
      result[name] = whole(*number);
    else
      result[name] = to_json(value, value_type::plain);
  }
  return result;
}

json values_json(const configuration& params, step_t from, step_t to) {
  auto result = json::object();
  for (const auto& [name, shape] : params) {
    auto& list = result[name] = json::array();
    for (auto at = from; at < to; ++at)
      list.push_back(to_json(shape.at(at), shape.type));
  }
  return result;
}

void put_arguments(const process_setup& setup, schema::Setup::Builder to) {
  auto list = to.initArgs(static_cast<unsigned>(setup.args.size()));
  unsigned i = 0;
  for (const auto& [name, value] : setup.args) {
    auto option = list[i++];
    option.setName(name);
    if (const auto exact = setup.exact_args.find(name);
        exact != setup.exact_args.end())
      option.setJson(exact->second);
    if (const auto* number = std::get_if<double>(&value))
      option.initValue().setNumber(*number);
    else
      option.initValue().setWord(std::get<std::string>(value));
  }
}

void put_values(const configuration& params, step_t from, step_t to,
                schema::Train::Builder out) {
  auto values = out.initValues(static_cast<unsigned>(params.size()));
  unsigned i = 0;
  for (const auto& [name, f] : params) {
    auto entry = values[i++];
    entry.setName(name);
    entry.setType(to_schema(f.type));
    if (f.kind == form_kind::text) {
      entry.setWord(f.word);
      continue;
    }
    const auto steps = f.is_plateau() ? 1u : static_cast<unsigned>(to - from);
    auto numbers = entry.initNumbers(steps);
    for (unsigned k = 0; k < steps; ++k)
      numbers.set(k, std::get<double>(f.at(from + k)));
  }
}

} // namespace hippo

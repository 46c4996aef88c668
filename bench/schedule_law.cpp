// How well the law of learning-rate schedules predicts losses of real trainings
// (github.com/thu-yao-01-luo/MultiPowerLaw), with its public curves.
//
//   schedule_law DIR
//
// DIR holds CURVE.csv of nine curves, with a head and in each line a step, the
// learning rate and the loss. The law is fitted to three of them, as in the
// paper, and predicts the six others.
//
// Prints a line of JSON: by curve that was not fitted, the mean absolute error
// and the share of the variance that is explained (`r2`); and the milliseconds
// of the fit.

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/search/surrogate/schedule_law.hpp"

namespace {

using namespace hippo;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "schedule_law: %s\n", why.c_str());
  std::exit(1);
}

constexpr step_t warmup = 2160;
constexpr double peak = 3e-4;
constexpr double least = 3e-5;

form curve_of(form_kind kind, step_t begin, std::array<double, 5> numbers) {
  form result;
  result.kind = kind;
  result.origin = begin;
  result.a = numbers;
  return result;
}

form line(step_t begin, step_t end, double from, double to) {
  return curve_of(form_kind::polynomial, begin,
                  {from, to, static_cast<double>(end - begin), 1});
}

sequence after_warmup(std::vector<piece> rest) {
  rest.insert(rest.begin(), {0, line(0, warmup, 0, peak)});
  return sequence{std::move(rest)};
}

sequence constant() {
  return after_warmup({{warmup, form::constant(peak)}});
}

sequence cosine(step_t end) {
  return after_warmup(
    {{warmup, curve_of(form_kind::cosine, warmup,
                       {peak, least, static_cast<double>(end - warmup)})}});
}

/// A decay after a rate that stays.
sequence stable(step_t until, form decay) {
  return after_warmup(
    {{warmup, form::constant(peak)}, {until, std::move(decay)}});
}

struct curve {
  sequence rates;
  bool is_fitted = false;
};

const std::map<std::string, curve> curves{
  {"constant_24000", {constant(), true}},
  {"cosine_24000", {cosine(24'000), true}},
  {"wsdcon_9", {stable(8'000, form::constant(9e-5)), true}},
  {"constant_72000", {constant(), false}},
  {"cosine_72000", {cosine(72'000), false}},
  {"wsd_20000_24000",
   {stable(20'000, curve_of(form_kind::exponential, 20'000,
                            {peak, std::pow(least / peak, 1.0 / 4'000)})),
    false}},
  {"wsdld_20000_24000",
   {stable(20'000, line(20'000, 24'000, peak, least)), false}},
  {"wsdcon_3", {stable(8'000, form::constant(3e-5)), false}},
  {"wsdcon_18", {stable(8'000, form::constant(1.8e-4)), false}},
};

std::vector<law_point> read(const std::string& path, const sequence& rates) {
  std::ifstream file{path};
  std::vector<law_point> result;
  std::string row;
  std::getline(file, row);
  while (std::getline(file, row)) {
    unsigned long long step = 0;
    double rate = 0, loss = 0;
    if (std::sscanf(row.c_str(), "%llu,%lf,%lf", &step, &rate, &loss) != 3
        || std::abs(std::get<double>(rates.at(step)) / rate - 1) > 1e-3)
      fail(path + ": '" + row + "' is not of the schedule");
    result.push_back({*read_rates(rates, step), loss});
  }
  if (result.empty())
    fail("there is no " + path);
  return result;
}

/// Even points of a curve, as many as a study keeps.
std::vector<law_point> some_of(const std::vector<law_point>& xs) {
  constexpr std::size_t count = 32;
  std::vector<law_point> result;
  for (std::size_t i = 1; i <= count; ++i)
    result.push_back(xs[i * xs.size() / count - 1]);
  return result;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    fail("usage: schedule_law DIR");
  std::map<std::string, std::vector<law_point>> found;
  std::vector<law_point> fitted;
  for (const auto& [name, x] : curves) {
    found[name] = read(std::string{argv[1]} + "/" + name + ".csv", x.rates);
    if (x.is_fitted) {
      const auto some = some_of(found[name]);
      fitted.insert(fitted.end(), some.begin(), some.end());
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto law = fit_schedule_law(fitted);
  const std::chrono::duration<double, std::milli> taken =
    std::chrono::steady_clock::now() - begin;
  if (!law)
    fail("no law was found");
  auto result = nlohmann::json::object();
  for (const auto& [name, points] : found) {
    if (curves.at(name).is_fitted)
      continue;
    const auto count = static_cast<double>(points.size());
    double error = 0, squares = 0, sum = 0, all = 0;
    for (const auto& x : points) {
      const auto off = x.loss - law->loss(x.rates);
      error += std::abs(off) / count;
      squares += off * off;
      sum += x.loss / count;
    }
    for (const auto& x : points)
      all += (x.loss - sum) * (x.loss - sum);
    result[name] = {{"mae", error}, {"r2", 1 - squares / all}};
  }
  std::printf("%s\n",
              nlohmann::json{{"curves", result}, {"fit_ms", taken.count()}}
                .dump()
                .c_str());
  return 0;
}

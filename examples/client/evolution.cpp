// A custom algorithm: a (1+1) evolution strategy over learning-rate schedules.
// Children that differ late share with their parent what comes before.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <string>

#include <hippo/net/client/client.hpp>

constexpr int trials = 12;
constexpr int in_flight = 3; // keeps so many trainers busy

struct schedule {
  double initial = 0.05; // learning rate
  int milestone = 6;     // the step at which it falls
  double gamma = 0.3;    // to what part of it

  std::string json() const {
    return R"({"lr": {"multistep": {"initial": )" + std::to_string(initial)
           + R"(, "milestones": [)" + std::to_string(milestone)
           + R"(], "gamma": )" + std::to_string(gamma) + "}}}";
  }
};

schedule mutate(schedule x, std::mt19937& random) {
  std::normal_distribution<double> noise;
  if (random() % 3 == 0)
    x.initial = std::clamp(x.initial * std::exp(noise(random)), 1e-4, 1.0);
  x.milestone = std::clamp(x.milestone + int(random() % 5) - 2, 1, 8);
  x.gamma = std::clamp(x.gamma * std::exp(noise(random)), 0.01, 1.0);
  return x;
}

// Returns what a call gives, or ends the program with the reason.
template <class T>
T need(const hippo::expected<T>& x) {
  if (x)
    return *x;
  std::cerr << x.failure().message << '\n';
  std::exit(1);
}

int main(int argc, char** argv) { // HOST:PORT and the study file
  std::ifstream file(argc > 2 ? argv[2] : "evolution.yaml");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto service = need(hippo::client::connect(
    argc > 1 ? argv[1] : hippo::default_service_address));
  const auto id = need(service.submit(text, "evolution")).id;
  auto study = need(service.study(std::to_string(id)));
  std::mt19937 random{1};
  std::map<std::uint64_t, schedule> asked;
  std::pair<double, schedule> best{-1, {}};
  for (int done = 0; done < trials; ++done) {
    while (int(asked.size()) < std::min(trials, done + in_flight)) {
      const auto x = asked.empty() ? schedule{} : mutate(best.second, random);
      const auto trial = need(study.ask(x.json())).trial;
      asked[trial] = x;
      study.start(trial, 9);
    }
    const auto trained = need(study.next()); // whichever is there first
    if (!trained.failure.empty())
      continue;
    if (const auto value = trained.metrics.at("val_accuracy");
        value > best.first)
      best = {value, asked[trained.trial]};
    study.tell(trained.trial);
  }
  study.close();
  const auto end = need(study.wait());
  std::cout << end.state << ": " << end.shared_steps << " of "
            << end.asked_steps << " steps shared; best " << best.first
            << " with " << best.second.json() << '\n';
}

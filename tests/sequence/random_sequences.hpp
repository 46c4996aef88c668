#pragma once

#include <algorithm>
#include <initializer_list>
#include <random>

#include <nlohmann/json.hpp>

#include "hippo/sequence/family.hpp"

namespace hippo::test {

/// Random sequences of every family, as study files write them. Parameters come
/// from few values, so that many sequences begin alike or are the same; some
/// are random reals. Left out is what make_sequence() says does not share:
/// plateaus of one step, curves of two; and `wsd`, which ends with its trial.
class random_sequences {
public:
  using json = nlohmann::ordered_json;

  /// @param range sequences of about that many steps
  random_sequences(unsigned seed, step_t range)
    : random_(seed), range_(range) {}

  json next(int depth = 0) {
    switch (random_() % (depth < 2 ? 20 : 15)) {
      case 0:
        return number();
      case 1:
        return {{"constant", number()}};
      case 2:
        return {{"multistep",
                 start({{"milestones", begins(false)}, {"gamma", gamma()}},
                       depth)}};
      case 3:
        return {{"step",
                 start({{"size", 2 + random_() % 9}, {"gamma", gamma()}},
                       depth)}};
      case 4: {
        auto list = json::array({json::array({0, number()})});
        for (const auto& begin : begins(true))
          list.push_back(json::array({begin, number()}));
        return {{"piecewise", list}};
      }
      case 5:
        return {{"exponential",
                 start({{"gamma", gamma()}, {"every", 1 + random_() % 3}},
                       depth)}};
      case 6:
        return {{"linear",
                 start({{"to", number()}, {"horizon", steps()}}, depth,
                       "from")}};
      case 7:
        return {{"cosine",
                 start({{"end", number()}, {"horizon", steps()}}, depth)}};
      case 8:
        return {{"polynomial",
                 start({{"end", number()},
                        {"horizon", steps()},
                        {"power", one_of({1.0, 1.0, 2.0, 0.5})}},
                       depth)}};
      case 9:
        return {{"rex",
                 start({{"end", number()},
                        {"horizon", steps()},
                        {"beta", one_of({0.0, 0.5, 0.5, 0.8})}},
                       depth)}};
      case 10:
        return {{"cosine_restarts",
                 start({{"end", number()},
                        {"period", steps()},
                        {"multiplier", 1 + random_() % 2}},
                       depth)}};
      case 11: {
        json x{{"high", number()}, {"up", steps()}};
        if (random_() % 2 == 0)
          x["down"] = steps();
        switch (random_() % 4) {
          case 0:
            x["mode"] = "triangular2";
            break;
          case 1:
            x["mode"] = "exp_range";
            x["gamma"] = one_of({1.0, 0.9, 0.5});
            break;
          default:
            break;
        }
        return {{"cyclic", start(std::move(x), depth, "low")}};
      }
      case 12: {
        const auto rise = steps();
        json x{{"max", number()},
               {"initial", number()},
               {"end", number()},
               {"rise", rise},
               {"horizon", 2 * rise + steps()},
               {"three_phase", random_() % 2 == 0}};
        if (random_() % 2 == 0)
          x["anneal"] = "linear";
        return {{"one_cycle", x}};
      }
      case 13:
        return {{"reduce_on_plateau",
                 start({{"factor", one_of({0.1, 0.5})},
                        {"patience", random_() % 2}},
                       depth)}};
      case 14:
        return {{"inverse_sqrt",
                 {{"peak", number()},
                  {"warmup", random_() % 3 == 0 ? 0 : steps()}}}};
      case 15: { // its items are as long as tell which curves they are
        auto list = json::array({json::array({0, next()})});
        step_t at = 0;
        for (auto n = 1 + random_() % 2; n > 0; --n)
          list.push_back(json::array({at += 4 + random_() % 6, next()}));
        return {{"join", list}};
      }
      default:
        return {{"warmup",
                 {{"steps", random_() % 3 == 0 ? 0 : steps()},
                  {"from", number()},
                  {"to", number()},
                  {"then", next(depth + 1)}}}};
    }
  }

  /// Results of a trial, every other step.
  observations results() {
    observations result;
    for (step_t at = 2; at < range_; at += 2)
      result.values.push_back({at, random_() % 2 == 0 ? 0.1 : 0.5});
    return result;
  }

private:
  template <class T>
  T one_of(std::initializer_list<T> xs) {
    return xs.begin()[random_() % xs.size()];
  }

  /// Adds the value to start from, unless a warm-up may have said it.
  json start(json document, int depth, const char* name = "initial") {
    if (depth == 0 || random_() % 2 == 0)
      document[name] = number();
    return document;
  }

  double number() {
    if (random_() % 12 == 0)
      return std::uniform_real_distribution<>{0, 1}(random_);
    return one_of({0.1, 0.1, 0.03, 0.37, 0.01});
  }

  double gamma() {
    if (random_() % 12 == 0)
      return std::uniform_real_distribution<>{0.5, 1}(random_);
    return one_of({1.0, 0.1, 0.5, 10.0});
  }

  step_t steps() { return one_of<step_t>({3, 3, 4, 5, 6, 9}); }

  json begins(bool many) {
    json result = json::array();
    step_t at = 0;
    for (auto n = 1 + random_() % (many ? 4 : 3); n > 0; --n) {
      at += 2 + random_() % 5;
      result.push_back(at);
    }
    return result;
  }

  std::mt19937 random_;
  step_t range_;
};

} // namespace hippo::test

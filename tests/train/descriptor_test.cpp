#include "hippo/model/workload_descriptor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "hippo/model/parts.hpp"

namespace hippo {

namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();

/// Returns why `x` is refused, or an empty string.
std::string why(const parameter_descriptor& p, const scalar& x) {
  return p.refuses(x).value_or("");
}

const parameter_descriptor& hyper_parameter(const std::string& name) {
  const auto& all = built_in_workloads().front().hyper_parameters;
  return *std::ranges::find(all, name, &parameter_descriptor::name);
}

void expect_equal(const parameter_descriptor& x,
                  const parameter_descriptor& y) {
  EXPECT_EQ(x.name, y.name);
  EXPECT_EQ(x.fallback, y.fallback);
  EXPECT_EQ(x.min, y.min);
  EXPECT_EQ(x.max, y.max);
  EXPECT_EQ(x.min_excluded, y.min_excluded);
  EXPECT_EQ(x.max_excluded, y.max_excluded);
  EXPECT_EQ(x.integer, y.integer);
  EXPECT_EQ(x.words, y.words);
  EXPECT_EQ(x.affects_speed, y.affects_speed);
  EXPECT_EQ(x.max_option, y.max_option);
  EXPECT_EQ(x.min_option, y.min_option);
  EXPECT_EQ(x.max_parameter, y.max_parameter);
  EXPECT_EQ(x.divides, y.divides);
  EXPECT_EQ(x.left_out, y.left_out);
  EXPECT_EQ(x.only_with, y.only_with);
  EXPECT_EQ(x.only_option, y.only_option);
  EXPECT_EQ(x.meaning, y.meaning);
}

} // namespace

TEST(Descriptor, RefusesNumbersOutsideTheRange) {
  parameter_descriptor p;
  p.fallback = 1.0;
  p.min = 0;
  p.max = 2;
  EXPECT_EQ(why(p, 0.0), "");
  EXPECT_EQ(why(p, 2.0), "");
  EXPECT_EQ(why(p, -0.5), "must be at least 0");
  EXPECT_EQ(why(p, 2.5), "must be at most 2");
  p.min_excluded = p.max_excluded = true;
  EXPECT_EQ(why(p, 1.0), "");
  EXPECT_EQ(why(p, 0.0), "must be above 0");
  EXPECT_EQ(why(p, 2.0), "must be below 2");
}

TEST(Descriptor, RefusesWhatIsNoFiniteNumber) {
  parameter_descriptor p;
  p.fallback = 1.0;
  EXPECT_EQ(why(p, 1e300), "");
  EXPECT_EQ(why(p, infinity), "must be a finite number");
  EXPECT_EQ(why(p, std::nan("")), "must be a finite number");
  EXPECT_EQ(why(p, "sgd"), "must be a number");
}

TEST(Descriptor, RefusesFractionsOfIntegers) {
  parameter_descriptor p;
  p.fallback = 1.0;
  p.integer = true;
  EXPECT_EQ(why(p, 3.0), "");
  EXPECT_EQ(why(p, 3.5), "must be an integer");
}

TEST(Descriptor, RefusesUnknownWords) {
  parameter_descriptor p;
  p.fallback = std::string{"b"};
  EXPECT_EQ(why(p, "anything"), "");
  EXPECT_EQ(why(p, 1.0), "must be a word");
  p.words = {"a", "b", "c"};
  EXPECT_EQ(why(p, "c"), "");
  EXPECT_EQ(why(p, "d"), "must be a, b or c");
  EXPECT_EQ(why(p, 1.0), "must be a, b or c");
}

TEST(Descriptor, BuiltInFallbacksAreAllowed) {
  ASSERT_EQ(built_in_workloads().size(), 26);
  for (const auto& x : built_in_workloads())
    for (const auto* all : {&x.hyper_parameters, &x.options})
      for (const auto& p : *all) {
        EXPECT_EQ(why(p, p.fallback), "") << x.name << ' ' << p.name;
        EXPECT_FALSE(p.meaning.empty()) << x.name << ' ' << p.name;
      }
}

TEST(Descriptor, BuiltInLimits) {
  EXPECT_EQ(why(hyper_parameter("lr"), 0.0), "");
  EXPECT_EQ(why(hyper_parameter("lr"), -0.1), "must be at least 0");
  EXPECT_EQ(why(hyper_parameter("lr"), 1e6), "");
  EXPECT_EQ(why(hyper_parameter("momentum"), 1.0), "must be below 1");
  EXPECT_EQ(why(hyper_parameter("batch_size"), 0.0), "must be at least 1");
  EXPECT_EQ(why(hyper_parameter("optimizer"), "adam"), "must be adamw or sgd");
  EXPECT_TRUE(hyper_parameter("batch_size").affects_speed);
  EXPECT_TRUE(hyper_parameter("optimizer").affects_speed);
  EXPECT_FALSE(hyper_parameter("lr").affects_speed);
}

TEST(Descriptor, LimitsOfGyroDropout) {
  EXPECT_EQ(why(hyper_parameter("subnetworks"), 0.0), "");
  EXPECT_EQ(why(hyper_parameter("subnetworks"), -1.0), "must be at least 0");
  EXPECT_EQ(why(hyper_parameter("subnetworks_at_once"), 64.0), "");
  EXPECT_EQ(why(hyper_parameter("subnetworks_at_once"), 65.0),
            "must be at most 64");
  EXPECT_EQ(why(hyper_parameter("subnetworks_at_once"), 0.0),
            "must be at least 1");
  EXPECT_EQ(why(hyper_parameter("subnetwork_period"), 6.25), "");
  EXPECT_EQ(why(hyper_parameter("subnetwork_period"), 0.0), "must be above 0");
  EXPECT_EQ(why(hyper_parameter("subnetwork_period"), -1.0), "must be above 0");
  EXPECT_EQ(why(hyper_parameter("dropout_block"), 32.0), "");
  EXPECT_EQ(why(hyper_parameter("dropout_block"), 48.0), "must divide 128");
  EXPECT_EQ(why(hyper_parameter("dropout_block"), 256.0),
            "must be at most 128");
  EXPECT_EQ(why(hyper_parameter("subnetwork_draw"), "draw"),
            "must be permute or replace");
}

TEST(Descriptor, JsonOfEarlierLibraries) {
  auto text = to_json({built_in_workloads().front()});
  for (const auto* name : {"min_option", "max_parameter", "divides", "left_out",
                           "only_with", "only_option"})
    for (auto at = text.find('"' + std::string{name} + '"'); at != text.npos;
         at = text.find('"' + std::string{name} + '"'))
      text.replace(at + 1, std::string{name}.size(), "other");
  const auto back = descriptors_from_json(text);
  ASSERT_TRUE(back) << back.failure().message;
  for (const auto& x : back->front().hyper_parameters) {
    EXPECT_EQ(x.divides, 0);
    EXPECT_FALSE(x.left_out);
    EXPECT_EQ(x.min_option + x.max_parameter + x.only_with + x.only_option, "");
  }
}

TEST(Descriptor, JsonRoundTrip) {
  auto all = built_in_workloads();
  parameter_descriptor odd;
  odd.name = "odd \"name\"\n";
  odd.fallback = -infinity;
  odd.min = infinity;
  odd.max = 0.1;
  all.front().options.push_back(odd);
  all.back().unit = "iteration";
  const auto back = descriptors_from_json(to_json(all));
  ASSERT_TRUE(back) << back.failure().message;
  ASSERT_EQ(back->size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& x = all[i];
    const auto& y = (*back)[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.meaning, y.meaning);
    EXPECT_EQ(x.unit, y.unit);
    ASSERT_EQ(x.metrics.size(), y.metrics.size());
    for (std::size_t j = 0; j < x.metrics.size(); ++j) {
      EXPECT_EQ(x.metrics[j].name, y.metrics[j].name);
      EXPECT_EQ(x.metrics[j].better, y.metrics[j].better);
      EXPECT_EQ(x.metrics[j].meaning, y.metrics[j].meaning);
    }
    ASSERT_EQ(x.hyper_parameters.size(), y.hyper_parameters.size());
    for (std::size_t j = 0; j < x.hyper_parameters.size(); ++j)
      expect_equal(x.hyper_parameters[j], y.hyper_parameters[j]);
    ASSERT_EQ(x.options.size(), y.options.size());
    for (std::size_t j = 0; j < x.options.size(); ++j)
      expect_equal(x.options[j], y.options[j]);
  }
}

TEST(Descriptor, OnlySharesOfBatchesAreForSeveralMembers) {
  const auto members = [](const std::string& name, const char* option) {
    workload_spec spec;
    spec.name = name;
    spec.options[option] = 8.0;
    return parts_of_batch(spec);
  };
  EXPECT_EQ(members("fashion-cnn", "parts"), 8u);
  EXPECT_EQ(members("cifar-resnet20", "parts"), 8u);
  EXPECT_EQ(members("squad-bert-base", "parts"), 8u);
  EXPECT_EQ(members("fashion-cnn", "data.train"), 1u); // the option is left out
  EXPECT_EQ(members("clicks-dlrm", "parts"), 1u);
  EXPECT_EQ(members("a-workload-of-others", "parts"), 1u);
}

TEST(Descriptor, MalformedJson) {
  for (const auto* text : {"", "[", "[{}]", "[1]", "{\"name\": 3}",
                           R"([{"name": "x", "meaning": "", "unit": "",
                             "metrics": 1}])"}) {
    const auto x = descriptors_from_json(text);
    ASSERT_FALSE(x) << text;
    EXPECT_EQ(x.failure().code, errc::malformed_message);
  }
}

} // namespace hippo

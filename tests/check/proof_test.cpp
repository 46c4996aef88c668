#include "hippo/check/proof.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "hippo/base/number.hpp"
#include "hippo/sequence/configuration.hpp"
#include "hippo/train/rank_contact.hpp"

namespace hippo {
namespace {

using result = proof_finding::result;

/// What a workload does wrong.
enum class mistake {
  none,
  process_random,  ///< draws what differs from process to process
  reads_once,      ///< one value for all steps of a call
  forgets_moment,  ///< the momentum buffer is not saved
  loses_on_load,   ///< load leaves out part of what is saved
  goes_on,         ///< init keeps what training before has left
  keeps_on_load,   ///< load keeps some of what training before has left
  measuring_moves, ///< evaluate changes the state
  measures_anew,   ///< evaluate gives another number each time
  ignores_lr,
  ignores_kind,
  trains_nothing,
  throws_at_2,
  counts_threads, ///< results depend on the number of threads
  counts_members, ///< likewise of members
  ranks_apart,    ///< no mistake as such
};

/// Gradient descent with momentum on (w - 1)^2. In-process objects stand for
/// processes.
class descent final : public workload, public rank_contact {
public:
  descent(mistake what, double process, const trained_by& number)
    : what_(what), process_(process), number_(number) {}

  void init() override {
    w_ = 0;
    if (what_ != mistake::goes_on)
      moment_ = 0;
  }

  void train(const configuration& config, step_t from, step_t to) override {
    for (auto at = from; at < to; ++at) {
      if (what_ == mistake::trains_nothing)
        return;
      if (what_ == mistake::throws_at_2 && at == 2)
        throw std::runtime_error("no step 2");
      const auto when = what_ == mistake::reads_once ? from : at;
      auto lr = std::get<double>(config.at("lr").at(when));
      if (what_ == mistake::ignores_lr)
        lr = 0.125;
      const auto kind = std::get<std::string>(config.at("kind").at(when));
      const auto decay
        = kind == "heavy" && what_ != mistake::ignores_kind ? 0.75 : 0.5;
      auto gradient = 2 * (w_ - 1);
      if (what_ == mistake::process_random && at == 1)
        gradient += process_;
      if (what_ == mistake::counts_threads)
        gradient *= number_.threads;
      if (what_ == mistake::counts_members)
        gradient *= number_.members;
      moment_ = decay * moment_ + gradient;
      w_ -= lr * moment_;
    }
  }

  [[nodiscard]] bool ranks_apart() const noexcept override {
    return what_ == mistake::ranks_apart;
  }

  metrics evaluate() override {
    if (what_ == mistake::measuring_moves)
      moment_ *= 0.5;
    if (what_ == mistake::measures_anew)
      process_ += 1;
    return {{"loss", (w_ - 1) * (w_ - 1)
                       + (what_ == mistake::measures_anew ? process_ : 0)}};
  }

  std::string save() override {
    return to_text(w_) + ' '
           + to_text(what_ == mistake::forgets_moment ? 0 : moment_);
  }

  void load(const std::string& bytes) override {
    const auto space = bytes.find(' ');
    w_ = std::stod(bytes);
    if (what_ == mistake::loses_on_load)
      moment_ = 0;
    else if (what_ != mistake::forgets_moment
             && !(what_ == mistake::keeps_on_load && has_loaded_))
      moment_ = std::stod(bytes.substr(space));
    has_loaded_ = true;
  }

  std::vector<std::string> differences(const std::string& left,
                                       const std::string& right) override {
    return left == right ? std::vector<std::string>{}
                         : std::vector<std::string>{left + " is not " + right};
  }

private:
  mistake what_;
  double process_;
  trained_by number_;
  double w_ = 0;
  double moment_ = 0;
  bool has_loaded_ = false;
};

workload_descriptor described() {
  workload_descriptor x;
  x.name = "descent";
  x.metrics = {{"loss", direction::minimize, ""}};
  parameter_descriptor lr;
  lr.name = "lr";
  lr.fallback = 0.1;
  parameter_descriptor kind;
  kind.name = "kind";
  kind.fallback = std::string{"light"};
  kind.words = {"heavy", "light"};
  x.hyper_parameters = {lr, kind};
  return x;
}

study_spec study(const std::string& space
                 = "  lr: {choice: [{constant: 0.1}, {multistep: {initial: 0.1,"
                   " milestones: [50], gamma: 0.5}}]}\n"
                   "  kind: {choice: [light, heavy]}\n") {
  return *read_study("study: s\nworkload: descent\nobjective: {metric: loss}\n"
                     "max_steps: 100\nspace:\n"
                       + space,
                     "s.yaml", {described()})
            .study;
}

struct Proof : testing::Test {
  proof_options options;
  std::vector<std::string> told;

  expected<std::vector<proof_finding>> prove(mistake what,
                                             const study_spec& x = study()) {
    double processes = 0;
    return hippo::prove(
      x,
      {{"lr", sequence{form::constant(0.1)}},
       {"kind", sequence{form::text("light")}}},
      options,
      [&](const trained_by& number) -> expected<made_workload> {
        return made_workload{
          std::nullopt, std::nullopt,
          std::make_unique<descent>(what, ++processes, number)};
      },
      [this](const proof_finding& y) { told.push_back(y.what); });
  }

  /// What is broken of a workload.
  std::set<std::string> broken(mistake what) {
    std::set<std::string> names;
    const auto found = prove(what);
    EXPECT_TRUE(found);
    for (const auto& x : *found)
      if (x.outcome == result::broken) {
        EXPECT_FALSE(x.details.empty());
        EXPECT_FALSE(x.cause.empty());
        names.insert(x.what);
      }
    EXPECT_EQ(holds(*found), names.empty());
    return names;
  }

  proof_finding named(const std::vector<proof_finding>& xs,
                      const std::string& what) {
    for (const auto& x : xs)
      if (x.what == what)
        return x;
    ADD_FAILURE() << "nothing is called " << what;
    return {};
  }
};

TEST_F(Proof, FindsNothingWrongWithWhatIsExact) {
  options.other_threads = {2};
  options.other_members = {2, 4};
  const auto found = prove(mistake::none);
  ASSERT_TRUE(found);
  EXPECT_TRUE(holds(*found));
  EXPECT_EQ(found->size(), told.size());
  for (const auto& x : *found)
    EXPECT_EQ(x.outcome, result::holds) << proof_text(x);
  EXPECT_EQ(proof_summary(*found).substr(0, 6), "exact:");
}

TEST_F(Proof, FindsEachMistake) {
  const auto process = "the same steps in another process";
  const auto one_call = "the same steps in one call of train()";
  const auto goes_on = "training goes on from step 1 in another process";
  const auto loads = "what is loaded at step 1 is what was saved";
  const auto fresh = "a fresh start after another trial in that process";
  const auto resumed = "a resumed trial after another one in that process";
  const auto measured = "evaluations in between";
  using names = std::set<std::string>;
  EXPECT_EQ(broken(mistake::process_random), names{process});
  EXPECT_EQ(broken(mistake::reads_once), names{one_call});
  EXPECT_EQ(broken(mistake::forgets_moment), (names{goes_on, resumed}));
  EXPECT_EQ(broken(mistake::loses_on_load), (names{loads, goes_on, resumed}));
  EXPECT_EQ(broken(mistake::goes_on), names{fresh});
  EXPECT_EQ(broken(mistake::measuring_moves), names{measured});
  EXPECT_EQ(broken(mistake::measures_anew), names{process});
  EXPECT_EQ(broken(mistake::ignores_lr),
            names{"another value of lr makes a difference"});
  EXPECT_EQ(broken(mistake::ignores_kind),
            names{"another value of kind makes a difference"});
}

TEST_F(Proof, WarnsOfRanksThatTrainAlone) {
  const auto found = prove(mistake::ranks_apart);
  ASSERT_TRUE(found);
  EXPECT_TRUE(holds(*found));
  const auto x = named(*found, "the ranks train together");
  EXPECT_EQ(x.outcome, result::doubtful);
  EXPECT_TRUE(proof_text(x).starts_with("warning the ranks train together\n"))
    << proof_text(x);
  EXPECT_TRUE(proof_summary(*found).starts_with("exact: "));
}

TEST_F(Proof, AMetricThatIsNeverMeasuredIsBroken) {
  auto misspelt = study();
  misspelt.objective.metric = "val_lss";
  const auto found = prove(mistake::none, misspelt);
  ASSERT_TRUE(found);
  EXPECT_FALSE(holds(*found));
  const auto x = named(*found, "it measures 'val_lss', the study's metric");
  EXPECT_EQ(x.outcome, result::broken);
  EXPECT_EQ(x.details.at(0).substr(0, 12), "it measures ");
}

TEST_F(Proof, SaysFromWhichStepOnStatesDiffer) {
  const auto found = prove(mistake::process_random);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->front().details[0].starts_with("from step 2 on: "))
    << found->front().details[0];
}

TEST_F(Proof, WhatDiffersByThreadsShowsWhereItIsClaimed) {
  EXPECT_TRUE(broken(mistake::counts_threads).empty());
  options.other_threads = {3};
  EXPECT_EQ(broken(mistake::counts_threads),
            std::set<std::string>{"the same steps with 3 threads"});
}

TEST_F(Proof, ResultsThatDependOnTheNumberOfMembersAreFound) {
  EXPECT_TRUE(broken(mistake::counts_members).empty());
  options.threads = 2;
  options.other_members = {2, 4};
  EXPECT_EQ(broken(mistake::counts_members),
            (std::set<std::string>{"the same steps with 2 members",
                                   "the same steps with 4 members"}));
  options.threads = 1;
  EXPECT_TRUE(broken(mistake::counts_threads).empty());
}

TEST_F(Proof, WhatCannotBeTrainedIsNoProof) {
  EXPECT_EQ(prove(mistake::throws_at_2).failure().message, "no step 2");
  EXPECT_NE(prove(mistake::trains_nothing)
              .failure()
              .message.find("training changes nothing"),
            std::string::npos);
}

TEST_F(Proof, OneValueIsNotTried) {
  const auto found = prove(mistake::none, study("  lr: {choice: [0.1, 0.2]}\n"
                                                "  kind: light\n"));
  ASSERT_TRUE(found);
  EXPECT_EQ(named(*found, "another value of lr makes a difference").outcome,
            result::holds);
  EXPECT_EQ(named(*found, "another value of kind makes a difference").outcome,
            result::skipped);
  EXPECT_TRUE(holds(*found));
}

TEST_F(Proof, RendersAFindingInAFewLines) {
  EXPECT_EQ(proof_text({"this", result::broken, {"a", "b", "c", "d", "e"},
                        "that"}),
            "BROKEN  this\n        a\n        b\n        c\n"
            "        and 2 more\n        usually: that\n");
}

} // namespace
} // namespace hippo

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "hippo/train/torch/span_workload.hpp"
#include "hippo/train/torch/training.hpp"
#include "hippo/train/torch/weights_file.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

const std::string tiny = "squad-bert-tiny";

/// Returns how making `spec` fails.
error failure_of(const workload_spec& spec) {
  workload_registry registry;
  add_built_in_workloads(registry, test_device());
  const auto made = registry.make(spec);
  return made ? error{} : made.failure();
}

/// A spec with few short texts, made of random numbers.
workload_spec spec_of(double windows) {
  auto spec = small_spec(tiny, windows);
  spec.options["data.length"] = 16.0;
  spec.options["data.vocabulary"] = 64.0;
  return spec;
}

configuration config_of(double batch_size) {
  auto result = default_configuration(tiny);
  result["batch_size"] = form::constant(batch_size);
  return result;
}

/// A line of `describe_model` for each weight, by name.
std::map<std::string, std::string> weights_of(workload& work) {
  std::map<std::string, std::string> result;
  std::istringstream lines{describe_model(work.save())};
  for (std::string line; std::getline(lines, line);)
    result[line.substr(0, line.find(' '))] = line;
  return result;
}

/// Writes data in SQuAD's form: of two colours the question asks for one.
void write_squad(const std::string& folder, const std::string& name,
                 int questions) {
  using nlohmann::json;
  auto passages = json::array();
  for (int i = 0; i < questions; ++i) {
    const std::string answer = i % 3 == 0 ? "dark red" : "light blue";
    const std::string context = "The house is " + answer + ", the door green.";
    const json right{{"text", answer}, {"answer_start", 13}};
    const json question{{"question", "What colour is the house?"},
                        {"answers", json::array({right})}};
    passages.push_back(
      json{{"context", context}, {"qas", json::array({question})}});
  }
  const json article{{"paragraphs", passages}};
  const json all{{"data", json::array({article})}};
  write_file(folder + '/' + name + "-v1.1.json", all.dump());
  write_file(folder + "/vocab.txt",
             "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\nhouse\nis\ndark\nred\nlight\n"
             "blue\n,\n.\ndoor\ngreen\nwhat\ncolour\n?\n");
}

} // namespace

TEST(Span, TinyLearnsMadeQuestions) {
  auto spec = spec_of(512);
  spec.options["data.validation"] = 100.0;
  const auto work = make_built_in(spec);
  const auto before = work->evaluate();
  EXPECT_EQ(before.at("train_loss"), std::log(16.0));
  EXPECT_LT(before.at("val_exact"), 0.2);
  work->train(config_of(16), 0, 4);
  const auto after = work->evaluate();
  EXPECT_LT(after.at("train_loss"), 0.7 * before.at("train_loss"));
  EXPECT_LT(after.at("val_loss"), 0.7 * before.at("val_loss"));
  EXPECT_GT(after.at("val_exact"), 0.8);
  EXPECT_GE(after.at("val_f1"), after.at("val_exact"));
}

TEST(Span, TinyLearnsFilesInSquadsForm) {
  const temporary_folder folder;
  write_squad(folder.path, "train", 64);
  write_squad(folder.path, "dev", 9);
  auto spec = spec_of(64);
  spec.options["data.set"] = std::string{"squad"};
  spec.options["data.folder"] = folder.path;
  spec.options["data.validation"] = 9.0;
  spec.options["data.length"] = 24.0;
  const auto work = make_built_in(spec);
  work->train(config_of(8), 0, 5);
  const auto after = work->evaluate();
  EXPECT_EQ(after.at("val_exact"), 1);
  EXPECT_EQ(after.at("val_f1"), 1);
  EXPECT_LT(after.at("val_loss"), 0.5);
}

TEST(Span, EveryHyperParameterMatters) {
  const auto work = make_built_in(spec_of(32));
  // Exchanges are of parts that train copies.
  auto spec = spec_of(32);
  spec.options["parts"] = 4.0;
  spec.options["sync"] = "bmuf";
  const auto parts = make_built_in(spec);
  const auto result = [&](const configuration& config, bool exchanges) {
    auto& x = exchanges ? *parts : *work;
    x.init();
    x.train(config, 0, 1);
    return x.save();
  };
  const std::map<std::string, form> others{
    {"lr", form::constant(0.002)},     {"batch_size", form::constant(16)},
    {"optimizer", form::text("sgd")},  {"momentum", form::constant(0.5)},
    {"beta2", form::constant(0.9)},    {"weight_decay", form::constant(0.1)},
    {"dropout", form::constant(0.4)},  {"clip", form::constant(0.1)},
    {"sync_every", form::constant(3)}, {"sync_lag", form::constant(1)},
    {"sync_alpha", form::constant(1)}, {"sync_momentum", form::constant(0.5)},
    {"sync_lr", form::constant(0.5)},
  };
  auto config = config_of(8);
  config["sync_every"] = form::constant(2);
  for (const bool exchanges : {false, true}) {
    const auto before = result(config, exchanges);
    EXPECT_TRUE(result(config, exchanges) == before);
    for (const auto& [name, value] : config) {
      const bool is_of_exchanges = name.starts_with("sync_");
      if (exchanges && !is_of_exchanges)
        continue;
      auto other = config;
      other[name] = others.at(name);
      // Without copies there is nothing to exchange.
      EXPECT_EQ(result(other, exchanges) == before,
                !exchanges && is_of_exchanges)
        << name;
    }
  }
}

TEST(Span, ClippingKeepsSmallGradients) {
  const auto work = make_built_in(spec_of(32));
  const auto result = [&](double clip) {
    auto config = config_of(8);
    config["clip"] = form::constant(clip);
    work->init();
    work->train(config, 0, 1);
    return work->save();
  };
  EXPECT_TRUE(result(0) == result(1e9));
}

TEST(Span, BiasesAndNormalisationsDoNotDecay) {
  // One update without learning would leave all but what decays as it is: with
  // gradients scaled down to 0, sgd does just that.
  const auto work = make_built_in(spec_of(32));
  auto config = config_of(32);
  config["optimizer"] = form::text("sgd");
  config["clip"] = form::constant(1e-60);
  config["weight_decay"] = form::constant(0.5);
  const auto before = weights_of(*work);
  work->train(config, 0, 1);
  const auto after = weights_of(*work);
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [name, values] : after) {
    const bool fixed =
      name.ends_with(".bias") || name.find("LayerNorm") != std::string::npos;
    EXPECT_EQ(values == before.at(name), fixed) << name;
  }
}

TEST(Span, PaddingIsNotTrained) {
  const auto work = make_built_in(spec_of(32));
  work->train(config_of(8), 0, 1);
  const temporary_folder folder;
  const auto path = folder.path + "/x.pt";
  work->export_weights(path);
  const auto words =
    read_weights(path).at("bert.embeddings.word_embeddings.weight");
  EXPECT_EQ(words[0].abs().max().item<double>(), 0);
  EXPECT_GT(words[1].abs().max().item<double>(), 0);
}

TEST(Span, BeginsWithWeightsThatWereExported) {
  const temporary_folder folder;
  const auto path = folder.path + "/x.pt";
  const auto one = make_built_in(spec_of(32));
  one->train(config_of(8), 0, 1);
  one->export_weights(path);
  auto spec = spec_of(32);
  spec.options["weights"] = path;
  spec.options["seed"] = 2.0;
  const auto two = make_built_in(spec);
  EXPECT_EQ(weights_of(*two), weights_of(*one));
  two->train(config_of(8), 0, 1);
  two->init();
  EXPECT_EQ(weights_of(*two), weights_of(*one));

  // Without the head, which is random then, and with something else.
  auto tensors = read_weights(path);
  tensors.erase("qa_outputs.weight");
  tensors["cls.predictions.bias"] = at::zeros({4});
  write_weights(path, {tensors.begin(), tensors.end()});
  const auto three = make_built_in(spec);
  const auto weights = weights_of(*three);
  for (const auto& [name, values] : weights_of(*one))
    EXPECT_EQ(weights.at(name) == values, name != "qa_outputs.weight") << name;

  tensors.erase("bert.embeddings.LayerNorm.bias");
  write_weights(path, {tensors.begin(), tensors.end()});
  EXPECT_EQ(failure_of(spec).message,
            path + " has no weights bert.embeddings.LayerNorm.bias");
  tensors["bert.embeddings.LayerNorm.bias"] = at::zeros({3});
  write_weights(path, {tensors.begin(), tensors.end()});
  EXPECT_EQ(failure_of(spec).message,
            "the weights bert.embeddings.LayerNorm.bias in " + path
              + " have the shape [3], not [128]");
}

TEST(Span, FilesThatAreNoWeightsAreRefused) {
  const temporary_folder folder;
  const auto path = folder.path + "/x.pt";
  auto spec = spec_of(32);
  spec.options["weights"] = path;
  EXPECT_EQ(failure_of(spec).code, errc::missing_data);
  for (const auto* content : {"", "nothing of the kind"}) {
    write_file(path, content);
    const auto failure = failure_of(spec);
    EXPECT_EQ(failure.code, errc::training_failed);
    EXPECT_EQ(failure.message.find(path + " is no file of weights: "), 0)
      << failure.message;
  }
}

TEST(Span, ReadsWeightsThatPythonWrote) {
  const auto tensors = read_weights(REFERENCE_FOLDER "/dict.pt");
  ASSERT_EQ(tensors.size(), 2);
  EXPECT_TRUE(
    tensors.at("weight").equal(at::arange(6, at::kFloat).view({2, 3})));
  EXPECT_TRUE(tensors.at("bias").equal(at::full({2}, -1, at::kFloat)));
}

TEST(Span, AModulesOwnStateIsNoDict) {
  try {
    read_weights(REFERENCE_FOLDER "/ordered_dict.pt");
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string{e.what()}.find("torch.save(dict("),
              std::string::npos);
  }
}

TEST(Span, BatchesAboveTheDataAreRefused) {
  const auto work = make_built_in(spec_of(9));
  EXPECT_THROW(work->train(config_of(10), 0, 1), std::invalid_argument);
  // The last batch has one window.
  EXPECT_NO_THROW(work->train(config_of(8), 0, 1));
  for (const auto& [name, value] : work->evaluate())
    EXPECT_TRUE(std::isfinite(value)) << name;
}

TEST(Span, MissingDataSaysWhatToDo) {
  auto spec = small_spec("squad-bert-base");
  spec.options["data.set"] = std::string{"squad"};
  spec.options["data.folder"] = std::string{"/nowhere"};
  const auto failure = failure_of(spec);
  EXPECT_EQ(failure.code, errc::missing_data);
  for (const auto* word : {"/nowhere", "vocab.txt", "data.folder"})
    EXPECT_NE(failure.message.find(word), std::string::npos) << word;
}

TEST(Span, StatesOfOthersAreRefused) {
  const auto work = make_built_in(spec_of(32));
  const auto other = make_built_in(small_spec("fashion-mlp"));
  EXPECT_THROW(work->load(other->save()), std::runtime_error);
  EXPECT_THROW(work->load(""), std::runtime_error);
  const auto state = work->save();
  EXPECT_THROW(work->load(state + "x"), std::runtime_error);
  EXPECT_NO_THROW(work->load(state));
}

} // namespace hippo

// The catalogue of the workloads that come with Hippo.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/number.hpp"
#include "hippo/model/subnetworks.hpp"
#include "hippo/model/workload_descriptor.hpp"

namespace hippo {

namespace {

parameter_descriptor number(std::string name, double fallback, double min,
                            double max, std::string meaning) {
  parameter_descriptor x;
  x.name = std::move(name);
  x.fallback = fallback;
  x.min = min;
  x.max = max;
  x.meaning = std::move(meaning);
  return x;
}

parameter_descriptor integer(std::string name, double fallback, double min,
                             double max, std::string meaning) {
  auto x = number(std::move(name), fallback, min, max, std::move(meaning));
  x.integer = true;
  return x;
}

parameter_descriptor words(std::string name, std::vector<std::string> allowed,
                           std::string fallback, std::string meaning) {
  parameter_descriptor x;
  x.name = std::move(name);
  x.fallback = std::move(fallback);
  x.words = std::move(allowed);
  x.meaning = std::move(meaning);
  return x;
}

/// A text that may be anything.
parameter_descriptor text(std::string name, std::string fallback,
                          std::string meaning) {
  return words(std::move(name), {}, std::move(fallback), std::move(meaning));
}

/// It may be 0: schedules begin and end there.
parameter_descriptor learning_rate(double fallback) {
  const auto infinity = std::numeric_limits<double>::infinity();
  return number("lr", fallback, 0, infinity, "learning rate");
}

/// @param meaning what an iteration holds
parameter_descriptor batch_size(double fallback, double max,
                                std::string meaning) {
  auto x = integer("batch_size", fallback, 1, max, std::move(meaning));
  x.max_option = "data.train";
  x.affects_speed = true;
  return x;
}

parameter_descriptor optimizer(std::string fallback) {
  auto x = words("optimizer", {"adamw", "sgd"}, std::move(fallback),
                 "update rule; a change of it starts its state afresh");
  x.affects_speed = true;
  return x;
}

/// A number of `[0, 1)`.
parameter_descriptor fraction(std::string name, double fallback,
                              std::string meaning) {
  auto x = number(std::move(name), fallback, 0, 1, std::move(meaning));
  x.max_excluded = true;
  return x;
}

/// In which numbers a network multiplies. The default is a part of the keys of
/// studies that are stored: with another one they would begin anew.
parameter_descriptor precision() {
  return words("precision", {"float32", "tf32", "bfloat16", "float16"},
               "float32",
               "numbers that are multiplied; weights and losses are float32 in "
               "any case, tf32 is float32 on a CPU, float16 needs a GPU");
}

/// With which of a CPU's instructions a network is computed.
parameter_descriptor numerics_option() {
  return words("numerics", {"native", "portable"}, "native",
               "instructions of CPUs: all that the CPU has, or those of AVX2 "
               "alone, which give the same bits on more machines; no matter on "
               "GPUs");
}

/// The images of a data set's training files.
struct images_descriptor {
  std::string folder;  ///< where the files are by default
  std::string meaning; ///< of the option that names it
  double count;        ///< of images, at the most
  double training;     ///< of them trained on by default
  double validation;   ///< of them measured on by default
  std::string classes; ///< how many there are
  std::string training_part;   ///< which ones are trained on
  std::string validation_part; ///< which ones are measured on
};

/// Adds which images of one set of `x.count` are used.
images_descriptor of_one_set(images_descriptor x) {
  const auto count = to_text(x.count);
  x.training_part = "the first of the " + count;
  x.validation_part =
    "the last of the " + count + "; with data.train at most " + count;
  return x;
}

std::vector<parameter_descriptor> image_options(const images_descriptor& x) {
  return {
    text("data.folder", x.folder, x.meaning),
    integer("data.train", x.training, 1, x.count,
            "images to train on: " + x.training_part),
    integer("data.validation", x.validation, 1, x.count,
            "images to measure on: " + x.validation_part),
    numerics_option(),
    precision(),
    integer("seed", 1, 0, 999999999999,
            "decides initial weights, data order, augmentation and dropout"),
  };
}

/// What workloads of images train with unless a study says otherwise.
struct training_defaults {
  double lr, batch_size, weight_decay, dropout;
};

std::vector<parameter_descriptor>
training_hyper_parameters(const training_defaults& defaults,
                          const images_descriptor& images) {
  const auto infinity = std::numeric_limits<double>::infinity();
  return {
    learning_rate(defaults.lr),
    batch_size(defaults.batch_size, images.count,
               "images of an iteration; at most data.train"),
    optimizer("sgd"),
    fraction("momentum", 0.9, "momentum of sgd, beta1 of adamw"),
    integer("nesterov", 0, 0, 1, "1: sgd looks ahead (Nesterov)"),
    fraction("beta2", 0.999, "decay of adamw's second moment"),
    number("weight_decay", defaults.weight_decay, 0, infinity,
           "L2 penalty of sgd, decoupled decay of adamw"),
    fraction("dropout", defaults.dropout, "share of activations dropped"),
    fraction("label_smoothing", 0, "share of a label spread over all classes"),
  };
}

/// Appends the hyper-parameters of gyro dropout. Configurations leave them out
/// where dropout is ordinary: the keys of before there was another one stay.
/// @param features of each layer that is dropped
void add_subnetworks(workload_descriptor& x, double features) {
  const subnetwork_settings defaults;
  auto count = integer(subnetworks_name, defaults.count, 0, subnetworks_max,
                       "subnetworks of gyro dropout, which are fixed and "
                       "trained in turns; 0: ordinary dropout");
  auto at_once =
    integer(at_once_name, defaults.at_once, 1, subnetworks_at_once_max,
            "subnetworks that a batch trains, each by its share "
            "of the examples; at most subnetworks");
  auto period = number(subnetwork_period_name, defaults.period, 0,
                       std::numeric_limits<double>::infinity(),
                       "epochs, or a fraction of one, for which the same "
                       "subnetworks are trained");
  auto block =
    integer(dropout_block_name, defaults.block, 1, features,
            "neighbouring features that a subnetwork drops together");
  auto draw =
    words(subnetwork_draw_name, {draw_by_permutation, draw_with_replacement},
          draw_by_permutation,
          "permute: all subnetworks are trained before one is again; replace: "
          "each is drawn by itself");
  count.only_with = "dropout";
  at_once.max_parameter = subnetworks_name;
  period.min_excluded = true;
  block.divides = features;
  for (auto* each : {&at_once, &period, &block, &draw})
    each->only_with = subnetworks_name;
  for (auto* each : {&count, &at_once, &period, &block, &draw}) {
    each->left_out = true;
    x.hyper_parameters.push_back(std::move(*each));
  }
}

/// Appends the hyper-parameters of augmentation.
/// @param crop the default of the largest shift
void add_augmentation(workload_descriptor& x, double crop, double crop_max) {
  x.hyper_parameters.push_back(
    integer("crop", crop, 0, crop_max,
            "largest random shift in pixels (random crop of an image padded by "
            "as much)"));
  x.hyper_parameters.push_back(
    number("flip", 0.5, 0, 1, "share of images mirrored left to right"));
}

void add_cutout(workload_descriptor& x, double max) {
  x.hyper_parameters.push_back(
    integer("cutout", 0, 0, max,
            "side of a square in a random place that is taken out, in pixels"));
}

/// What differs between the workloads that answer questions.
struct span_defaults {
  std::string set;
  double vocabulary = 0;
  double training = 0;
  double validation = 0;
  double length = 0;
  double stride = 0;
  double lr = 0;
};

/// The most windows of an epoch.
constexpr double most_windows = 1000000;

std::vector<parameter_descriptor> span_options(const span_defaults& x) {
  return {
    words("data.set", {"squad", "synthetic"}, x.set,
          "questions of SQuAD 1.1, or such as are made of random numbers, "
          "which need no files"),
    text("data.folder", "/usr/share/datasets/squad",
         "folder of train-v1.1.json, dev-v1.1.json and vocab.txt"),
    integer("data.vocabulary", x.vocabulary, 32, 1000000,
            "tokens that the network knows; vocab.txt may have fewer"),
    integer("data.train", x.training, 1, most_windows,
            "windows to train on: the first of the training file"),
    integer("data.validation", x.validation, 1, most_windows,
            "questions to measure on: the first of the other file"),
    integer("data.length", x.length, 16, 512,
            "tokens of an input, question and window together"),
    integer("data.stride", x.stride, 1, 512,
            "tokens from one window of a passage to the next"),
    text("weights", "",
         "file of weights to begin with, as exported or by PyTorch; empty: "
         "random ones"),
    numerics_option(),
    precision(),
    integer("seed", 1, 0, 999999999999,
            "decides initial weights, data order and dropout"),
  };
}

std::vector<parameter_descriptor> span_hyper_parameters(double lr) {
  const auto infinity = std::numeric_limits<double>::infinity();
  return {
    learning_rate(lr),
    batch_size(32, most_windows, "windows of an iteration; at most data.train"),
    optimizer("adamw"),
    fraction("momentum", 0.9, "momentum of sgd, beta1 of adamw"),
    fraction("beta2", 0.999, "decay of adamw's second moment"),
    number("weight_decay", 0.01, 0, infinity,
           "L2 penalty of sgd, decoupled decay of adamw; not of biases and "
           "normalisations"),
    fraction("dropout", 0.1, "share of activations and attention dropped"),
    number("clip", 1, 0, infinity,
           "largest norm of all gradients together; larger ones are scaled "
           "down to it; 0: any"),
  };
}

/// The version of the workloads below: to be raised with every change of what
/// they give.
constexpr const char* built_in_version = "built-in 5";

/// A workload that tells images apart, without augmentation.
workload_descriptor image_workload(std::string name, std::string meaning,
                                   const images_descriptor& images,
                                   const training_defaults& defaults) {
  workload_descriptor x;
  x.name = std::move(name);
  x.version = built_in_version;
  x.meaning = std::move(meaning);
  x.metrics = {
    {"val_accuracy", direction::maximize,
     "share of validation images that are classified right"},
    {"val_loss", direction::minimize,
     "mean cross-entropy over the validation images"},
    {"train_loss", direction::minimize,
     "mean training loss over the last epoch; ln " + images.classes
       + " before the first"},
  };
  x.hyper_parameters = training_hyper_parameters(defaults, images);
  x.options = image_options(images);
  x.averages = true;
  return x;
}

images_descriptor fashion_images() {
  return of_one_set({"/usr/share/datasets/fashion-mnist",
                     "folder of the Fashion-MNIST files, plain or gzipped",
                     60000,
                     20000,
                     5000,
                     "10",
                     {},
                     {}});
}

/// @param features of each layer that is dropped
workload_descriptor fashion(std::string name, std::string meaning,
                            double features, bool augments) {
  auto x = image_workload(std::move(name), std::move(meaning), fashion_images(),
                          {0.02, 64, 0.0005, 0.1});
  add_subnetworks(x, features);
  if (augments)
    add_augmentation(x, 2, 14);
  return x;
}

/// A linear model whose examples are dealt out, with all that does not depend
/// on the way in which it is trained.
/// @param data options that name the examples
/// @param parts meaning of that option
/// @param seed meaning of that option
workload_descriptor linear_model(std::string name, std::string meaning,
                                 double lr,
                                 std::vector<parameter_descriptor> data,
                                 std::string parts, std::string seed) {
  const auto infinity = std::numeric_limits<double>::infinity();
  workload_descriptor x;
  x.name = std::move(name);
  x.version = built_in_version;
  x.meaning = std::move(meaning);
  x.hyper_parameters = {
    learning_rate(lr),
    number("weight_decay", 0.0001, 0, infinity,
           "L2 penalty; not of the constant"),
  };
  x.options = std::move(data);
  for (const auto& option :
       {words("loss", {"logistic", "least_squares"}, "logistic",
              "cross-entropy of the softmax, or half the squared distance"),
        integer("parts", 10, 1, 1000, std::move(parts)),
        integer("seed", 1, 0, 999999999999, std::move(seed))})
    x.options.push_back(option);
  return x;
}

std::vector<parameter_descriptor> linear_image_options() {
  const auto images = fashion_images();
  return {
    text("data.folder", images.folder, images.meaning),
    integer("data.train", images.training, 1, images.count,
            "images to train on: " + images.training_part),
    integer("data.validation", images.validation, 1, images.count,
            "images to measure on: " + images.validation_part),
  };
}

/// A linear model whose examples lie on several machines.
/// @param examples plural of one
workload_descriptor linear(std::string name, std::string meaning, double lr,
                           std::vector<parameter_descriptor> data,
                           const std::string& examples) {
  auto x = linear_model(
    std::move(name), std::move(meaning), lr, std::move(data),
    "machines that the " + examples + " are dealt out to",
    "decides which of the " + examples + " is drawn when, and arrivals");
  x.metrics = {
    {"val_accuracy", direction::maximize,
     "share of validation " + examples + " that are classified right"},
    {"val_loss", direction::minimize,
     "mean loss over the validation " + examples},
    {"train_loss", direction::minimize,
     "mean loss over the training " + examples},
  };
  auto rule = words("optimizer", {"saga", "sgd"}, "saga",
                    "update rule; saga remembers the gradient of each of the "
                      + examples);
  auto updates =
    words("updates", {"asynchronous", "synchronous"}, "asynchronous",
          "whether a part answers by the weights of its last turn, or all by "
          "the same weights");
  for (auto* each : {&rule, &updates}) {
    each->affects_speed = true;
    x.hyper_parameters.push_back(std::move(*each));
  }
  x.options.push_back(
    words("arrivals", {"round_robin", "exponential"}, "round_robin",
          "order of asynchronous answers: in turn, or as if each took an "
          "exponentially distributed time"));
  return x;
}

/// A number of `(0, 1)`.
parameter_descriptor proper_share(std::string name, double fallback,
                                  std::string meaning) {
  auto x = fraction(std::move(name), fallback, std::move(meaning));
  x.min_excluded = true;
  return x;
}

std::vector<parameter_descriptor> csv_options() {
  return {
    text("data.file", "",
         "path of the CSV file, whose first line names the columns"),
    text("data.sha256", "",
         "SHA-256 of the file, 64 hexadecimal digits; must be given"),
    text("data.target", "", "name of the column that is predicted"),
    proper_share("data.train", 0.8, "share of the rows that are trained on"),
    proper_share("data.validation", 0.2,
                 "share of the rows that are measured on"),
  };
}

/// The most blocks of a cycle: each has a class of Fashion-MNIST at least.
constexpr int most_blocks = 10;

/// A linear model whose clients have data that come in cycles of blocks.
workload_descriptor cyclic() {
  auto x = linear_model(
    "fashion-cyclic",
    "Fashion-MNIST with a linear model, trained by clients whose images come "
    "in cycles of blocks of classes; an epoch is a cycle and takes seconds",
    0.0005, linear_image_options(),
    "clients that the images of each block are dealt out to",
    "decides which image is drawn when");
  x.metrics = {
    {"val_accuracy", direction::maximize,
     "share of a block's validation images that are classified right, mean "
     "over the blocks"},
    {"val_loss", direction::minimize,
     "mean loss over a block's validation images, mean over the blocks"},
    {"train_loss", direction::minimize,
     "mean loss over a block's training images, mean over the blocks"},
  };
  for (int block = 0; block < most_blocks; ++block) {
    const auto number = std::to_string(block);
    x.metrics.push_back(
      {"val_accuracy_block_" + number, direction::maximize,
       "val_accuracy of block " + number + ", if there are as many"});
    x.metrics.push_back(
      {"val_loss_block_" + number, direction::minimize,
       "val_loss of block " + number + ", if there are as many"});
  }
  auto predictor =
    words("predictor", {"last", "mm", "mc"}, "mm",
          "model of a block: the shared one (federated averaging), its mean "
          "over the block's rounds (MM-PSGD), or the mean of the better of "
          "this and of one trained on the block alone (MC-PSGD)");
  auto sync_every =
    integer("sync_every", 10, 1, 60000,
            "updates of a client from one mean over the clients to the next");
  for (auto* each : {&predictor, &sync_every}) {
    each->affects_speed = true;
    x.hyper_parameters.push_back(std::move(*each));
  }
  x.options.push_back(integer("data.blocks", 2, 1, most_blocks,
                              "blocks of a cycle, which split the classes"));
  x.options.push_back(
    proper_share("data.held_out", 0.01,
                 "share of a block's training images that no client has: they "
                 "decide which of two models is better"));
  x.options.push_back(
    number("data.skew", 0, 0, 1,
           "share of a block's training images that clients have by class"));
  return x;
}

/// The most nodes of a graph.
constexpr double most_nodes = 1000000;

std::vector<parameter_descriptor> graph_options() {
  return {
    words("data.set", {"fashion-neighbours", "sbm"}, "sbm",
          "the graph: images of Fashion-MNIST with edges to the 10 nearest, or "
          "a stochastic block model, which is made of the seed"),
    integer("data.classes", 4, 2, 100, "sbm: blocks, which are the classes"),
    text("data.folder", "/usr/share/datasets/fashion-mnist",
         "fashion-neighbours: folder of the Fashion-MNIST files, plain or "
         "gzipped"),
    fraction("data.between", 0.002,
             "sbm: probability of an edge between two classes"),
    integer("data.nodes", 2000, 2, most_nodes, "sbm: nodes of the graph"),
    number("data.noise", 1, 0, 100,
           "sbm: standard deviation of the noise of features, which are 1 for "
           "the class and 0 for the others"),
    integer("data.train", 1000, 1, most_nodes, "nodes whose labels are known"),
    integer("data.validation", 500, 1, most_nodes, "nodes to measure on"),
    fraction("data.within", 0.02, "sbm: probability of an edge within a class"),
    integer("hidden", 64, 1, 4096, "features of a hidden layer"),
    text("inference", "all",
         "neighbours that are read to measure: all, or as fanouts"),
    integer("layers", 2, 1, 8, "layers of the network"),
    integer("seed", 1, 0, 999999999999,
            "decides initial weights, data order, neighbours, dropout and sbm"),
  };
}

/// GraphSAGE, whose batches are drawn from a graph.
workload_descriptor graph_workload() {
  const auto infinity = std::numeric_limits<double>::infinity();
  workload_descriptor x;
  x.name = "graph-sage";
  x.version = built_in_version;
  x.meaning =
    "nodes of a graph with GraphSAGE, from neighbours that are drawn; "
    "by default without data files";
  x.metrics = {
    {"val_accuracy", direction::maximize,
     "share of validation nodes that are classified right"},
    {"val_loss", direction::minimize,
     "mean cross-entropy over the validation nodes"},
    {"train_loss", direction::minimize,
     "mean training loss over the last epoch; ln classes before the first"},
  };
  auto fanouts =
    text("fanouts", "10,5",
         "neighbours that are drawn for each layer, from the nodes of a batch "
         "outwards: numbers or all, or all for every layer");
  fanouts.affects_speed = true;
  x.hyper_parameters = {
    learning_rate(0.01),
    batch_size(128, most_nodes, "nodes of an iteration; at most data.train"),
    optimizer("adamw"),
    fraction("momentum", 0.9, "momentum of sgd, beta1 of adamw"),
    fraction("beta2", 0.999, "decay of adamw's second moment"),
    number("weight_decay", 0.0005, 0, infinity,
           "L2 penalty of sgd, decoupled decay of adamw"),
    fraction("dropout", 0.3, "share of hidden activations dropped"),
    std::move(fanouts),
  };
  x.options = graph_options();
  x.averages = true;
  return x;
}

/// The features before the last layer of a network, which are dropped.
double features_of(const std::string& network) {
  return network == "wrn16-4" ? 256 : network == "mobilenetv2" ? 1280 : 64;
}

workload_descriptor cifar(const std::string& network, std::string meaning) {
  auto x = image_workload(
    "cifar-" + network, std::move(meaning),
    of_one_set({"/usr/share/datasets/cifar",
                "folder in which the archive with the binary files was "
                "unpacked, or of the files, plain or gzipped; not used by "
                "synthetic",
                50000, 45000, 5000, "classes", {}, {}}),
    {0.1, 128, 0.0001, 0});
  add_subnetworks(x, features_of(network));
  add_augmentation(x, 4, 16);
  add_cutout(x, 16);
  x.options.insert(
    x.options.begin(),
    words("data.set", {"cifar10", "cifar100", "synthetic"}, "cifar10",
          "images; synthetic: 10 classes of made ones, without files"));
  return x;
}

/// The smallest side of images in a folder: augmentation moves by less.
constexpr double smallest_side = 32;

workload_descriptor folder(const std::string& network, std::string meaning) {
  auto x = image_workload(
    "folder-" + network, std::move(meaning),
    {"/usr/share/datasets/imagenette",
     "folder with train/CLASS/*.jpg and val/CLASS/*.jpg, as ImageNet's", 2e6,
     9469, 3925, "classes", "so many of train, whatever their class",
     "so many of val"},
    {0.1, 64, 0.0001, 0});
  add_subnetworks(x, features_of(network));
  add_augmentation(x, 4, smallest_side - 1);
  add_cutout(x, 256);
  x.options.insert(x.options.begin() + 1,
                   integer("data.side", 64, smallest_side, 512,
                           "height and width in pixels to which the square in "
                           "the middle of an image is scaled"));
  return x;
}

workload_descriptor span(std::string name, std::string meaning,
                         const span_defaults& defaults) {
  workload_descriptor x;
  x.name = std::move(name);
  x.version = built_in_version;
  x.meaning = std::move(meaning);
  x.metrics = {
    {"val_exact", direction::maximize,
     "share of validation questions answered with just the right words"},
    {"val_f1", direction::maximize,
     "F1 of the words of an answer, mean over the validation questions"},
    {"val_loss", direction::minimize,
     "mean cross-entropy of begin and end over the validation windows"},
    {"train_loss", direction::minimize,
     "mean training loss over the last epoch; ln data.length before the "
     "first"},
  };
  x.hyper_parameters = span_hyper_parameters(defaults.lr);
  x.options = span_options(defaults);
  x.averages = true;
  return x;
}

/// The most impressions that are read; 4 GB of memory hold 25 million.
constexpr double most_impressions = 1e8;

/// A click model whose dense networks several parts train.
workload_descriptor clicks() {
  const auto infinity = std::numeric_limits<double>::infinity();
  workload_descriptor x;
  x.name = "clicks-dlrm";
  x.version = built_in_version;
  x.unit = "step";
  x.meaning = "clicks on advertisements with DLRM; by default without data "
              "files, a step takes a second";
  x.metrics = {
    {"val_auc", direction::maximize,
     "chance that a clicked validation impression is scored above another"},
    {"val_loss", direction::minimize,
     "mean cross-entropy over the validation impressions (log loss)"},
    {"train_loss", direction::minimize,
     "mean training loss over the last step; ln 2 before the first"},
  };
  auto batch = batch_size(128, most_impressions,
                          "impressions of a part in an iteration; those of all "
                          "parts are at most data.step");
  batch.max_option = "data.step";
  auto sync = words("sync", {"step", "average", "elastic", "bmuf"}, "step",
                    "how parts come to one model: by each gradient, by the "
                    "mean of weights, by a centre, by a centre with momentum");
  sync.affects_speed = true;
  auto lag = integer("sync_lag", 0, 0, 1e6,
                     "iterations until weights that were exchanged arrive; at "
                     "most sync_every");
  lag.max_parameter = "sync_every";
  x.hyper_parameters = {
    learning_rate(0.2),
    number("embedding_lr", 10, 0, infinity,
           "learning rate of the embedding tables, which have plain sgd"),
    std::move(batch),
    optimizer("sgd"),
    fraction("momentum", 0, "momentum of sgd, beta1 of adamw"),
    fraction("beta2", 0.999, "decay of adamw's second moment"),
    number("weight_decay", 0, 0, infinity,
           "L2 penalty of sgd, decoupled decay of adamw; not of embeddings"),
    std::move(sync),
    integer("sync_every", 30, 1, 1e6,
            "iterations from one exchange of weights to the next"),
    std::move(lag),
    number("sync_alpha", 0.5, 0, 1,
           "share of the way to each other that weights go"),
    fraction("sync_momentum", 0, "momentum of the centre with bmuf"),
  };
  auto parts = integer("parts", 1, 1, 64,
                       "parts with networks of their own, which share the "
                       "embedding tables; a power of two");
  parts.divides = 64;
  x.options = {
    words("data.set", {"synthetic", "criteo"}, "synthetic",
          "impressions of a made log, or of Criteo's"),
    text("data.file", "/usr/share/datasets/criteo/train.txt",
         "Criteo's train.txt; not used by synthetic"),
    integer("data.train", 200000, 1, most_impressions,
            "impressions to train on: the first"),
    integer("data.validation", 20000, 1, most_impressions,
            "impressions to measure on: the next"),
    integer("data.step", 10000, 1, most_impressions,
            "impressions of a step, in their order; at most data.train"),
    integer("data.rows", 1000, 2, 1e7,
            "rows of each of the 26 embedding tables, to which categories are "
            "hashed"),
    integer("dimension", 16, 1, 1024, "length of an embedding"),
    integer("hidden", 64, 1, 4096, "width of hidden layers"),
    std::move(parts),
    numerics_option(),
    integer("seed", 1, 0, 999999999999, "decides initial weights"),
  };
  return x;
}

/// The version of the interface to the processes that train for the next ones.
constexpr const char* process_version = "process 1";

workload_descriptor open_workload(std::string name, std::string meaning) {
  workload_descriptor x;
  x.name = std::move(name);
  x.version = process_version;
  x.meaning = std::move(meaning);
  x.unit = "step";
  x.open = true;
  x.averages = x.name != files_workload;
  return x;
}

} // namespace

const std::vector<workload_descriptor>& built_in_workloads() {
  static const std::vector<workload_descriptor> result{
    fashion("fashion-mlp",
            "Fashion-MNIST with two hidden layers of 128; an epoch takes "
            "seconds",
            128, false),
    fashion("fashion-mlp-wide",
            "Fashion-MNIST with four hidden layers of 1024; an epoch takes "
            "a minute",
            1024, false),
    fashion("fashion-cnn",
            "Fashion-MNIST with two 3x3 convolutions, batch normalisation and "
            "augmentation",
            1568, true),
    fashion("fashion-resnet",
            "Fashion-MNIST with ResNet-20 and augmentation; an epoch takes "
            "minutes",
            64, true),
    linear("fashion-linear",
           "Fashion-MNIST with a linear model, trained by a server whose "
           "machines have the images; an epoch takes seconds",
           0.0005, linear_image_options(), "images"),
    cyclic(),
    linear("csv-linear",
           "a CSV file with a linear model, trained by a server whose machines "
           "have the rows",
           0.01, csv_options(), "rows"),
    graph_workload(),
    cifar("resnet20", "CIFAR with ResNet-20"),
    cifar("resnet32", "CIFAR with ResNet-32"),
    cifar("resnet44", "CIFAR with ResNet-44"),
    cifar("resnet56", "CIFAR with ResNet-56"),
    cifar("resnet110", "CIFAR with ResNet-110"),
    cifar("wrn16-4", "CIFAR with the wide residual network WRN-16-4"),
    cifar("mobilenetv2", "CIFAR with MobileNetV2"),
    folder("resnet20", "JPEG files in folders with ResNet-20"),
    folder("resnet56", "JPEG files in folders with ResNet-56"),
    folder("wrn16-4", "JPEG files in folders with WRN-16-4"),
    folder("mobilenetv2", "JPEG files in folders with MobileNetV2"),
    span("squad-bert-tiny",
         "questions about passages with a BERT of 2 layers of 128; by default "
         "without data files",
         {.set = "synthetic",
          .vocabulary = 1024,
          .training = 2000,
          .validation = 500,
          .length = 64,
          .stride = 32,
          .lr = 0.001}),
    span("squad-bert-base",
         "SQuAD 1.1 with BERT-Base (12 layers of 768); an epoch needs a GPU",
         {.set = "squad",
          .vocabulary = 30522,
          .training = 87599,
          .validation = 10570,
          .length = 384,
          .stride = 128,
          .lr = 0.00005}),
    clicks(),
    open_workload(python_workload, "a Python class that the study brings"),
    open_workload(command_workload,
                  "a program that the study names, which answers messages"),
    open_workload(files_workload,
                  "a program that the study names, which reads and writes "
                  "files"),
  };
  return result;
}

} // namespace hippo

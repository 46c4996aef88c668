#include "hippo/model/paper_workloads.hpp"

#include <limits>
#include <string>
#include <utility>

#include "hippo/model/parameter_makers.hpp"
#include "hippo/model/sync.hpp"

namespace hippo {

namespace {

using namespace describe;

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
    words("data.set", {"csr", "fashion-neighbours", "planetoid", "sbm"}, "sbm",
          "the graph: compressed sparse rows in files of NumPy, images of "
          "Fashion-MNIST with edges to the 10 nearest, a citation network in "
          "Planetoid's text files, or a stochastic block model, which is made "
          "of the seed"),
    integer("data.classes", 4, 2, 100, "sbm: blocks, which are the classes"),
    text("data.folder", "/usr/share/datasets/fashion-mnist",
         "folder of the files: of Fashion-MNIST, plain or gzipped; indptr.npy, "
         "indices.npy, features.npy and labels.npy; or *.content and *.cites"),
    text("data.sha256", "",
         "csr and planetoid: SHA-256 of these files one after another, which "
         "is a part of the key"),
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
    integer("layers", 2, 1, 8, "layers of the network"),
    integer("seed", 1, 0, 999999999999,
            "decides initial weights, data order, neighbours, dropout and sbm"),
  };
}

/// GraphSAGE, without what is particular to a way to train it.
workload_descriptor graph_workload(std::string name, std::string meaning) {
  const auto infinity = std::numeric_limits<double>::infinity();
  workload_descriptor x;
  x.name = std::move(name);
  x.version = built_in_version;
  x.meaning = std::move(meaning);
  x.metrics = {
    {"val_accuracy", direction::maximize,
     "share of validation nodes that are classified right"},
    {"val_loss", direction::minimize,
     "mean cross-entropy over the validation nodes"},
    {"train_loss", direction::minimize,
     "mean training loss over the last epoch; ln classes before the first"},
  };
  x.hyper_parameters = {
    learning_rate(0.01),
    optimizer("adamw"),
    fraction("momentum", 0.9, "momentum of sgd, beta1 of adamw"),
    fraction("beta2", 0.999, "decay of adamw's second moment"),
    number("weight_decay", 0.0005, 0, infinity,
           "L2 penalty of sgd, decoupled decay of adamw"),
    fraction("dropout", 0.3, "share of hidden activations dropped"),
  };
  x.options = graph_options();
  x.averages = true;
  return x;
}

/// GraphSAGE, whose batches are drawn from a graph.
workload_descriptor batches_of_graph() {
  auto x = graph_workload("graph-sage",
                          "nodes of a graph with GraphSAGE, from neighbours "
                          "that are drawn; by default without data files");
  auto fanouts =
    text("fanouts", "10,5",
         "neighbours that are drawn for each layer, from the nodes of a batch "
         "outwards: numbers or all, or all for every layer");
  fanouts.affects_speed = true;
  x.hyper_parameters.push_back(
    batch_size(128, most_nodes, "nodes of an iteration; at most data.train"));
  x.hyper_parameters.push_back(std::move(fanouts));
  x.options.push_back(
    text("inference", "all",
         "neighbours that are read to measure: all, or as fanouts"));
  return x;
}

/// GraphSAGE, which is trained on a whole graph in parts.
workload_descriptor parts_of_graph() {
  auto x = graph_workload(
    "graph-sage-full", "nodes of a graph with GraphSAGE, trained on the "
                       "whole graph in parts; by default without data files");
  x.hyper_parameters.push_back(
    integer("delay", 1, 0, 1000,
            "epochs that sums of neighbours take from one part to another; 1: "
            "sums of the same epoch are used, 0: parts exchange none"));
  x.options.push_back(
    integer("parts", 4, 1, 64, "parts that the edges are placed in"));
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
  auto sync = words(sync_name, sync_words(), "step",
                    "how parts come to one model: by each gradient, by the "
                    "mean of weights, by a centre, by a centre with momentum");
  sync.affects_speed = true;
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
  };
  for (auto& each : sync_parameters())
    x.hyper_parameters.push_back(std::move(each));
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

} // namespace

std::vector<workload_descriptor> paper_workloads() {
  return {
    linear("fashion-linear",
           "Fashion-MNIST with a linear model, trained by a server whose "
           "machines have the images; an epoch takes seconds",
           0.0005, linear_image_options(), "images"),
    cyclic(),
    linear("csv-linear",
           "a CSV file with a linear model, trained by a server whose machines "
           "have the rows",
           0.01, csv_options(), "rows"),
    batches_of_graph(),
    parts_of_graph(),
    clicks(),
  };
}

} // namespace hippo

// The catalogue of the workloads that come with Hippo.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hippo/model/paper_workloads.hpp"
#include "hippo/model/parameter_makers.hpp"
#include "hippo/model/parts.hpp"
#include "hippo/model/subnetworks.hpp"
#include "hippo/model/sync.hpp"
#include "hippo/model/workload_descriptor.hpp"

namespace hippo {

namespace {

using namespace describe;

/// Specs of one part leave the option out, as did those of before it was there.
parameter_descriptor parts() {
  auto x = integer(parts_option, 1, 1, parts_max,
                   "parts of a batch, each with gradients, statistics and "
                   "dropout of its own, which several devices may compute; a "
                   "power of two, at most batch_size");
  x.divides = parts_max;
  x.left_out = true;
  return x;
}

/// Specs of one model leave it out, as did those of before it was there.
parameter_descriptor sync() {
  auto x = words(sync_name, sync_words(), sync_words().front(),
                 "how parts come to one model: by each gradient; or each has "
                 "weights of its own, which are exchanged: by their mean, by a "
                 "centre, by a centre with momentum");
  x.left_out = true;
  x.only_option = parts_option;
  return x;
}

/// @param examples plural of one
parameter_descriptor batch_of_parts(double fallback, double max,
                                    const std::string& examples) {
  auto x = batch_size(fallback, max,
                      examples + " of an iteration; at most data.train");
  x.min_option = parts_option;
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
    parts(),
    precision(),
    integer("seed", 1, 0, 999999999999,
            "decides initial weights, data order, augmentation and dropout"),
    sync(),
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
    batch_of_parts(defaults.batch_size, images.count, "images"),
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

/// Appends the hyper-parameters of exchanges. Configurations leave them out
/// where they have their defaults: the keys of before they were there stay.
void add_sync(workload_descriptor& x) {
  for (auto& each : sync_parameters()) {
    each.left_out = true;
    each.only_option = sync_name;
    x.hyper_parameters.push_back(std::move(each));
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
    parts(),
    precision(),
    integer("seed", 1, 0, 999999999999,
            "decides initial weights, data order and dropout"),
    sync(),
  };
}

std::vector<parameter_descriptor> span_hyper_parameters(double lr) {
  const auto infinity = std::numeric_limits<double>::infinity();
  return {
    learning_rate(lr),
    batch_of_parts(32, most_windows, "windows"),
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
  add_sync(x);
  x.options = image_options(images);
  x.averages = true;
  return x;
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
  add_sync(x);
  x.options = span_options(defaults);
  x.averages = true;
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
  static const auto result = [] {
    std::vector<workload_descriptor> all{
      fashion("fashion-mlp",
              "Fashion-MNIST with two hidden layers of 128; an epoch takes "
              "seconds",
              128, false),
      fashion("fashion-mlp-wide",
              "Fashion-MNIST with four hidden layers of 1024; an epoch takes "
              "a minute",
              1024, false),
      fashion(
        "fashion-cnn",
        "Fashion-MNIST with two 3x3 convolutions, batch normalisation and "
        "augmentation",
        1568, true),
      fashion("fashion-resnet",
              "Fashion-MNIST with ResNet-20 and augmentation; an epoch takes "
              "minutes",
              64, true),
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
      span(
        "squad-bert-tiny",
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
    };
    for (auto& each : paper_workloads())
      all.push_back(std::move(each));
    all.push_back(
      open_workload(python_workload, "a Python class that the study brings"));
    all.push_back(
      open_workload(command_workload,
                    "a program that the study names, which answers messages"));
    all.push_back(open_workload(
      files_workload, "a program that the study names, which reads and writes "
                      "files"));
    return all;
  }();
  return result;
}

} // namespace hippo

// Graphs in files: compressed sparse rows of NumPy, Planetoid's text.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hippo/model/code/sha256.hpp"
#include "hippo/train/torch/data/npy_array.hpp"
#include "hippo/train/torch/graph/graph_files.hpp"
#include "hippo/train/workload.hpp"
#include "train/message_of.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {
namespace {

/// A file of NumPy's format, version 1.
std::string npy(const std::string& type, const std::string& shape,
                const std::string& numbers,
                const std::string& order = "False") {
  auto header = "{'descr': '" + type + "', 'fortran_order': " + order
                + ", 'shape': (" + shape + "), }";
  while ((10 + header.size() + 1) % 64 != 0)
    header += ' ';
  header += '\n';
  std::string result{"\x93NUMPY\x01\x00", 8};
  result += static_cast<char>(header.size() % 256);
  result += static_cast<char>(header.size() / 256);
  return result + header + numbers;
}

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()),
          numbers.size() * sizeof(Number)};
}

std::string refusal_of(const std::string& bytes) {
  return message_of<std::invalid_argument>([&] { npy_array(bytes, "a.npy"); });
}

TEST(NpyArray, ReadsWhatNumpyWrites) {
  const auto floats =
    npy_array(npy("<f4", "2, 3", bytes_of<float>({1, 2, 3, 4, 5, 6})), "a.npy");
  EXPECT_TRUE(
    floats.equal(at::tensor({1, 2, 3, 4, 5, 6}, at::kFloat).view({2, 3})));
  const auto whole_numbers =
    npy_array(npy("<i8", "2,", bytes_of<std::int64_t>({-1, 7})), "a.npy");
  EXPECT_TRUE(whole_numbers.equal(at::tensor({-1, 7}, at::kLong)));
  EXPECT_EQ(npy_array(npy("<i4", "0,", ""), "a.npy").numel(), 0);
  // Version 2 has a longer length.
  auto later = npy("<f8", "1,", bytes_of<double>({0.5}));
  later[6] = 2;
  later.insert(10, 2, '\0');
  EXPECT_EQ(npy_array(later, "a.npy").item<double>(), 0.5);
}

TEST(NpyArray, SaysWhatIsWrong) {
  const auto numbers = bytes_of<float>({1, 2, 3, 4});
  EXPECT_EQ(refusal_of("PK\x03\x04 no array"),
            "a.npy: no file of NumPy's format .npy");
  EXPECT_EQ(refusal_of(npy("<f4", "2, 2", numbers).substr(0, 40)),
            "a.npy: the header ends behind the end of the file");
  EXPECT_EQ(refusal_of(npy("<f4", "2, 3", numbers)),
            "a.npy: has 4 numbers, and its shape is (2, 3)");
  EXPECT_EQ(
    refusal_of(npy("<f4", "9223372036854775807, 9223372036854775807", numbers)),
    "a.npy: has 4 numbers, and its shape is (9223372036854775807, "
    "9223372036854775807)");
  EXPECT_EQ(refusal_of(npy("<f4", "2, 2", numbers, "True")),
            "a.npy: the array lies column by column (fortran_order), not row "
            "by row");
  EXPECT_EQ(refusal_of(npy(">f4", "2, 2", numbers)),
            "a.npy: numbers of type '>f4', not of float32, float64, int32 or "
            "int64");
  EXPECT_EQ(refusal_of(npy("<f4", "2; 2", numbers)),
            "a.npy: a header without a plain type, order and shape");
}

/// Compressed sparse rows: nodes 0 to 3 in a ring.
struct csr_files {
  temporary_folder folder;
  std::string indptr =
    npy("<i8", "5,", bytes_of<std::int64_t>({0, 2, 4, 6, 8}));
  std::string indices =
    npy("<i4", "8,", bytes_of<std::int32_t>({1, 3, 0, 2, 1, 3, 0, 2}));
  std::string features =
    npy("<f8", "4, 2", bytes_of<double>({1, 2, 3, 4, 5, 6, 7, 8}));
  std::string labels = npy("<i8", "4,", bytes_of<std::int64_t>({0, 2, 1, 0}));

  /// Writes them. @returns a spec that names them
  workload_spec spec(double training = 2, double validation = 1) const {
    write_file(folder.path + "/indptr.npy", indptr);
    write_file(folder.path + "/indices.npy", indices);
    write_file(folder.path + "/features.npy", features);
    write_file(folder.path + "/labels.npy", labels);
    auto result = small_spec("graph-sage");
    result.options["data.set"] = "csr";
    result.options["data.folder"] = folder.path;
    result.options["data.sha256"] =
      sha256_of(indptr + indices + features + labels);
    result.options["data.train"] = training;
    result.options["data.validation"] = validation;
    return result;
  }

  std::string refusal() const {
    auto text = message_of<std::invalid_argument>([&] { read_csr(spec()); });
    for (std::size_t at; (at = text.find(folder.path + '/')) != text.npos;)
      text.erase(at, folder.path.size() + 1);
    return text;
  }
};

TEST(GraphFiles, CompressedSparseRows) {
  const csr_files files;
  const auto data = read_csr(files.spec());
  EXPECT_EQ(data.edges.nodes(), 4);
  const auto of = data.edges.of(2);
  EXPECT_EQ(std::vector<std::uint32_t>(of.begin(), of.end()),
            (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(data.width, 2);
  EXPECT_EQ(data.features, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(data.labels, (std::vector<std::uint32_t>{0, 2, 1, 0}));
  EXPECT_EQ(data.classes, 3);
  EXPECT_EQ(data.training, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(data.validation, (std::vector<std::uint32_t>{3}));
}

TEST(GraphFiles, WrongRowsSayWhatIsWrong) {
  {
    csr_files files;
    files.indptr = npy("<i8", "5,", bytes_of<std::int64_t>({0, 4, 2, 6, 8}));
    EXPECT_EQ(files.refusal(),
              "graph: row 1 begins at 4 and ends at 2: offsets "
              "must not fall");
  }
  {
    csr_files files;
    files.indices =
      npy("<i4", "8,", bytes_of<std::int32_t>({1, 3, 0, 2, 1, 4, 0, 2}));
    EXPECT_EQ(files.refusal(),
              "graph: an edge leads from node 2 to node 4, which is not there: "
              "the nodes are 0 to 3");
    files.indices =
      npy("<i4", "8,", bytes_of<std::int32_t>({1, 3, 0, 2, 1, -1, 0, 2}));
    EXPECT_EQ(files.refusal(),
              "indices.npy: number 5 is -1: must be at least 0");
    files.indices = npy("<f4", "8,", bytes_of<float>({1, 3, 0, 2, 1, 3, 0, 2}));
    EXPECT_EQ(files.refusal(), "indices.npy: must be one row of whole numbers");
  }
  {
    csr_files files;
    files.features =
      npy("<f8", "2, 4", bytes_of<double>({1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(files.refusal(), "features.npy: must be 4 nodes x features, as "
                               "the graph has nodes");
    files.features =
      npy("<f8", "4, 2", bytes_of<double>({1, 2, 3, 4, 5, NAN, 7, 8}));
    EXPECT_EQ(files.refusal(),
              "features.npy: a feature of node 2 is no finite number");
  }
  {
    csr_files files;
    files.labels = npy("<i8", "3,", bytes_of<std::int64_t>({0, 2, 1}));
    EXPECT_EQ(files.refusal(),
              "labels.npy: has 3 classes, and the graph 4 nodes");
    files.labels = npy("<i8", "4,", bytes_of<std::int64_t>({0, 0, 0, 0}));
    EXPECT_EQ(files.refusal(),
              "labels.npy: has 1 classes: must be from 2 to 1000");
  }
}

TEST(GraphFiles, ContentIsAPartOfTheKey) {
  const csr_files files;
  auto spec = files.spec();
  spec.options["data.sha256"] = std::string(64, 'a');
  const auto said = message_of<std::invalid_argument>([&] { read_csr(spec); });
  EXPECT_NE(said.find("labels.npy together have "), said.npos) << said;
  EXPECT_NE(said.find(", the study says aaaa"), said.npos) << said;
  EXPECT_NE(
    message_of<std::invalid_argument>([&] { read_csr(files.spec(4, 1)); })
      .find("data.train 4 and data.validation 1 are more than the 4 "
            "nodes of "),
    std::string::npos);
  const temporary_folder empty;
  spec.options["data.folder"] = empty.path;
  EXPECT_NE(message_of<missing_data_error>([&] {
              read_csr(spec);
            }).find("data.folder: "),
            std::string::npos);
}

/// A citation network: four papers, and a citation that is there twice.
struct planetoid_files {
  temporary_folder folder;
  std::string content = "p1 1 0 theory\np2\t0\t1\tagents\np3 0 0.5 theory\n"
                        "p4 1 1 agents\n";
  std::string cites = "p1 p2\np2\tp1\np3 p1\np4 p4\n";

  workload_spec spec() const {
    write_file(folder.path + "/cora.content", content);
    write_file(folder.path + "/cora.cites", cites);
    auto result = small_spec("graph-sage");
    result.options["data.set"] = "planetoid";
    result.options["data.folder"] = folder.path;
    result.options["data.sha256"] = sha256_of(content + cites);
    result.options["data.train"] = 3.0;
    result.options["data.validation"] = 1.0;
    return result;
  }

  std::string refusal() const {
    const auto text =
      message_of<std::invalid_argument>([&] { read_planetoid(spec()); });
    return text.substr(text.find("cora."));
  }
};

TEST(GraphFiles, CitationNetworks) {
  const planetoid_files files;
  const auto data = read_planetoid(files.spec());
  EXPECT_EQ(data.width, 2);
  EXPECT_EQ(data.features, (std::vector<float>{1, 0, 0, 1, 0, 0.5, 1, 1}));
  EXPECT_EQ(data.classes, 2);
  EXPECT_EQ(data.labels, (std::vector<std::uint32_t>{1, 0, 1, 0}));
  const auto neighbours = [&](std::uint32_t node) {
    const auto all = data.edges.of(node);
    return std::vector<std::uint32_t>(all.begin(), all.end());
  };
  EXPECT_EQ(neighbours(0), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(neighbours(1), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(neighbours(3), (std::vector<std::uint32_t>{}));
}

TEST(GraphFiles, WrongCitationNetworksSayWhere) {
  planetoid_files files;
  files.cites += "p5 p1\n";
  EXPECT_NE(files.refusal().find("cora.cites:5: an edge to node 'p5', which is "
                                 "not in "),
            std::string::npos);
  files.cites = "p1\n";
  EXPECT_EQ(files.refusal(),
            "cora.cites:1: has 1 fields: must be the names of two nodes");
  files.cites = "";
  files.content += "p1 0 0 theory\n";
  EXPECT_EQ(files.refusal(),
            "cora.content:5: node 'p1' is there a second time");
  files.content = "p1 1 0 theory\np2 1 theory\n";
  EXPECT_EQ(files.refusal(),
            "cora.content:2: has 3 fields: must be a name, features and a "
            "class, as many as the first line's 4");
  files.content = "p1 1 x theory\n";
  EXPECT_EQ(files.refusal(),
            "cora.content:1: feature 2 must be a finite number, found 'x'");
  files.content = "p1 1 0 theory\n";
  EXPECT_EQ(files.refusal(),
            "cora.content: has 1 classes: must be from 2 to 1000");
  write_file(files.folder.path + "/other.cites", "");
  EXPECT_NE(message_of<missing_data_error>([&] {
              read_planetoid(files.spec());
            }).find("has 2 files *.cites: give a folder with one"),
            std::string::npos);
}

TEST(GraphFiles, AreTrainedOn) {
  const csr_files files;
  const auto work = make_built_in(files.spec(3, 1));
  auto config = default_configuration("graph-sage");
  config["batch_size"] = form::constant(2);
  work->init();
  work->train(config, 0, 3);
  EXPECT_LT(work->evaluate().at("train_loss"), 3);
}

} // namespace
} // namespace hippo

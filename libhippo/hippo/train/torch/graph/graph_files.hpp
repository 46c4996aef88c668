#pragma once

#include "hippo/model/workload_spec.hpp"
#include "hippo/train/torch/graph/graph_data.hpp"

namespace hippo {

/// Reads a graph as compressed sparse rows from `data.folder`: `indptr.npy` and
/// `indices.npy` (as SciPy's `csr_matrix` has them), `features.npy` (nodes x
/// features) and `labels.npy`. The digest `data.sha256` is that of these files,
/// in this order.
/// Throws `missing_data_error` without them, and `std::invalid_argument` with
/// the file and the right form for others.
graph_data read_csr(const workload_spec& spec);

/// Reads a graph from the text files of Planetoid's citation networks, the one
/// `*.content` (a line for each node: its name, features, class) and the one
/// `*.cites` (two names) of `data.folder`; the digest is that of both, in this
/// order. Citations are edges in both directions; several of the same two nodes
/// are one, and a node has none to itself. Throws as `read_csr`.
graph_data read_planetoid(const workload_spec& spec);

} // namespace hippo

@0xc539d6293e1615b7;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");

@0xc77b3fe271a0ed65;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");

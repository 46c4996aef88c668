@0xcbb7d4dc10b110fa;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");

#pragma once

#include "hippo/net/wire/complaint.hpp"
#include "hippo/sequence/form.hpp"
#include "sequence.capnp.h"

namespace hippo {

schema::ValueType to_schema(value_type value);

void put_form(schema::Form::Builder out, const form& form);

/// Reads a form. @returns false after noting why it is refused
bool get_form(schema::Form::Reader in, form& out, complaint& why);

} // namespace hippo

"""Printers of gdb for ids, forms and sequences: `gdb -x scripts/gdb-printers.py
PROGRAM`, or `source scripts/gdb-printers.py` in gdb.

    (gdb) print lease
    $1 = lease 7
    (gdb) print lr
    $2 = 0: 0.1, 8: exp(0.1,0.9)@8
"""

import gdb
import gdb.printing
import gdb.types

# Ids by their type, see base/ids.hpp.
IDS = {"hippo::trainer_id": "trainer", "hippo::lease_id": "lease",
       "hippo::study_id": "study", "hippo::node_id": "node",
       "hippo::trial_id": "trial of the plan",
       "hippo::study_no": "study of the plan"}

# Forms as `to_text` of sequence/form.hpp writes them: name, count of numbers.
FORMS = {"exponential": ("exp", 2), "polynomial": ("poly", 4),
         "cosine": ("cos", 3), "line": ("line", 3), "rex": ("rex", 4),
         "fading_ramp": ("fade", 5), "square_root": ("sqrt", 3),
         "inverse_root": ("rsqrt", 2)}


def text_of(value):
    """A std::string."""
    data, size = value["_M_dataplus"]["_M_p"], int(value["_M_string_length"])
    return data.string(length=size)


def form_text(form):
    numbers = form["a"]["_M_elems"]
    kind = str(form["kind"]).rpartition("::")[2]
    mark = {"whole": "int:", "truth": "bool:", "json": "json:"}.get(
        str(form["type"]).rpartition("::")[2], "")
    if kind == "text":
        return mark + text_of(form["word"])
    if kind == "constant":
        return mark + f"{float(numbers[0]):.12g}"
    name, count = FORMS[kind]
    inside = ",".join(f"{float(numbers[i]):.12g}" for i in range(count))
    return f"{mark}{name}({inside})@{int(form['origin'])}"


def piece_text(piece):
    return f"{int(piece['begin'])}: {form_text(piece['shape'])}"


def sequence_text(sequence):
    vector = sequence["pieces_"]["_M_impl"]
    first, last = vector["_M_start"], vector["_M_finish"]
    return ", ".join(piece_text(first[i]) for i in range(last - first))


class Printer:
    def __init__(self, text):
        self.to_string = text


TEXTS = {"hippo::form": form_text, "hippo::piece": piece_text,
         "hippo::sequence": sequence_text}


def printer_of(value):
    name = gdb.types.get_basic_type(value.type).name
    if name in IDS:
        return Printer(lambda: f"{IDS[name]} {int(value)}")
    if name in TEXTS:
        return Printer(lambda: TEXTS[name](value))
    return None


printer_of.name, printer_of.enabled = "hippo", True
gdb.printing.register_pretty_printer(None, printer_of, replace=True)

#!/usr/bin/env python3
"""Records what the reference implementation of BERT computes.

usage: bert.py FOLDER

Makes transformers' BertForQuestionAnswering in two sizes, fills its weights
with numbers that bert_test.cpp makes as well (hippo/train/torch/random.hpp, at
the address of the parameter), and writes down logits, loss and gradients for
fixed inputs; parameter counts also of BERT-Base; and the word pieces that
transformers' BertTokenizer makes of texts that are hard to split: FOLDER's
bert.json. Its dict.pt and ordered_dict.pt are what torch.save makes of a small
module's state_dict(), as a plain dict and as it is.

To run it again, with CPython 3.11:

    python3 -m venv reference
    reference/bin/pip install torch==2.11.0 transformers==5.23.0
    reference/bin/python bert.py .
"""

import json
import pathlib
import sys

import numpy as np
import torch
import transformers
from transformers import BertConfig, BertForQuestionAnswering, BertTokenizer

STEP = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1

SIZES = {
    "tiny": dict(vocab_size=1024, hidden_size=128, num_hidden_layers=2,
                 num_attention_heads=2, intermediate_size=512,
                 max_position_embeddings=512),
    "odd": dict(vocab_size=53, hidden_size=24, num_hidden_layers=3,
                num_attention_heads=3, intermediate_size=40,
                max_position_embeddings=37),
    "base": dict(vocab_size=30522, hidden_size=768, num_hidden_layers=12,
                 num_attention_heads=12, intermediate_size=3072,
                 max_position_embeddings=512),
}

VOCABULARY = """[PAD] [UNK] [CLS] [SEP] the quick brown fox jump ##s ##ed over
lazy dog un ##aff ##able resume cafe ##s i istanbul straße stras ##se ##e
東 京 中 ! , . ? - ' " ( ) $ % + = ~ ` ^ | < > — “ ” … € € ° 1 2 ##2 19 ##84
e ##cole naive co ##operate a ##a ##aa hello world ##world σ ##ο ##ς ##σ ο
ᄒ ##ᅡ ##ᆫ न ##म ##ि 😀 ##😀 ﬁ ##nd x _ @ # & * / \\ : ; [ ] { } ﷺ ﬀ
ij w ##ö o ##¨ \u01c6 \u00df dz ##\u0327 new york""".split()

TEXTS = [
    "The quick brown FOX jumped over the lazy dogs.",
    "unaffable UNAFFABLE resumes unknownword",
    "Résumé, café — naïve école coöperate",
    "re\u0301sume\u0301 cafe\u0301",
    "İstanbul ISTANBUL ıstanbul",
    "straße STRASSE",
    "東京 中the 京x",
    "hello😀 😀😀 👩‍👩‍👧 hello",
    "a\u0000b hel\u200blo\ufffd wor\u00adld \u202ehello\u0007 a\u000bb\ufeff",
    "new\u00a0york\u2003new\u2028york\tnew\nyork\r\n new\u3000york",
    "a" * 100 + " " + "a" * 101,
    "$1.2% 'x'=\"y\" (a+b)~`^|<>_@#&*/\\:;{}",
    "“hello”… €12 20°",
    "ΣΟΣ σος",
    "한 하 नमि",
    "ﬁnd ﬀ \u01c4 \u01c5 \u1e9e",
    "\u0301\u0301 \u0301",
    "ç x\u20dd \u0903a",
    "",
    " \t ",
    "\ue000the\U000f0000 the\u2060the",
    "1984 122 1\u06612 ½ Ⅷ",
]


def scramble(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def key_of(seed, use, address):
    key = scramble((seed + STEP) & MASK)
    key = scramble(key ^ (use * STEP & MASK))
    for x in address:
        key = scramble((key + (x + 1) * STEP) & MASK)
    return key


def numbers(parameter, size):
    """Numbers of [-1, 1), those at address {parameter} for weights, seed 7."""
    key = key_of(7, 1, [parameter])
    with np.errstate(over="ignore"):
        x = (np.arange(1, size + 1, dtype=np.uint64) * np.uint64(STEP)
             + np.uint64(key))
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
    return 2 * ((x >> np.uint64(11)).astype(np.float64) * 2.0**-53) - 1


def network(name):
    config = BertConfig(**SIZES[name], hidden_act="gelu",
                        hidden_dropout_prob=0, attention_probs_dropout_prob=0,
                        attn_implementation="eager")
    with torch.device("meta" if name == "base" else "cpu"):
        return BertForQuestionAnswering(config)


def fill(model):
    with torch.no_grad():
        for index, (name, x) in enumerate(model.named_parameters()):
            values = numbers(index, x.numel())
            values = (1 + 0.3 * values if name.endswith("LayerNorm.weight")
                      else 0.2 * values)
            x.copy_(torch.from_numpy(values).reshape(x.shape))


def results(name, length, present):
    """One entry of `present` for each input: its tokens that are no padding."""
    model = network(name)
    fill(model)
    model.train()
    vocabulary = SIZES[name]["vocab_size"]
    tokens, segments, mask, starts, ends = [], [], [], [], []
    for i, n in enumerate(present):
        tokens.append([1 + (31 * j * j + 7 * j + 13 * i) % (vocabulary - 1)
                       if j < n else 0 for j in range(length)])
        segments.append([int(n // 3 <= j < n) for j in range(length)])
        mask.append([int(j < n) for j in range(length)])
        starts.append(n // 3 + i)
        ends.append(min(n - 1, n // 3 + 2 * i))
    out = model(input_ids=torch.tensor(tokens),
                token_type_ids=torch.tensor(segments),
                attention_mask=torch.tensor(mask),
                start_positions=torch.tensor(starts),
                end_positions=torch.tensor(ends))
    out.loss.backward()
    gradients = []
    for index, (parameter, x) in enumerate(model.named_parameters()):
        flat = x.grad.double().flatten()
        at = sorted({0, flat.numel() // 3, flat.numel() - 1,
                     int(flat.abs().argmax())})
        weights = torch.from_numpy(numbers(1000 + index, flat.numel()))
        gradients.append({
            "name": parameter,
            "shape": list(x.shape),
            "sum": flat.sum().item(),
            "abs_sum": flat.abs().sum().item(),
            # Any one gradient that is wrong shows in this.
            "projection": (flat * weights).sum().item(),
            "max": flat.abs().max().item(),
            "at": at,
            "values": [flat[i].item() for i in at],
        })
    return {
        "sizes": SIZES[name], "tokens": tokens, "segments": segments,
        "present": list(present), "starts": starts, "ends": ends,
        "start_logits": out.start_logits.tolist(),
        "end_logits": out.end_logits.tolist(),
        "loss": out.loss.item(), "gradients": gradients,
    }


def tokenizer():
    vocabulary = list(dict.fromkeys(VOCABULARY))
    split = BertTokenizer(vocab={x: i for i, x in enumerate(vocabulary)})
    texts = []
    for text in TEXTS:
        made = split(text, add_special_tokens=False,
                     return_offsets_mapping=True)
        texts.append({"text": text, "ids": made["input_ids"],
                      "offsets": made["offset_mapping"]})
    return {"vocabulary": vocabulary, "texts": texts}


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    recorded = {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "parameters": {name: sum(x.numel() for x in network(name).parameters())
                       for name in SIZES},
        "networks": {"tiny": results("tiny", 32, [32, 20, 9]),
                     "odd": results("odd", 19, [19, 7])},
        "tokenizer": tokenizer(),
    }
    (folder / "bert.json").write_text(
        json.dumps(recorded, separators=(",", ":")) + "\n")

    module = torch.nn.Linear(3, 2)
    with torch.no_grad():
        module.weight.copy_(torch.arange(6.0).reshape(2, 3))
        module.bias.fill_(-1)
    torch.save(dict(module.state_dict()), folder / "dict.pt")
    torch.save(module.state_dict(), folder / "ordered_dict.pt")


main()

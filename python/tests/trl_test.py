"""Fine-tuning by TRL as workloads, cut anywhere."""

import dataclasses
import inspect
import os
import random
import tempfile
import unittest
import warnings

import old_torch  # noqa: F401
from exact_resume import ExactResume
from hippo_hpo.workload import HyperParameters
from pages_test import block_with

try:
    import datasets
    import tokenizers
    import transformers
    import trl
    import hippo_hpo.trl
except ImportError:
    trl = None

warnings.simplefilter("ignore")

WORDS = "a b c d e f g h".split()

if trl is not None:
    transformers.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    # Later versions name them as Transformers does.
    TOKENIZER = "processing_class" if "processing_class" in inspect.signature(
        trl.SFTTrainer).parameters else "tokenizer"

    def of_config(kind, names):
        """The length of samples, by the first name that a config has."""
        has = {x.name for x in dataclasses.fields(kind)}
        return {next(x for x in names if x in has): 16}

    def tokenizer():
        names = ["[PAD]", "[END]", "[NEW]", *WORDS]
        model = tokenizers.models.WordLevel(
            {x: i for i, x in enumerate(names)}, unk_token="[NEW]")
        whole = tokenizers.Tokenizer(model)
        whole.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=whole, pad_token="[PAD]", eos_token="[END]",
            bos_token="[NEW]", unk_token="[NEW]", model_max_length=16)

    def text(draw, count):
        return " ".join(draw.choices(WORDS, k=count))

    def made_model(width):
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=3 + len(WORDS), n_positions=32, n_embd=int(width),
            n_layer=1, n_head=2, bos_token_id=2, eos_token_id=1))

    class Tuning:
        given = {}

        def arguments(self):
            return self.config(tempfile.gettempdir(), use_cpu=True,
                               max_grad_norm=0.5, **self.given)

        def model_init(self, constant):
            return made_model(constant("width"))

        def trainer_options(self):
            return {TOKENIZER: tokenizer()}

    class Chat(Tuning, hippo_hpo.trl.SFT):
        config = trl.SFTConfig
        given = {**of_config(config, ["max_length", "max_seq_length"]),
                 "dataset_text_field": "text",
                 "gradient_accumulation_steps": 4}

        def datasets(self):
            draw = random.Random(1)
            return [datasets.Dataset.from_dict({
                "text": [text(draw, 3 + i % 4) for i in range(count)]})
                for count in (20, 8)]

    class Preferring(Tuning, hippo_hpo.trl.DPO):
        config = trl.DPOConfig
        given = {"max_length": 16}

        def datasets(self):
            draw = random.Random(2)
            return [datasets.Dataset.from_dict({
                name: [text(draw, 3) for _ in range(count)]
                for name in ("prompt", "chosen", "rejected")})
                for count in (20, 8)]

    class Synced(Preferring):
        given = {**Preferring.given, "precompute_ref_log_probs": True}

    SFT_METRICS = {"eval_loss"}
    if TOKENIZER == "processing_class":
        SFT_METRICS |= {"eval_entropy", "eval_mean_token_accuracy"}

    class Halved(Preferring):
        given = {**Preferring.given, "bf16": True}
else:
    SFT_METRICS = set()

LR = [0.01, 0.01, 0.005, 0.005, 0.001]
SIZE = [2, 3, 3, 5, 5]


def hp(start, stop, **more):
    return HyperParameters(start, stop, {
        "learning_rate": LR[start:stop], "width": [8],
        "per_device_train_batch_size": SIZE[start:stop], **more})


class Tuned(ExactResume):
    another = {"learning_rate": [0.5], "width": [4]}
    others = {"learning_rate": [*LR[:4], 0.002],
              "per_device_train_batch_size": [*SIZE[:4], 4]}
    hp = staticmethod(hp)


@unittest.skipIf(trl is None, "TRL is not installed")
class SFT(Tuned, unittest.TestCase):
    metrics = SFT_METRICS

    @property
    def Example(self):
        return Chat

    def test_what_the_page_shows(self):
        train, validation = Chat().datasets()
        names = {"load_model": lambda: made_model(8), "tokenizer": tokenizer(),
                 "load": {"train": train, "validation": validation}.get}
        text = block_with("docs/python-workloads.md", "hippo_hpo.trl")
        exec(text.replace("processing_class", TOKENIZER), names)
        x = self.made(names["Chat"])
        x.train(0, 1, HyperParameters(0, 1, {"learning_rate": [0.01]}))
        self.assertEqual(self.metrics, set(x.evaluate()))
        self.assertEqual(8, x.state_dict()["samples"])

    def test_a_step_has_all_parts(self):
        x = self.made()
        x.train(0, 5, hp(0, 5))
        self.assertEqual(4 * sum(SIZE), x.state_dict()["samples"])


@unittest.skipIf(trl is None, "TRL is not installed")
class DPO(Tuned, unittest.TestCase):
    metrics = SFT_METRICS | {
        "eval_logits/chosen", "eval_logits/rejected", "eval_logps/chosen",
        "eval_logps/rejected", "eval_rewards/accuracies",
        "eval_rewards/chosen", "eval_rewards/margins", "eval_rewards/rejected"}
    others = {**Tuned.others, "beta": [0.1] * 4 + [0.5]}

    @property
    def Example(self):
        return Preferring

    def test_the_reference_is_the_first_model(self):
        x = self.made()
        x.train(0, 3, hp(0, 3))
        x = self.elsewhere(x)
        x.evaluate()
        reference = x._living._trainer.ref_model.state_dict()
        hippo_hpo.torch.seed_step(1, -1)
        for name, value in made_model(8).state_dict().items():
            self.assertTrue((value == reference[name]).all(), name)

    def test_a_loaded_model_is_measured_in_mixed_precision(self):
        self.forget_precision()
        x = self.made(Halved)
        x.train(0, 2, hp(0, 2))
        expected = x.evaluate()
        with tempfile.TemporaryDirectory() as folder:
            x.save(os.path.join(folder, "state"))
            loaded = self.made(Halved)
            loaded.load(os.path.join(folder, "state"))
        self.assertEqual(expected, loaded.evaluate())

    def test_state_outside_of_the_state_is_refused(self):
        with self.assertRaisesRegex(ValueError, "precompute_ref_log_probs"):
            self.made(Synced)


if __name__ == "__main__":
    unittest.main()

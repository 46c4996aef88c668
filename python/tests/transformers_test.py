"""Models of Transformers as workloads, cut anywhere."""

import random
import tempfile
import unittest
import unittest.mock
import warnings

from exact_resume import ExactResume
from hippo_hpo.workload import HyperParameters
from pages_test import block_with

try:
    import torch
    import transformers
    import hippo_hpo.torch
    import hippo_hpo.transformers
except ImportError:
    transformers = None

warnings.simplefilter("ignore")

if transformers is not None:
    transformers.logging.set_verbosity_error()

    class Parities(torch.utils.data.Dataset):
        """Short sequences of 0 and 1, and whether they hold many."""

        def __init__(self, count, seed):
            draw = random.Random(seed)
            self.rows = [[draw.randrange(2) for _ in range(6)]
                         for _ in range(count)]

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return {"input_ids": torch.tensor(self.rows[i]) + 1,
                    "attention_mask": torch.ones(6, dtype=torch.long),
                    "labels": int(sum(self.rows[i]) > 3)}

    def accuracy(prediction):
        right = prediction.predictions.argmax(-1) == prediction.label_ids
        return {"accuracy": float(right.mean())}

    class Example(hippo_hpo.transformers.Workload):
        given = {}

        def arguments(self):
            return transformers.TrainingArguments(
                **{"use_cpu": True, "output_dir": tempfile.gettempdir(),
                   "max_grad_norm": 0.5, **self.given})

        def model_init(self, constant):
            return transformers.BertForSequenceClassification(
                transformers.BertConfig(
                    vocab_size=4, hidden_size=int(constant("width")),
                    num_hidden_layers=1, num_attention_heads=2,
                    intermediate_size=16, max_position_embeddings=8))

        def datasets(self):
            return Parities(20, 1), Parities(12, 2)

        def trainer_options(self):
            return {"compute_metrics": accuracy}

    class Half(Example):
        given = {"fp16": True}

LR = [0.01, 0.01, 0.005, 0.005, 0.001]
SIZE = [4.0, 5.0, 5.0, 10.0, 10.0]


def hp(start, stop, **more):
    return HyperParameters(start, stop, {
        "learning_rate": LR[start:stop], "weight_decay": [0.1],
        "per_device_train_batch_size": SIZE[start:stop], "width": [8.0],
        **more})


@unittest.skipIf(transformers is None, "Transformers is not installed")
class Training(ExactResume, unittest.TestCase):
    metrics = {"eval_accuracy", "eval_loss"}
    another = {"learning_rate": [0.5], "width": [4.0]}
    others = {"learning_rate": [*LR[:4], 0.002],
              "weight_decay": [0.1] * 4 + [0.2],
              "per_device_train_batch_size": [*SIZE[:4], 4.0]}
    hp = staticmethod(hp)

    @property
    def Example(self):
        return Example

    def test_it_is_the_loop_by_hand(self):
        x = self.made()
        x.train(0, 5, hp(0, 5))
        tools = hippo_hpo.torch
        tools.seed_step(1, -1)
        model = Example().model_init(lambda name: 8.0)
        plain = [p for n, p in model.named_parameters()
                 if "bias" in n or "LayerNorm" in n]
        decayed = [p for n, p in model.named_parameters()
                   if "bias" not in n and "LayerNorm" not in n]
        optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.1},
             {"params": plain, "weight_decay": 0.0}], lr=1.0)
        model.train()
        for step in range(5):
            tools.seed_step(1, step)
            for group in optimizer.param_groups:
                group["lr"] = LR[step]
            for batch in tools.data_loader(Parities(20, 1), 1, step,
                                           SIZE[step]):
                optimizer.zero_grad()
                model(**batch).loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
        mine = x.state_dict()["trained"]["model"]
        for name, value in model.state_dict().items():
            if name.endswith("key.bias"):
                continue  # no gradient but rounding, as softmax takes it out
            torch.testing.assert_close(value, mine[name], rtol=1e-4,
                                       atol=1e-6, msg=name)

    def test_what_the_page_shows(self):
        parities = {"train": Parities(20, 1), "validation": Parities(12, 2)}
        names = {"load": parities.get, "accuracy": accuracy}
        exec(block_with("docs/python-workloads.md",
                        "hippo_hpo.transformers.Workload"), names)
        # A model that is not to be had without a network.
        small = Example().model_init(lambda name: 8.0).config
        auto = transformers.AutoModelForSequenceClassification
        patch = unittest.mock.patch.object(
            auto, "from_pretrained", lambda name: auto.from_config(small))
        patch.start()
        self.addCleanup(patch.stop)
        x = self.made(names["Sentiment"])
        x.train(0, 2, HyperParameters(0, 2, {
            "learning_rate": LR[:2],
            "per_device_train_batch_size": SIZE[:2]}))
        self.assertEqual(self.metrics, set(x.evaluate()))
        with self.assertRaisesRegex(ValueError, "nothing has read lr"):
            x.train(2, 3, HyperParameters(2, 3, {"lr": [1.0]}))

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "use bf16"):
            self.made(Half)
        with self.assertRaisesRegex(ValueError, "nothing has read lr"):
            self.made().train(0, 1, hp(0, 1, lr=[1.0]))
        with self.assertRaisesRegex(ValueError, "warmup_steps is no hyper"):
            self.made().train(0, 1, hp(0, 1, warmup_steps=[3.0]))
        with self.assertRaisesRegex(ValueError, "must be a whole number"):
            self.made().train(0, 1, hp(
                0, 1, gradient_accumulation_steps=[1.5]))
        with self.assertRaisesRegex(ValueError, "width is 4.0 at step 1"):
            self.made().train(0, 2, hp(0, 2, width=[8.0, 4.0]))


if __name__ == "__main__":
    unittest.main()

"""Models of Transformers as workloads, cut anywhere."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import warnings

import old_torch  # noqa: F401
from exact_resume import ExactResume
from hippo_hpo._compare import differences
from hippo_hpo.workload import HyperParameters
from pages_test import HIPPO, ROOT, TRAINER, block_with

try:
    import torch
    import transformers
    import hippo_hpo.torch
    import hippo_hpo.transformers
    from hippo_hpo._iterations import SampleOrder
    from small_bert import Parities, accuracy, bert
except ImportError:
    transformers = None

warnings.simplefilter("ignore")

if transformers is not None:
    transformers.logging.set_verbosity_error()

    class Example(hippo_hpo.transformers.Workload):
        given = {}

        def arguments(self):
            return transformers.TrainingArguments(
                **{"use_cpu": True, "output_dir": tempfile.gettempdir(),
                   "max_grad_norm": 0.5, **self.given})

        def model_init(self, constant):
            return bert(int(constant("width")))

        def datasets(self):
            return Parities(20, 1), Parities(12, 2)

        def trainer_options(self):
            return {"compute_metrics": accuracy}

    class Sharded(Example):
        given = {"fsdp": "full_shard"}

    class Iterations(Example):
        step_is = "iteration"

    class Accumulating(Iterations):
        given = {"gradient_accumulation_steps": 4,
                 "per_device_train_batch_size": 3}

    class Averaging(transformers.BertForSequenceClassification):
        """Its loss is a mean: as it takes no `num_items_in_batch`, Trainer
        divides by the number of parts."""

        def forward(self, input_ids, attention_mask, labels):
            return super().forward(input_ids, attention_mask, labels=labels)

    class Dry(Iterations):
        def model_init(self, constant):
            model = Averaging(super().model_init(constant).config)
            hippo_hpo.torch.set_dropout(model, 0.0)
            return model

    class AccumulatingDry(Dry):
        given = Accumulating.given

    class InOrder(transformers.Trainer):
        def _get_train_sampler(self, *given):
            return torch.utils.data.SequentialSampler(self.train_dataset)

    class Sometimes(transformers.BertForSequenceClassification):
        """A model with a layer that not every batch trains."""

        def __init__(self, config):
            super().__init__(config)
            self.more = torch.nn.Linear(2, 2)

        def forward(self, input_ids, attention_mask, labels):
            logits = super().forward(input_ids, attention_mask).logits
            if labels.sum() % 2:
                logits = logits + self.more(logits)
            return transformers.modeling_outputs.SequenceClassifierOutput(
                loss=torch.nn.functional.cross_entropy(logits, labels),
                logits=logits)

    class Sparse(Iterations):
        def model_init(self, constant):
            return Sometimes(super().model_init(constant).config)

    class Brain(Iterations):
        given = {"bf16": True}

    class Scaler:
        """Scales losses as fp16 does, where there is no GPU."""

        def __init__(self):
            self.scaling, self.steps = 2.0, 0

        def scale(self, loss):
            return loss * self.scaling

        def unscale_(self, optimizer):
            pass

        def step(self, optimizer, closure=None):
            # Its value shows in the weights.
            for group in optimizer.param_groups:
                for x in group["params"]:
                    if x.grad is not None:
                        x.grad += 0.01 * self.scaling
            optimizer.step()

        def update(self):
            self.steps += 1
            self.scaling *= 2.0 if self.steps % 2 else 1.0

        def get_scale(self):
            return self.scaling

        def state_dict(self):
            return {"scale": self.scaling, "steps": self.steps}

        def load_state_dict(self, state):
            self.scaling, self.steps = state["scale"], state["steps"]

    class WithScaler(transformers.Trainer):
        def create_accelerator_and_postprocess(self):
            super().create_accelerator_and_postprocess()
            self.accelerator.scaler = Scaler()

    class Scaled(Iterations):
        trainer_class = WithScaler

    class ScaledEpochs(Example):
        trainer_class = WithScaler

    class Counting(transformers.TrainerCallback):
        seen = []

        def on_step_end(self, args, state, control, **options):
            Counting.seen.append(state.global_step)

    class Counted(Iterations):
        def trainer_options(self):
            return {"callbacks": [Counting()]}

    class OwnRates(transformers.Trainer):
        def create_optimizer(self):
            self.optimizer = torch.optim.SGD(
                [{"params": [x], "lr": i + 1.0}
                 for i, x in enumerate(self.model.parameters())], lr=1.0)
            return self.optimizer

    class WithOwnRates(Iterations):
        trainer_class = OwnRates

LR = [0.01, 0.01, 0.005, 0.005, 0.001]
SIZE = [4.0, 5.0, 5.0, 10.0, 10.0]


def hp(start, stop, **more):
    return HyperParameters(start, stop, {
        "learning_rate": LR[start:stop], "weight_decay": [0.1],
        "per_device_train_batch_size": SIZE[start:stop], "width": [8.0],
        **more})


@unittest.skipIf(transformers is None, "Transformers is not installed")
class Training(ExactResume, unittest.TestCase):
    metrics = {"eval_accuracy", "eval_count", "eval_loss"}
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
        exec(block_with("docs/python-workloads.md", "class Iterated"), names)
        iterated = self.made(names["Iterated"])
        iterated.train(0, 1, HyperParameters(0, 1, {
            "per_device_train_batch_size": [7]}))
        self.assertEqual(7, iterated.state_dict()["samples"])
        with self.assertRaisesRegex(ValueError, "nothing has read lr"):
            x.train(2, 3, HyperParameters(2, 3, {"lr": [1.0]}))

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "nothing has read lr"):
            self.made().train(0, 1, hp(0, 1, lr=[1.0]))
        with self.assertRaisesRegex(ValueError, "warmup_steps is no hyper"):
            self.made().train(0, 1, hp(0, 1, warmup_steps=[3.0]))
        with self.assertRaisesRegex(ValueError, "must be a whole number"):
            self.made().train(0, 1, hp(
                0, 1, gradient_accumulation_steps=[1.5]))
        with self.assertRaisesRegex(ValueError, "width is 4.0 at step 1"):
            self.made().train(0, 2, hp(0, 2, width=[8.0, 4.0]))
        # The arguments themselves are left in the environment.
        with unittest.mock.patch.dict(os.environ), \
                unittest.mock.patch.object(Sharded, "world_size", 2), \
                self.assertRaisesRegex(ValueError, "fsdp is none of the "
                                       "arguments that ranks can have"):
            self.made(Sharded)


@unittest.skipIf(transformers is None, "Transformers is not installed")
class Iterating(ExactResume, unittest.TestCase):
    """Iterations: 20 samples, in batches of 4, 5, 5, 10 and 10."""

    metrics = {"eval_accuracy", "eval_count", "eval_loss"}
    another = {"learning_rate": [0.5], "width": [4.0]}
    others = {"learning_rate": [*LR[:4], 0.002],
              "weight_decay": [0.1] * 4 + [50.0],
              "max_grad_norm": [0.5] * 4 + [0.01],
              "adam_beta1": [0.9] * 4 + [0.5],
              "per_device_train_batch_size": [*SIZE[:4], 4.0]}
    hp = staticmethod(hp)

    @property
    def Example(self):
        return Iterations

    @property
    def kinds(self):
        return Accumulating, Sparse

    def after(self, kind, steps, cuts=(), **more):
        x, at = self.made(kind), 0
        for to in [*cuts, steps]:
            x.train(at, to, self.hp(at, to, **more))
            at = to
        return x

    def test_it_is_the_loop_by_hand(self):
        x = self.after(Iterations, 5)
        tools, data = hippo_hpo.torch, Parities(20, 1)
        tools.seed_step(1, -1)
        model = Example().model_init(lambda name: 8.0)
        names = [n for n, _ in model.named_parameters()]
        optimizer = torch.optim.AdamW(
            [{"params": [p], "weight_decay": 0.0 if "bias" in n
              or "LayerNorm" in n else 0.1}
             for n, p in model.named_parameters()], lr=1.0)
        order = [i for epoch in range(2) for batch in tools.data_loader(
            range(20), 1, epoch, 20) for i in batch.tolist()]
        model.train()
        for step in range(5):
            for group in optimizer.param_groups:
                group["lr"] = LR[step]
            places, order = order[:int(SIZE[step])], order[int(SIZE[step]):]
            tools.seed_step(1, step)
            optimizer.zero_grad()
            model(**torch.utils.data.default_collate(
                [data[i] for i in places])).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        mine = x.state_dict()
        self.assertEqual(34, mine["samples"])
        for name in names:
            if not name.endswith("key.bias"):
                torch.testing.assert_close(
                    model.state_dict()[name], mine["trained"]["model"][name],
                    rtol=1e-4, atol=1e-6, msg=name)

    def test_one_trainer_lives_on(self):
        x = self.made()
        x.train(0, 1, hp(0, 1))
        trainer = x._living
        x.evaluate()
        x.train(1, 3, hp(1, 3))
        x.load_state_dict(x.state_dict())
        x.train(3, 5, hp(3, 5))
        self.assertIs(trainer, x._living)

    def test_values_of_a_trainer_may_change(self):
        parts = {"gradient_accumulation_steps": [1, 1, 2, 2, 4],
                 "label_smoothing_factor": [0.0, 0.1, 0.1, 0.1, 0.0]}

        def of(a, b):
            return {name: x[a:b] for name, x in parts.items()}
        whole, cut = self.made(), self.made()
        whole.train(0, 5, hp(0, 5, **of(0, 5)))
        for a, b in (0, 1), (1, 3), (3, 5):
            cut.train(a, b, hp(a, b, **of(a, b)))
            cut = self.elsewhere(cut)
        self.assertEqual([], differences(whole.state_dict(), cut.state_dict()))
        self.assertEqual(4 + 5 + 5 * 2 + 10 * 2 + 10 * 4,
                         whole.state_dict()["samples"])

    def test_it_is_the_stock_trainer(self):
        for kind in Dry, AccumulatingDry:
            x = self.made(kind)
            values = {"width": [8.0], "learning_rate": [0.01],
                      "per_device_train_batch_size": [3]}
            x.train(0, 4, HyperParameters(0, 4, values))
            data = Parities(20, 1)
            order = SampleOrder(20, 1).at(0, x.state_dict()["samples"])
            hippo_hpo.torch.seed_step(1, -1)
            args = x.arguments()
            args.learning_rate, args.max_steps = 0.01, 4
            args.per_device_train_batch_size = 3
            args.lr_scheduler_type = transformers.SchedulerType.CONSTANT
            args.report_to, args.disable_tqdm = [], True
            stock = InOrder(model=x.model_init(lambda name: 8.0), args=args,
                            train_dataset=[data[i] for i in order])
            stock.train()
            self.assertEqual([], differences(
                dict(stock.model.state_dict()),
                dict(x.state_dict()["trained"]["model"])))

    def test_a_step_accumulates_its_whole_batch(self):
        # Without dropout the gradient of 4 times 3 samples is that of 12.
        values = {"width": [8.0], "learning_rate": [0.01], "optim": ["sgd"]}
        a, b = self.made(AccumulatingDry), self.made(Dry)
        a.train(0, 2, HyperParameters(0, 2, values))
        b.train(0, 2, HyperParameters(0, 2, {
            **values, "per_device_train_batch_size": [12]}))
        a, b = a.state_dict(), b.state_dict()
        self.assertEqual(24, a["samples"])
        self.assertEqual(24, b["samples"])
        for name, value in a["trained"]["model"].items():
            if not name.endswith("key.bias"):
                torch.testing.assert_close(value, b["trained"]["model"][name],
                                           rtol=1e-4, atol=1e-6, msg=name)

    def test_a_model_is_wrapped_once(self):
        def depth(x):
            function, count = x._living._trainer.model.forward, 0
            while hasattr(function, "__wrapped__"):
                function, count = function.__wrapped__, count + 1
            return count
        self.forget_precision()
        x = self.made(Brain)
        x.train(0, 1, hp(0, 1))
        first = depth(x)
        for step in range(1, 4):
            x.train(step, step + 1, hp(step, step + 1))
            x.evaluate()
        self.assertEqual(first, depth(x))
        self.assertGreater(first, 0)
        whole = self.made(Brain)
        whole.train(0, 4, hp(0, 4))
        self.assertEqual([], differences(whole.state_dict(), x.state_dict()))

    def test_callbacks_count_the_steps_of_the_trial(self):
        Counting.seen.clear()
        self.after(Counted, 5, [2])
        self.assertEqual([1, 2, 3, 4, 5], Counting.seen)

    def test_the_scaler_is_part_of_the_state(self):
        for kind in Scaled, ScaledEpochs:
            whole, x = self.made(kind), self.made(kind)
            whole.train(0, 3, hp(0, 3))
            whole = whole.state_dict()
            for step in range(3):
                x.train(step, step + 1, hp(step, step + 1))
                state = x.state_dict()
                x = self.made(kind)
                x.load_state_dict(state)
            if kind is Scaled:
                self.assertEqual({"scale": 8.0, "steps": 3},
                                 whole["trained"]["scaler"])
            self.assertEqual([], differences(whole, x.state_dict()))

    def test_a_fresh_process_goes_on(self):
        whole = self.after(Accumulating, 4)
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, x) for x in ("at2", "at4")]
            self.after(Accumulating, 2).save(paths[0])
            subprocess.run([sys.executable, "-B", __file__, "--go-on", *paths],
                           check=True, timeout=300)
            self.assertEqual([], differences(whole.state_dict(),
                                             whole.read(paths[1])))

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "nothing has read lr"):
            self.made().train(0, 1, hp(0, 1, lr=[1.0]))
        with self.assertRaisesRegex(ValueError, "warmup_steps is no hyper"):
            self.made().train(0, 1, hp(0, 1, warmup_steps=[3.0]))
        with self.assertRaisesRegex(ValueError, "one precision a process"):
            self.made().train(0, 1, hp(0, 1, bf16=[True]))
        with self.assertRaisesRegex(ValueError, "must be at least 1"):
            self.made().train(0, 1, hp(
                0, 1, per_device_train_batch_size=[0]))
        with self.assertRaisesRegex(ValueError, "width is 4.0 at step 1"):
            self.made().train(0, 2, hp(0, 2, width=[8.0, 4.0]))
        with self.assertRaisesRegex(ValueError, "has no betas"):
            self.made().train(0, 1, hp(0, 1, optim=["sgd"], adam_beta1=[0.9]))
        with self.assertRaisesRegex(TypeError, "rates of their own"):
            self.made(WithOwnRates).train(0, 1, hp(0, 1))
        with self.assertRaisesRegex(ValueError, 'be "epoch" or "iteration"'):
            with unittest.mock.patch.object(Iterations, "step_is", "batch"):
                self.made()


# The module beside the script of the page.
SENTIMENT = """
import random
import transformers

def rows(count, seed):
    draw = random.Random(seed)
    made = [[draw.randrange(2) for _ in range(6)] for _ in range(count)]
    return [{"input_ids": [1 + x for x in row], "attention_mask": [1] * 6,
             "label": int(sum(row) > 3)} for row in made]

train, validation = rows(40, 1), rows(16, 2)

def model_init():
    return transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=4, hidden_size=8, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=16))

def accuracy(prediction):
    right = prediction.predictions.argmax(-1) == prediction.label_ids
    return {"accuracy": float(right.mean())}
"""


@unittest.skipIf(transformers is None, "Transformers is not installed")
class Script(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(ROOT, "docs/python-workloads.md")) as file:
            self.lines, = re.findall(r"^```diff\n(.*?)^```$", file.read(),
                                     re.DOTALL | re.MULTILINE)
        self.lines = self.lines.splitlines()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.script = os.path.join(folder.name, "search.py")
        with open(self.script, "w") as file:
            file.write("\n".join(x[1:] for x in self.lines
                                 if not x.startswith("-")))
        with open(os.path.join(folder.name, "sentiment.py"), "w") as file:
            file.write(SENTIMENT)

    def test_few_lines_change(self):
        self.assertLessEqual(sum(x.startswith("+") for x in self.lines), 5)
        self.assertGreater(len(self.lines), 10)

    def test_the_trainer_of_the_script_is_trained(self):
        # In a process of its own, since it takes the place of __main__.
        subprocess.run([sys.executable, "-B", __file__, "--script",
                        self.script], check=True, timeout=300)

    @unittest.skipUnless(HIPPO and TRAINER, "needs the programs")
    def test_it_is_a_study(self):
        done = subprocess.run(
            [sys.executable, self.script], capture_output=True, text=True,
            cwd=os.path.dirname(self.script), timeout=500,
            env={**os.environ, "HIPPO_PROGRAM": HIPPO})
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("COMPLETE, 3 of 3 trials finished", done.stderr)
        value, _, params = done.stdout.splitlines()[-1].partition(" ")
        self.assertLessEqual(float(value), 1.0)
        self.assertIn("learning_rate", params)


def check_script(path):
    """Trains what a script gives, in parts and in one go."""
    from hippo_hpo._script import ScriptWorkload

    class Given(ScriptWorkload):
        script = path
    states = []
    x = Given()
    x.setup(1, "cpu", {})
    for cuts in ([0, 4], [0, 1, 4]):
        x.init()
        for a, b in zip(cuts, cuts[1:]):
            x.train(a, b, HyperParameters(a, b, {"learning_rate": [0.01]}))
            found = x.evaluate()
        assert found["objective"] == found["eval_accuracy"], found
        states.append(x.state_dict())
    assert not differences(*states)
    assert states[0]["samples"] == 4 * 8


def go_on(before, after):
    """Trains two more steps of Accumulating in this process."""
    x = Accumulating()
    x.setup(1, "cpu", {})
    x.load(before)
    x.train(2, 4, hp(2, 4))
    x.save(after)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--go-on"]:
        go_on(*sys.argv[2:])
    elif sys.argv[1:2] == ["--script"]:
        check_script(*sys.argv[2:])
    else:
        unittest.main()

"""What must hold of every workload of a framework that has a Trainer."""

import os
import random
import tempfile
import unittest.mock

from hippo_hpo._compare import differences

STEPS = 5


class ExactResume:
    """Tests for a TestCase that has `Example`, a workload, and `hp(start, stop,
    **more)`, its hyper-parameters, with a schedule of lists of STEPS values.
    `kinds` are further workloads, which are cut alone."""

    kinds = ()

    def made(self, kind=None):
        x = (kind or self.Example)()
        x.setup(1, "cpu", {})
        x.init()
        return x

    def forget_precision(self):
        """Lets the next Trainer choose its precision, and others after this
        test as well: Accelerate keeps one a process."""
        from accelerate.state import AcceleratorState
        patch = unittest.mock.patch.dict(os.environ)
        patch.start()
        forget = AcceleratorState._reset_state
        for put_back in patch.stop, forget:
            self.addCleanup(put_back)
        forget()

    def elsewhere(self, x):
        """The same state in an object that has trained another trial."""
        with tempfile.TemporaryDirectory() as folder:
            x.save(os.path.join(folder, "state"))
            other = self.made(type(x))
            other.train(0, 2, self.hp(0, 2, **self.another))
            random.random()
            other.load(os.path.join(folder, "state"))
        return other

    def test_cut_anywhere_it_is_the_same_to_the_bit(self):
        for kind in (self.Example, *self.kinds):
            with self.subTest(kind.__name__):
                whole = self.made(kind)
                whole.train(0, STEPS, self.hp(0, STEPS))
                x, cuts = self.elsewhere(self.made(kind)), (0, 1, 3, STEPS)
                for at, to in zip(cuts, cuts[1:]):
                    x.train(at, to, self.hp(at, to))
                    x.evaluate()
                    x = self.elsewhere(x)
                self.assertEqual(whole.evaluate(), x.evaluate())
                self.assertEqual([], differences(whole.state_dict(),
                                                 x.state_dict()))

    def test_each_hyper_parameter_counts_to_the_last_step(self):
        whole = self.made()
        whole.train(0, STEPS, self.hp(0, STEPS))
        for name, values in self.others.items():
            other = self.made()
            other.train(0, STEPS, self.hp(0, STEPS, **{name: values}))
            self.assertNotEqual(whole.evaluate(), other.evaluate(), name)

    def test_measuring_changes_nothing(self):
        whole, x = self.made(), self.made()
        whole.train(0, 3, self.hp(0, 3))
        for step in range(3):
            x.train(step, step + 1, self.hp(step, step + 1))
            self.assertEqual(self.metrics, set(x.evaluate()))
        self.assertEqual([], differences(whole.state_dict(), x.state_dict()))

    def test_nothing_is_measured_before_the_first_step(self):
        with self.assertRaisesRegex(RuntimeError, "before the first step"):
            self.made().evaluate()

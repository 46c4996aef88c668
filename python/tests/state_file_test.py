"""Files of states: equal states have equal bytes, and are read as they were."""

import os
import pickle
import tempfile
import unittest

import hippo_hpo as hippo
from hippo_hpo._compare import differences
from hippo_hpo._state_file import copied, read_state, write_state

try:
    import torch
except ImportError:
    torch = None


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "state")

    def bytes_of(self, state):
        write_state(state, self.path)
        with open(self.path, "rb") as file:
            return file.read()

    def read(self, state):
        write_state(state, self.path)
        return read_state(self.path)


class Plain(hippo.Workload):
    state = None

    def init(self):
        pass

    def train(self, start, stop, hp):
        pass

    def evaluate(self):
        return {}

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state


@unittest.skipIf(torch is None, "there is no PyTorch")
class Bytes(Case):
    def state(self, at):
        """A state whose tensors are parts of others, in other places."""
        memory = torch.full((5000,), float(at))
        memory[at:at + 10] = torch.arange(10.0)
        weight = torch.nn.Parameter(torch.ones(3))
        items = [1, 2]
        return {
            "all": memory[at:at + 10], "some": memory[at + 2:at + 5],
            "apart": memory[at + 1:at + 8:3],
            "bits": memory[at:at + 10].view(torch.int32)[3:6],
            "none": memory[:0], "same": torch.ones(1).expand(4),
            "turned": torch.ones(3, 2).bfloat16().t(),
            "weight": weight, "tied": weight, "data": weight.data,
            # Strings and tuples that are not one object.
            "word": "ab" + str(at)[:0], "words": ("ab" + str(at)[:0], 1.5),
            "items": items, "more": items}

    def test_do_not_depend_on_where_tensors_lie(self):
        one, other = self.state(7), self.state(1008)
        self.assertEqual(self.bytes_of(one), self.bytes_of(other))
        self.assertEqual(self.bytes_of(copied(one)),
                         self.bytes_of(copied(other)))
        # Nothing of the memory around them.
        self.assertLess(len(self.bytes_of(one)), 4000)

    def test_what_is_read_is_what_was_written(self):
        state = self.state(7)
        found = self.read(state)
        self.assertEqual([], differences(state, found))
        self.assertEqual(state["turned"].dtype, found["turned"].dtype)
        self.assertIsInstance(found["weight"], torch.nn.Parameter)
        self.assertTrue(found["weight"].requires_grad)
        # Tensors still share their memory.
        found["all"][3] = 77
        self.assertEqual(77, found["some"][1])
        self.assertEqual(3, found["bits"].view(torch.float32)[0])
        self.assertIs(found["weight"], found["tied"])
        self.assertEqual(found["weight"].data_ptr(), found["data"].data_ptr())
        self.assertIs(found["items"], found["more"])

    def test_are_the_same_after_reading(self):
        for state in self.state(7), copied(self.state(7)):
            self.assertEqual(self.bytes_of(state),
                             self.bytes_of(self.read(state)))

    def test_copies_are_left_alone(self):
        state = self.state(7)
        copy = copied(state)
        state["all"].zero_()
        state["items"].append(3)
        self.assertEqual(list(range(10)), copy["all"].tolist())
        self.assertEqual([1, 2], copy["items"])
        copy["all"][2] = 5
        self.assertEqual(5, copy["some"][0])

    def test_of_a_plain_class(self):
        def trained():
            torch.manual_seed(1)
            net = torch.nn.Linear(3, 2)
            optimizer = torch.optim.Adam(net.parameters())
            net(torch.ones(1, 3)).sum().backward()
            optimizer.step()
            return {"net": net.state_dict(), "opt": optimizer.state_dict(),
                    "step": 3}
        x, kept, saved = Plain(), [], []
        for _ in range(2):
            x.state = trained()
            kept.append(x.state)  # so the next one lies elsewhere
            x.save(self.path)
            with open(self.path, "rb") as file:
                saved.append(file.read())
        self.assertEqual(*saved)
        x.load(self.path)
        self.assertEqual([], differences(kept[0], x.state))

    def test_without_tensors_they_are_a_pickle(self):
        state = {"a": [1, "x"], "b": (2.5, None)}
        self.assertEqual(state, pickle.loads(self.bytes_of(state)))

    def test_a_tensor_in_an_object_is_found(self):
        x = Holder()
        x.held = torch.ones(2)
        self.assertEqual([1, 1], self.read([x])[0].held.tolist())


class Holder:
    pass


@unittest.skipIf(torch is None, "there is no PyTorch")
class Former(Case):
    """States that former releases have written."""

    def test_a_pickle_with_tensors(self):
        state = {"w": torch.arange(3.0), "n": 1}
        with open(self.path, "wb") as file:
            pickle.dump(state, file, protocol=5)
        self.assertEqual([], differences(state, read_state(self.path)))

    def test_what_torch_saves(self):
        state = {"step": 1, "parts": None, "metrics": {"loss": 0.5}}
        with open(self.path, "wb") as file:
            torch.save(state, file)
        self.assertEqual(state, read_state(self.path))


if __name__ == "__main__":
    unittest.main()

"""Mistakes that people make in workloads, for tests that must notice them.

By example: (name, text that its train.py has once, what to put there).
"""

BREAKAGES = {
    "pytorch-cnn": [
        ("the optimiser is not in the state",
         "    def evaluate(self):\n",
         "    def parts(self):\n"
         "        return {\"model\": self.model}\n\n"
         "    def evaluate(self):\n"),
        ("evaluation in training mode",
         "        self.model.eval()\n",
         ""),
        ("dropout is read and not used",
         "hippo.torch.set_dropout(self.model, hp.dropout(epoch))",
         "self.dropout = hp.dropout(epoch)"),
    ],
    "boosting": [
        ("a booster that lives from round to round",
         "        for step in range(start, stop):\n"
         "            booster = self.booster(**hp.at(step))\n",
         "        booster = self.booster()\n"
         "        for step in range(start, stop):\n"
         "            booster.set_param(hp.at(step))\n"),
        ("values of the first step only",
         "hp.at(step)",
         "hp.at(start)"),
        ("another seed in each process",
         '"seed": seed % 2**31',
         '"seed": np.random.randint(2**31)'),
    ],
    "sklearn": [
        ("the order within partial_fit is drawn from the global stream",
         "random_state=int(rng.integers(2**31))",
         "random_state=None"),
        ("alpha is not passed on",
         "alpha=hp.alpha(epoch),",
         ""),
        ("values of the first step only",
         "hp.eta0(epoch)",
         "hp.eta0(start)"),
    ],
}

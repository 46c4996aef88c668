"""A study's space, from which peers suggest values leaf by leaf."""


class Space:
    """The leaves of a study's space, as who suggests values one by one has
    them: choices, and ranges with points.

    node: the space of a study file
    points: of a range with points, by its path, the values of these
    leaves: of each path how many ways it has, and whether they are in order
    """

    def __init__(self, node, points=None):
        self._node = node
        self._points = points or {}
        self.leaves = {}
        self._collect(node, "")

    def _ways(self, node, path):
        """The alternatives of a leaf and whether they are in order, or None."""
        if not isinstance(node, dict):
            return None
        if "points" in node:
            return self._points[path.strip(".")], True
        if set(node) == {"choice"}:
            ways = node["choice"]
            numbers = all(isinstance(x, (int, float)) for x in ways)
            return ways, numbers and ways in (sorted(ways),
                                              sorted(ways, reverse=True))
        return None

    @staticmethod
    def _parts(node):
        if isinstance(node, dict):
            return node.items()
        return enumerate(node) if isinstance(node, list) else ()

    def _collect(self, node, path):
        found = self._ways(node, path)
        if found:
            ways, in_order = found
            self.leaves[path] = (len(ways), in_order)
            node = list(ways)
        for name, part in self._parts(node):
            self._collect(part, f"{path}.{name}")

    def _decide(self, node, path, pick):
        found = self._ways(node, path)
        if found:
            i = pick(path)
            return self._decide(found[0][i], f"{path}.{i}", pick)
        if isinstance(node, dict):
            return {x: self._decide(y, f"{path}.{x}", pick)
                    for x, y in node.items()}
        if isinstance(node, list):
            return [self._decide(x, f"{path}.{i}", pick)
                    for i, x in enumerate(node)]
        return node

    def decide(self, pick):
        """The values of which `pick` says, leaf by leaf, which way they go. It
        is asked for leaves that matter only.
        """
        return self._decide(self._node, "", pick)

    def suggest(self, trial):
        """The values that an Optuna trial suggests."""
        def pick(leaf):
            count, in_order = self.leaves[leaf]
            if in_order:
                return trial.suggest_int(leaf, 0, count - 1)
            return trial.suggest_categorical(leaf, list(range(count)))

        return self.decide(pick)

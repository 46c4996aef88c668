"""Where Hydra finds the sweeper `hippo`: ``hydra/sweeper: hippo``."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from hydra.core.config_store import ConfigStore
from hydra.plugins.sweeper import Sweeper


class HippoSweeper(Sweeper):
    """A study of Hippo. `hippo_hpo` is imported only by those who use it."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    def setup(self, *, hydra_context: Any, task_function: Any,
              config: Any) -> None:
        from hydra.core.plugins import Plugins

        self.config = config
        self.hydra_context = hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function,
            config=config)

    def sweep(self, arguments: List[str]) -> None:
        from hippo_hpo._hydra_sweep import Options, sweep
        from omegaconf import OmegaConf

        plain = {name: OmegaConf.to_container(x) if OmegaConf.is_config(x)
                 else x for name, x in self._options.items()}
        for former, name in (("steps", "max_steps"), ("every", "eval_every")):
            if plain.get(former) is None:
                plain.pop(former, None)
            elif plain[name] == 1:
                del plain[name]  # the default
        sweep(Options(**plain), self.config, self.hydra_context,
              self.launcher, arguments)


@dataclass
class HippoSweeperConf:
    """The defaults: `hippo_hpo._hydra_sweep.Options` explains them."""

    _target_: str = "hydra_plugins.hippo_sweeper.HippoSweeper"
    metric: Any = "value"
    direction: Any = "minimize"
    algorithm: Any = "auto"
    trials: Optional[int] = None
    max_steps: int = 1
    eval_every: int = 1
    seed: int = 0
    trainers: Any = 2
    device: Any = None
    threads: int = 1
    keep: int = 1
    name: Optional[str] = None
    state: Optional[str] = None
    server: Optional[str] = None
    study: Optional[Dict[str, Any]] = None
    params: Optional[Dict[str, Any]] = None
    steps: Optional[int] = None  # the former name of max_steps
    every: Optional[int] = None  # the former name of eval_every


ConfigStore.instance().store(group="hydra/sweeper", name="hippo",
                             node=HippoSweeperConf, provider="hippo")

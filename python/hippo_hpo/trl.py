"""Models that TRL fine-tunes as workloads.

    import hippo_hpo.trl

    class Chat(hippo_hpo.trl.SFT):
        def arguments(self): return SFTConfig("output")
        def model_init(self, constant):
            return AutoModelForCausalLM.from_pretrained(NAME)
        def datasets(self): return train, validation
        def trainer_options(self): return {"processing_class": tokenizer}

`DPO` does the same with DPOConfig and pairs of answers. A step is a step of the
optimiser. All else is as in `hippo_hpo.transformers`.
"""

from __future__ import annotations

import copy
import importlib
import statistics
from typing import Any

from . import transformers as _transformers
from .workload import Value

trl: Any = importlib.import_module("trl")

__all__ = ["DPO", "SFT"]


class SFT(_transformers.Workload):
    """Supervised fine-tuning by trl.SFTTrainer."""

    step_is = "iteration"
    trainer_class = trl.SFTTrainer

    def _measure(self, trainer: Any) -> dict[str, float]:
        # TRL would add its own metrics where it logs.
        collected = getattr(trainer, "_stored_metrics", None)
        if collected is None:
            collected = getattr(trainer, "_metrics", {})
        if "eval" in collected:
            collected["eval"].clear()
        found = super()._measure(trainer)
        for name, values in sorted(collected.get("eval", {}).items()):
            name = name.removeprefix("eval_")
            # Of tokens it counts those that this process has trained.
            if values and name != "num_tokens":
                found[f"eval_{name}"] = statistics.fmean(map(float, values))
        return found


class DPO(SFT):
    """Direct preference optimisation by trl.DPOTrainer.

    The reference is the model before step 0, or `ref_model` of
    `trainer_options`. The metrics are `eval_loss` and those of rewards, such as
    `eval_rewards/accuracies`.
    """

    trainer_class = trl.DPOTrainer

    def _made(self, kind: Any, model: Any, args: Any, callbacks: list[Any],
              **more: Any) -> Any:
        # Later versions load it by the name of the model, which may have none.
        # Adapters have theirs under them.
        if not {"ref_model", "peft_config"} & set(self.trainer_options()) \
                and not hasattr(model, "peft_config"):
            more["ref_model"] = copy.deepcopy(model)
        return super()._made(kind, model, args, callbacks, **more)

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        super().setup(seed, device, args)
        for name in ("precompute_ref_log_probs", "sync_ref_model"):
            if getattr(self._given, name, False):
                raise ValueError(f"{name}=True keeps what is no part of the "
                                 "state: leave it out")

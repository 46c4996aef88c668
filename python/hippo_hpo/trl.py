"""Models that TRL fine-tunes as workloads.

    import hippo_hpo.trl

    class Chat(hippo_hpo.trl.SFT):
        def arguments(self): return SFTConfig("output", max_seq_length=512)
        def model_init(self, constant):
            return AutoModelForCausalLM.from_pretrained(NAME)
        def datasets(self): return train, validation
        def trainer_options(self): return {"tokenizer": tokenizer}

`DPO` does the same with DPOConfig and pairs of answers. A step is a step of the
optimiser. All else is as in `hippo_hpo.transformers`.
"""

from __future__ import annotations

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
            if values:
                name = name.removeprefix("eval_")
                found[f"eval_{name}"] = statistics.fmean(map(float, values))
        return found


class DPO(SFT):
    """Direct preference optimisation by trl.DPOTrainer.

    The reference is the model before step 0, or `ref_model` of
    `trainer_options`. The metrics are `eval_loss` and those of rewards, such as
    `eval_rewards/accuracies`.
    """

    trainer_class = trl.DPOTrainer

    def setup(self, seed: int, device: str, args: dict[str, Value]) -> None:
        super().setup(seed, device, args)
        for name in ("precompute_ref_log_probs", "sync_ref_model"):
            if getattr(self._given, name, False):
                raise ValueError(f"{name}=True keeps what is no part of the "
                                 "state: leave it out")

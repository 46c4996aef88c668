"""A model of Transformers that is small, and its data. Studies of tests get a
copy of this file."""

import random

import torch
import transformers


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
    return {"accuracy": float(right.mean()), "count": len(right)}


def bert(width):
    return transformers.BertForSequenceClassification(
        transformers.BertConfig(
            vocab_size=4, hidden_size=width, num_hidden_layers=1,
            num_attention_heads=2, intermediate_size=16,
            max_position_embeddings=8))
